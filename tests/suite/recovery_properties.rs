//! What holds for every search: the quick way finds what the plain one does, pages lose and repeat
//! nothing, and what is pinned stays as it was.

use std::collections::BTreeSet;

use pi_stet::recovery::transcript::{Belongs, Scope, Transcript};
use pi_stet::recovery::{Caller, GREP, LIST, SHOW, answer};
use pi_stet::session::{Leaf, Reading, Session as Opened};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use regex::RegexBuilder;
use serde_json::{Map, Value, json};

use crate::support::damage::{Damage, damage};
use crate::support::recover::{all_pages, ask, body};
use crate::support::session::Session;
use crate::support::steps::{Step, odd_text, play, steps};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// How a pattern is made from two places of the record.
#[derive(Debug, Clone, Copy)]
enum Make {
    Part,
    PartInOtherCase,
    TwoParts,
    Anchored,
    Word,
    Fixed(&'static str),
}

fn make() -> impl Strategy<Value = Make> {
    let fixed = vec![
        r"\d",
        r"\w+\s\w+",
        "^$",
        "^",
        "e",
        "content",
        "error|text",
        "type",
        "[^a-z ]{3}",
        r"\S+$",
        "ſ",
        "s",
        r"\bthe\b",
        r"(?-i)The",
        r"^\w+: ",
        r"\$ ",
        r"\[0\]",
        r"\x1b",
        "漢|half",
        r"(?:parser|quoted) ",
        "path",
        "isError",
        "toolResult",
        r"\\u0041",
        r"\u{2028}",
        "x{200}",
        "a.c|\"q",
        "(?s)e.l",
        r"e\r?$",
        r"\Ai",
        r"e\z",
    ];
    prop_oneof![
        3 => Just(Make::Part),
        2 => Just(Make::PartInOtherCase),
        2 => Just(Make::TwoParts),
        1 => Just(Make::Anchored),
        1 => Just(Make::Word),
        3 => select(fixed).prop_map(Make::Fixed),
    ]
}

fn pattern(make: Make, lines: &[String], places: &[Index; 4]) -> String {
    if let Make::Fixed(pattern) = make {
        return pattern.to_owned();
    }
    if lines.is_empty() {
        return "nothing".to_owned();
    }
    let line: Vec<char> = places[0].get(lines).chars().collect();
    let part = |at: &Index, len: usize| -> String {
        let start = at.index(line.len() + 1);
        line[start..].iter().take(len).collect()
    };
    let escaped = |at: &Index| regex::escape(&part(at, 1 + places[3].index(12)));
    match make {
        Make::Part => escaped(&places[1]),
        Make::PartInOtherCase => {
            let text = part(&places[1], 9);
            regex::escape(&text.chars().flat_map(char::to_uppercase).collect::<String>())
        }
        Make::TwoParts => format!("{}.*{}", escaped(&places[1]), escaped(&places[2])),
        Make::Anchored => format!("^{}$", regex::escape(&line.iter().collect::<String>())),
        Make::Word => format!(r"\b{}\b", escaped(&places[1])),
        Make::Fixed(_) => unreachable!(),
    }
}

/// Every line that a search looks at, with its entry: read one by one.
fn all_lines(file: &[u8], leaf: Leaf) -> Option<Vec<(String, String)>> {
    let session = Opened::from_jsonl(file, Reading::Recover).ok()?;
    let branch = session.branch(&leaf).ok()?;
    let transcript = Transcript::through(&branch, None)?;
    let mut lines = Vec::new();
    for position in 0..transcript.len() {
        let (entry, ..) = transcript.at(position)?;
        let entry = transcript.read(entry).expect("the session stays as it is");
        for section in entry.sections.iter().filter(|s| Scope::default().of(s) == Belongs::Yes) {
            for line in section.text.split('\n') {
                let line = line.strip_suffix('\r').unwrap_or(line);
                lines.push((entry.id.clone(), line.to_owned()));
            }
        }
    }
    Some(lines)
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn the_quick_way_finds_what_the_plain_one_does(
        steps in steps(30),
        damages in prop::collection::vec(damage(), 0..2),
        searches in prop::collection::vec((make(), any::<[Index; 4]>(), any::<bool>()), 1..8),
    ) {
        let session = play(&steps, |session, kept| session.compacted(kept));
        let file = damages.iter().fold(session.jsonl(), |file, damage: &Damage| damage.apply(&file));
        let Some(lines) = all_lines(&file, Leaf::Last) else { return Ok(()) };
        let opened = Opened::from_jsonl(&file, Reading::Recover).expect("opened before");
        let branch = opened.branch(&Leaf::Last).expect("a branch");
        let texts: Vec<String> = lines.iter().map(|(_, line)| line.clone()).filter(|line| !line.is_empty()).collect();
        for (make, places, case_sensitive) in searches {
            let pattern = pattern(make, &texts, &places);
            let Ok(regex) = RegexBuilder::new(&pattern).case_insensitive(!case_sensitive).build() else { continue };
            if pattern.is_empty() {
                continue;
            }
            let expected: Vec<&(String, String)> = lines.iter().filter(|(_, line)| regex.is_match(line)).collect();
            let entries: BTreeSet<&str> = expected.iter().map(|(id, _)| id.as_str()).collect();
            let arguments = json!({ "pattern": &pattern, "caseSensitive": case_sensitive });
            let arguments: &Map<String, Value> = arguments.as_object().expect("an object");
            let answer = answer(&branch, GREP, arguments, Caller::Shell).expect("no change").expect("good");
            let title = answer.text.lines().next().unwrap_or_default();
            let said = match expected.len() {
                0 => format!("No matches for {pattern:?}."),
                lines => {
                    let noun = if lines == 1 { "line" } else { "lines" };
                    format!("{} matching {noun} of {pattern:?} in {} entr", pi_stet::text::grouped(lines as u64), entries.len())
                }
            };
            prop_assert!(title.starts_with(&said), "{title} and not {said}");
        }
    }

    /// Whatever a line has is found by its words, as terms.
    #[test]
    fn a_line_is_found_by_its_own_words(steps in steps(12), which in any::<Index>()) {
        let session = play(&steps, |session, kept| session.compacted(kept));
        let lines = all_lines(&session.jsonl(), Leaf::Id(session.last_id())).expect("a branch");
        let with_word: Vec<_> = lines.iter().filter(|(_, line)| line.chars().filter(|c| c.is_alphanumeric()).count() > 3).collect();
        prop_assume!(!with_word.is_empty());
        let (id, line) = which.get(&with_word);
        let answer = ask(&session, GREP, json!({ "terms": line }));
        prop_assert!(answer.text.contains(id.as_str()), "{line:?} of {id}: {}", answer.text);
    }
}

/// Sessions with entries of more than one page.
fn long_session() -> impl Strategy<Value = Session> {
    let text =
        (odd_text(), odd_text(), 1..900usize).prop_map(|(a, b, n)| format!("{a}\n{}", b.repeat(n)));
    prop::collection::vec(text, 1..6).prop_map(|texts| {
        texts.iter().fold(Session::new(), |session, text| {
            session.user(text).call("bash", json!({ "command": "x", "note": text })).ok(text)
        })
    })
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn pages_of_shown_entries_are_the_entries(session in long_session()) {
        let ids: Vec<String> = session.entries().take(8).map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect();
        let opened_bytes = session.jsonl();
        let opened = Opened::from_jsonl(&opened_bytes, Reading::Recover).expect("a session");
        let branch = opened.branch(&Leaf::Id(session.last_id())).expect("a branch");
        let transcript = Transcript::through(&branch, None).expect("all of it");
        let mut expected = String::new();
        for id in &ids {
            let entry = transcript.entry(id).expect("no change").expect("an entry");
            expected.push_str(&format!("{}\n{}\n\n", entry.header(), entry.body()));
        }
        let mut together = String::new();
        for page in all_pages(&session, SHOW, &json!({ "ids": ids })) {
            let page = page.rsplit_once("\n[page ").map_or(page.as_str(), |(page, _)| page);
            prop_assert!(page.chars().count() <= 24_000);
            match page.split_once('\n') {
                Some((first, rest)) if first.ends_with(", continued inside of a line)") => {
                    prop_assert_eq!(together.pop(), Some('\n'));
                    together.push_str(rest);
                }
                Some((first, rest)) if first.ends_with(", continued)") => together.push_str(rest),
                _ => together.push_str(page),
            }
            together.push('\n');
        }
        // A page ends without the blank lines at its end.
        let squeezed = |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(squeezed(&together), squeezed(&expected));
    }

    #[test]
    fn a_listing_has_every_entry_once(steps in steps(200)) {
        let steps: Vec<Step> = steps.into_iter().filter(|step| !matches!(step, Step::Compact(_))).collect();
        let session = play(&steps, |session, _| session);
        let pages = all_pages(&session, LIST, &json!({}));
        let listed: Vec<&str> = pages.iter().flat_map(|page| body(page).lines()).map(|row| row.split("  ").next().unwrap_or_default()).collect();
        let path = crate::support::expect::path_to(&session, session.leaf_id());
        let expected: Vec<&str> = path.iter().map(|entry| entry["id"].as_str().expect("an id")).collect();
        prop_assert_eq!(listed, expected);
    }

    /// What Pi appends meanwhile, the call itself to begin with, changes no page that is pinned.
    #[test]
    fn pinned_pages_never_change(session in long_session(), later in long_session(), longer_ids in any::<bool>()) {
        let pin = session.last_id().to_owned();
        let mut grown = session.clone();
        for entry in later.entries() {
            let text = entry["message"]["content"][0]["text"].as_str().unwrap_or("x").to_owned();
            grown = grown.user(&text);
            if longer_ids {
                let id = format!("{}-{}", "0".repeat(30), grown.last_id());
                grown = grown.but(|entry| entry["id"] = id.into());
            }
        }
        for (tool, arguments) in [
            (LIST, json!({})),
            (LIST, json!({ "in": ["toolCall"] })),
            (GREP, json!({ "pattern": "e" })),
            (GREP, json!({ "terms": "parser code line" })),
            (SHOW, json!({ "ids": [&pin] })),
        ] {
            let mut arguments = arguments;
            arguments["throughEntry"] = pin.as_str().into();
            prop_assert_eq!(all_pages(&session, tool, &arguments), all_pages(&grown, tool, &arguments), "{}", tool);
        }
    }
}
