//! Whether what an answer cites is in the record: entry ids, and quotes of some length.

use std::ops::ControlFlow;

use once_cell::sync::Lazy;
use regex::Regex;

use crate::error::Result;
use crate::recovery::sieve::Sieve;
use crate::recovery::transcript::{Belongs, Candidate, Scope, Transcript};
use crate::session::Branch;
use crate::text::visible;

/// A shorter quote may be a name or a word.
const QUOTE_CHARS: usize = 24;

/// One or more ids behind the word: `entry 9f3c2a1b`, `entries [9f3c2a1b], 8e2b7c3d and 71aa02f9`.
static IDS: Lazy<Option<Regex>> = Lazy::new(|| {
    Regex::new(r"(?i)\bentr(?:y|ies)\b((?:(?:[\s:`*,(\[\])&#]|\band\b|\bor\b)*\b[0-9a-z][0-9a-z-]{5,40}\b)+)").ok()
});
static ID: Lazy<Option<Regex>> = Lazy::new(|| Regex::new(r"(?i)\b[0-9a-z][0-9a-z-]{5,40}\b").ok());
static QUOTE: Lazy<Option<Regex>> =
    Lazy::new(|| Regex::new("```[a-z]*\n([^`]+)```|`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”").ok());

/// The answer with a mark behind each citation that the branch does not bear out.
///
/// Errors: the session changed while it was read.
pub fn check(branch: &Branch, answer: &str) -> Result<String> {
    let mut marks: Vec<(usize, &str)> = Vec::new();
    for end in unknown_ids(branch, answer) {
        marks.push((end, " [unverified: no such entry]"));
    }
    for end in quotes_not_in_record(branch, quotes(answer))? {
        marks.push((end, " [unverified: stands nowhere in the record]"));
    }
    marks.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(answer.len() + marks.len() * 40);
    let mut done = 0;
    for (at, mark) in marks {
        out.push_str(&answer[done..at]);
        out.push_str(mark);
        done = at;
    }
    out.push_str(&answer[done..]);
    Ok(out)
}

/// Where the ids end that no entry has.
fn unknown_ids(branch: &Branch, answer: &str) -> Vec<usize> {
    let (Some(lists), Some(id)) = (IDS.as_ref(), ID.as_ref()) else { return Vec::new() };
    let lists = lists.captures_iter(answer).filter_map(|found| found.get(1));
    let ids = lists.flat_map(|list| id.find_iter(list.as_str()).map(move |id| (list.start(), id)));
    // `entry point` is no citation: an id has a digit.
    ids.filter(|(_, id)| id.as_str().contains(|c: char| c.is_ascii_digit()))
        .filter(|(_, id)| branch.position(&id.as_str().to_lowercase()).is_none())
        .filter(|(_, id)| branch.position(id.as_str()).is_none())
        .map(|(start, id)| start + id.end())
        .collect()
}

struct Quote {
    /// Where it ends in the answer.
    end: usize,
    /// What lies between ellipses, white space squeezed.
    parts: Vec<String>,
}

fn quotes(answer: &str) -> Vec<Quote> {
    let found = QUOTE.iter().flat_map(|regex| regex.captures_iter(answer));
    found
        .filter_map(|found| {
            let text = (1..=4).find_map(|group| found.get(group))?.as_str();
            let parts = text.split('…').flat_map(|part| part.split("..."));
            let long = |part: &String| part.chars().count() >= QUOTE_CHARS;
            let parts: Vec<String> = parts.map(squeezed).filter(long).collect();
            (!parts.is_empty()).then_some(Quote { end: found.get(0)?.end(), parts })
        })
        .collect()
}

/// Where the quotes end of which a part stands nowhere.
fn quotes_not_in_record(branch: &Branch, mut quotes: Vec<Quote>) -> Result<Vec<usize>> {
    let Some(transcript) = Transcript::through(branch, None) else { return Ok(Vec::new()) };
    // A word of each part: an entry with none of them need not be read.
    let words: Option<Vec<&str>> =
        quotes.iter().flat_map(|quote| &quote.parts).map(|part| longest_word(part)).collect();
    let sieve = words.and_then(Sieve::of_texts);
    let scope = Scope::default();
    let texts = |candidate: Candidate| -> Result<Vec<String>> {
        let lets_through = |sieve: &Sieve| sieve.lets_through(candidate.line, candidate.role);
        if !sieve.as_ref().is_none_or(lets_through) {
            return Ok(Vec::new());
        }
        let entry = candidate.read()?;
        let sections = entry.sections.iter();
        let searched = sections.filter(|section| scope.of(section) == Belongs::Yes);
        // The model saw it with visible escapes.
        Ok(searched.map(|section| squeezed(&visible(&section.text))).collect())
    };
    transcript.map(
        |kind, role| scope.may_hold(kind, role),
        texts,
        |texts| {
            for quote in &mut quotes {
                quote.parts.retain(|part| !texts.iter().any(|text| text.contains(part.as_str())));
            }
            quotes.retain(|quote| !quote.parts.is_empty());
            Ok(match quotes.is_empty() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        },
    )?;
    Ok(quotes.into_iter().map(|quote| quote.end).collect())
}

/// A run of letters and digits: those stand in a file as they are read, that of an escape (`\x1b`,
/// `\u2028`) aside.
fn longest_word(text: &str) -> Option<&str> {
    let pieces = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let mut escaped = false;
    let words = pieces.filter_map(|piece| {
        let of_escape = std::mem::replace(&mut escaped, piece.ends_with('\\'));
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        (!of_escape && word.len() > 5).then_some(word)
    });
    words.max_by_key(|word| word.len())
}

/// White space does not count: quotes are wrapped and indented anew.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Leaf, Reading, Session};

    fn checked(answer: &str) -> String {
        let file = concat!(
            r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#,
            "\n",
            r#"{"type":"message","id":"9f3c2a1b","parentId":null,"timestamp":"T","message":{"role":"user","content":"cannot find value `foo` in this scope\n  --> src/auth.ts:42\nand \u001b[31mthen it all went red\u001b[0m"}}"#,
            "\n",
        );
        let session = Session::from_jsonl(file.as_bytes(), Reading::Recover).unwrap();
        check(&session.branch(&Leaf::Last).unwrap(), answer).unwrap()
    }

    #[test]
    fn what_the_record_bears_out_stays_as_it_is() {
        for answer in [
            "See entry 9f3c2a1b, entry point and ENTRY `9F3C2A1B`.",
            "It said \"value `foo` in this scope --> src/auth.ts:42\".",
            "It said \"cannot find value … scope --> src/auth.ts:42\".",
            r"It printed “and \x1b[31mthen it all went red”.",
            "The word \"elsewhere\" is short.",
        ] {
            assert_eq!(checked(answer), answer);
        }
    }

    #[test]
    fn what_stands_nowhere_is_marked() {
        assert_eq!(
            checked("Entries 9f3c2a1b, 00000000 and (11111111): no."),
            "Entries 9f3c2a1b, 00000000 [unverified: no such entry] and (11111111 [unverified: no such entry]): no."
        );
        assert_eq!(
            checked("It said \"cannot find value bar in this scope\" then."),
            "It said \"cannot find value bar in this scope\" [unverified: stands nowhere in the record] then."
        );
        assert!(
            checked("\"cannot find value `foo` in this … but invented at the very end\"")
                .ends_with("[unverified: stands nowhere in the record]")
        );
    }
}
