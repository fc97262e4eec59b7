//! The lines of a text that match a pattern: of a text that was read, or of one that still stands
//! in a session's line as JSON has it. Both hand over the same.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::Cursor;
use crate::json::escapes;
use crate::recovery::literal::Literal;
use crate::recovery::pattern::{Patience, Pattern, Skip, Spent};
use crate::recovery::sieve::Sieve;
use crate::recovery::transcript::{line_breaks, without_return};

/// A line that matches.
pub struct Match<'t> {
    /// Line breaks before it.
    pub breaks: usize,
    pub line: Cow<'t, str>,
    /// Where in the line the first match is.
    pub at: Range<usize>,
}

/// Hands over each line of a text that matches.
///
/// Errors: the time for the search is up.
pub fn in_text<'t>(
    pattern: &Pattern,
    text: &'t str,
    patience: &mut Patience,
    mut take: impl FnMut(Match<'t>),
) -> Result<(), Spent> {
    let mut places = pattern.sieve.as_ref().map(|sieve| sieve.places(text));
    let (mut start, mut breaks) = (0, 0);
    while start <= text.len() {
        // Straight to the line of the next place.
        let skip = match &mut places {
            Some(places) => match places.from(start) {
                Some(place) => Skip::ToPlace(place),
                None => return Ok(()),
            },
            None => pattern.skip(text, start, patience)?,
        };
        let (place, is_passed) = match skip {
            Skip::ToPlace(place) => (place, false),
            Skip::OverLines(end) => (end, true),
        };
        let skipped = &text[start..place];
        breaks += line_breaks(skipped);
        if is_passed {
            (start, breaks) = (place + 1, breaks + 1);
            continue;
        }
        start += memchr::memrchr(b'\n', skipped.as_bytes()).map_or(0, |at| at + 1);
        let rest = &text.as_bytes()[start..];
        let end = memchr::memchr(b'\n', rest).map_or(text.len(), |at| start + at);
        let line = without_return(&text[start..end]);
        if let Some(at) = pattern.find(line, patience)? {
            take(Match { breaks, line: Cow::Borrowed(line), at });
        }
        start = end + 1;
        breaks += 1;
    }
    Ok(())
}

/// The same of the inside of a JSON string whose plain characters stand for themselves (see
/// [`Sieve`]); gives the line breaks of all of it. Only the lines of the sieve's places are
/// decoded.
///
/// Errors: the time for the search is up.
pub fn in_json<'t>(
    pattern: &Pattern,
    sieve: &Sieve,
    inside: &'t str,
    patience: &mut Patience,
    mut take: impl FnMut(Match<'t>),
) -> Result<usize, Spent> {
    let bytes = inside.as_bytes();
    let mut places = sieve.places(inside);
    let (mut start, mut breaks) = (0, 0);
    while let Some(place) = places.from(start) {
        let (skipped, begin) = escapes::line_breaks(&bytes[start..place]);
        (start, breaks) = (start + begin, breaks + skipped);
        let end = start + escapes::line_end(&bytes[start..]);
        if let Some(line) = Cursor::decoded(&inside[start..end]) {
            let len = without_return(&line).len();
            if let Some(at) = pattern.find(&line[..len], patience)? {
                let line = match line {
                    Cow::Borrowed(line) => Cow::Borrowed(&line[..len]),
                    Cow::Owned(mut line) => {
                        line.truncate(len);
                        Cow::Owned(line)
                    }
                };
                take(Match { breaks, line, at });
            }
        }
        if end == bytes.len() {
            return Ok(breaks);
        }
        start = end + escapes::LINE_BREAK.len();
        breaks += 1;
    }
    Ok(breaks + escapes::line_breaks(&bytes[start..]).0)
}

/// How many lines of the inside of a JSON string have a text of plain characters. `None` where only
/// reading them tells.
pub fn count_in_json(text: &Literal, inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let (mut start, mut count) = (0, 0);
    while let Some(found) = text.find(bytes, start) {
        let at = text.whole(bytes, found)?.start;
        if escapes::is_of_escape(bytes, at) {
            start = found + 1;
            continue;
        }
        count += 1;
        start = at + escapes::line_end(&bytes[at..]);
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(of: impl FnOnce(&mut dyn FnMut(Match))) -> Vec<(usize, String, Range<usize>)> {
        let mut all = Vec::new();
        of(&mut |found| all.push((found.breaks, found.line.into_owned(), found.at)));
        all
    }

    #[test]
    fn a_match_that_goes_on_to_the_end_is_not_followed_for_each_line() {
        let text: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let pattern = Pattern::new("(?s).*", true).unwrap();
        let mut patience = pattern.patience();
        let mut lines = 0;
        assert_eq!(in_text(&pattern, &text, &mut patience, |_| lines += 1), Ok(()));
        assert_eq!(lines, 20_001);
    }

    proptest! {
        #[test]
        fn a_text_is_searched_in_json_as_when_it_is_read(
            text in r#"(name|nname|na|n|\\|"|\n|\r\n|\t|\r|é|ſ| |\u{1b}){0,60}"#,
            pattern in prop::sample::select(&[
                "name", "nna", "(?i)names", "1b", "00", "bname", "001bn", "name$", "\\bname", "n.*me", "^na", "ame|nan", "\\bn\\w+e\\b",
            ]),
        ) {
            let pattern = Pattern::new(pattern, true).unwrap();
            let Some(sieve) = &pattern.sieve else { return Ok(()) };
            let json = serde_json::to_string(&text).unwrap();
            let inside = &json[1..json.len() - 1];
            let read = found(|take| in_text(&pattern, &text, &mut Patience::new(), take).unwrap());
            let mut breaks = 0;
            let raw = found(|take| {
                breaks = in_json(&pattern, sieve, inside, &mut Patience::new(), take).unwrap();
            });
            if let Some(count) = pattern.text.as_ref().and_then(|text| count_in_json(text, inside)) {
                prop_assert_eq!(count, read.len());
            }
            prop_assert_eq!(raw, read);
            prop_assert_eq!(breaks, line_breaks(&text));
        }
    }
}
