//! Whether what an answer cites is in the record: entry ids, and quotes of some length.

use once_cell::sync::Lazy;
use regex::Regex;

use crate::error::Result;
use crate::recovery::transcript::{Belongs, Scope, Transcript};
use crate::session::Branch;

/// A shorter quote may be a name or a word.
const QUOTE_CHARS: usize = 24;

static ID: Lazy<Option<Regex>> =
    Lazy::new(|| Regex::new(r"(?i)\bentr(?:y|ies)\b[ :`*\[]*([0-9a-z][0-9a-z-]{5,40})\b").ok());
static QUOTE: Lazy<Option<Regex>> =
    Lazy::new(|| Regex::new("```[a-z]*\n([^`]+)```|`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”").ok());

/// The answer with a mark behind each citation that the branch does not bear out.
///
/// Errors: the session changed while it was read.
pub fn check(branch: &Branch, answer: &str) -> Result<String> {
    let mut marks: Vec<(usize, String)> = Vec::new();
    for found in ID.iter().flat_map(|regex| regex.captures_iter(answer)) {
        let Some(id) = found.get(1) else { continue };
        // `entry point` is no citation: an id has a digit.
        if id.as_str().contains(|c: char| c.is_ascii_digit())
            && branch.position(id.as_str()).is_none()
        {
            marks.push((id.end(), " [unverified: no such entry]".to_owned()));
        }
    }
    let mut quotes: Vec<(usize, String)> = QUOTE
        .iter()
        .flat_map(|regex| regex.captures_iter(answer))
        .filter_map(|found| {
            let text = (1..=4).find_map(|group| found.get(group))?.as_str();
            let end = found.get(0)?.end();
            (text.chars().count() >= QUOTE_CHARS).then(|| (end, squeezed(text)))
        })
        .collect();
    quotes = not_in_record(branch, quotes)?;
    marks.extend(
        quotes
            .into_iter()
            .map(|(end, _)| (end, " [unverified: stands nowhere in the record]".to_owned())),
    );
    if marks.is_empty() {
        return Ok(answer.to_owned());
    }
    marks.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(answer.len() + marks.len() * 40);
    let mut done = 0;
    for (at, mark) in marks {
        out.push_str(&answer[done..at]);
        out.push_str(&mark);
        done = at;
    }
    out.push_str(&answer[done..]);
    Ok(out)
}

fn not_in_record(
    branch: &Branch,
    mut quotes: Vec<(usize, String)>,
) -> Result<Vec<(usize, String)>> {
    let Some(transcript) = Transcript::through(branch, None) else { return Ok(quotes) };
    for entry in transcript.entries() {
        if quotes.is_empty() {
            break;
        }
        for section in &entry?.sections {
            if Scope::default().of(section) == Belongs::Yes {
                let text = squeezed(&section.text);
                quotes.retain(|(_, quote)| !text.contains(quote.as_str()));
            }
        }
    }
    Ok(quotes)
}

/// White space does not count: quotes are wrapped and indented anew.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
