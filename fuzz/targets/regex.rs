//! Searches: any pattern ends in time and finds what a plain look at every line finds.

use std::collections::BTreeSet;

use pi_stet::recovery::transcript::{Belongs, Scope, Transcript};
use pi_stet::recovery::{Caller, GREP, answer};
use pi_stet::session::{Leaf, Reading, Session};
use regex::RegexBuilder;
use serde_json::{Map, Value, json};

use super::choices::Choices;
use super::story::Story;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let case_sensitive = choices.flag();
    let pattern = pattern(&mut choices);
    let story = Story::of(choices);
    let file = story.jsonl();
    let Ok(session) = Session::from_jsonl(file.as_bytes(), Reading::Recover) else { return };
    let branch = session.branch(&Leaf::Last).expect("a branch");
    let arguments = json!({ "pattern": pattern, "caseSensitive": case_sensitive });
    let arguments: &Map<String, Value> = arguments.as_object().expect("an object");
    let Ok(answer) =
        answer(&branch, GREP, arguments, Caller::Shell).expect("memory stays as it is")
    else {
        return;
    };
    let plain =
        RegexBuilder::new(&pattern).case_insensitive(!case_sensitive).size_limit(1 << 20).build();
    let Ok(plain) = plain else { return };
    let note = "searched as literal text";
    if answer.text.contains(note) {
        return;
    }
    let transcript = Transcript::through(&branch, None).expect("all of it");
    let (mut lines, mut entries) = (0u64, BTreeSet::new());
    for position in 0..transcript.len() {
        let Some((entry, ..)) = transcript.at(position) else { continue };
        let entry = transcript.read(entry).expect("memory stays as it is");
        for section in entry.sections.iter().filter(|s| Scope::default().of(s) == Belongs::Yes) {
            for line in section.text.split('\n') {
                if plain.is_match(line.strip_suffix('\r').unwrap_or(line)) {
                    lines += 1;
                    entries.insert(position);
                }
            }
        }
    }
    let said = match lines {
        0 => format!("No matches for {pattern:?}."),
        _ => {
            let noun = if lines == 1 { "line" } else { "lines" };
            let lines = pi_stet::text::grouped(lines);
            format!("{lines} matching {noun} of {pattern:?} in {} entr", entries.len())
        }
    };
    assert!(answer.text.starts_with(&said), "{} and not {said}", answer.text);
}

/// Parts of regular expressions and of texts.
fn pattern(choices: &mut Choices) -> String {
    const PARTS: [&str; 40] = [
        ".",
        "*",
        "+",
        "?",
        "^",
        "$",
        "|",
        "(",
        ")",
        "(?:",
        "[^a]",
        "[a-z]",
        r"\b",
        r"\B",
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        r"\A",
        r"\z",
        "{2}",
        "{0,60}",
        "{100}",
        "(?i)",
        "(?-i)",
        "(?s)",
        "(?m)",
        "(?x)",
        r"\p{L}",
        r"\u{2028}",
        r"\x1b",
        r"\\",
        r"\n",
        r"\r",
        "e",
        "the",
        "parser",
        "漢",
        "ſ",
        "K",
    ];
    let parts = choices.below(10);
    (0..parts).fold(String::new(), |mut pattern, _| {
        match choices.byte() {
            n if n < 200 => pattern.push_str(PARTS[usize::from(n) % PARTS.len()]),
            _ => pattern.push_str(&choices.text()),
        }
        pattern
    })
}
