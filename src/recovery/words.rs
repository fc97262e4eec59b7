//! Words, as a ranked search counts them: also the parts of identifiers, and single East Asian
//! characters.

use std::ops::Range;

use crate::text::is_wide;

/// Terms of one search at most; a question may be long.
pub const MAX_TERMS: usize = 40;

/// Words that say nothing about what is searched.
const STOP_WORDS: [&str; 44] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "exact", "for", "from",
    "had", "has", "have", "how", "i", "in", "is", "it", "me", "of", "on", "or", "that", "the",
    "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why",
    "with", "you", "include", "observed",
];

/// Bytes of a part of an identifier that is a term of its own.
const SHORTEST_PART: usize = 3;
/// Of so few words each says where the line is.
const FEW: usize = 3;

/// The terms of a text: its words and the parts of its identifiers; of more than a few, without
/// those that say nothing. One letter or digit alone is no term.
pub fn terms(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    words(text, |_, word, is_part| {
        // Of a hash or a number in a name the digits alone are everywhere.
        let shortest = if is_part { SHORTEST_PART } else { 2 };
        if word.len() >= shortest && !all.iter().any(|other| other == word) {
            all.push(word.to_owned());
        }
    });
    let mut terms = all.clone();
    if all.len() > FEW {
        terms.retain(|word| !STOP_WORDS.contains(&word.as_str()));
    }
    if terms.is_empty() {
        terms = all;
    }
    terms.truncate(MAX_TERMS);
    terms
}

/// The words of a text in lower case, with where they begin and whether they are only a part of
/// one: runs of letters and digits, identifiers also in their parts (`parseHttpHeader` → `parse`,
/// `http`, `header`, `parsehttpheader`), each East Asian character by itself.
pub fn words(text: &str, mut take: impl FnMut(usize, &str, bool)) {
    let mut lower = Lower::default();
    let mut run: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_word = c.is_alphanumeric();
        if !is_word && c != '_' {
            lower.identifier(text, run.take(), at, &mut take);
        } else if is_word && is_wide(c) {
            lower.identifier(text, run.take(), at, &mut take);
            take(at, c.encode_utf8(&mut [0; 4]), false);
        } else {
            run.get_or_insert(at);
        }
    }
}

/// A room for the lower case of one word after the other.
#[derive(Default)]
struct Lower {
    word: String,
    parts: Vec<Range<usize>>,
}

impl Lower {
    fn of(&mut self, word: &str) -> &str {
        self.word.clear();
        match word.is_ascii() {
            true => {
                self.word.push_str(word);
                self.word.make_ascii_lowercase();
            }
            false => self.word.push_str(&word.to_lowercase()),
        }
        &self.word
    }

    fn identifier(
        &mut self,
        text: &str,
        start: Option<usize>,
        end: usize,
        take: &mut impl FnMut(usize, &str, bool),
    ) {
        let Some(start) = start else { return };
        let run = &text[start..end];
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        split(run, &mut parts);
        let is_whole = parts.len() == 1;
        for part in &parts {
            take(start + part.start, self.of(&run[part.clone()]), !is_whole);
        }
        self.parts = parts;
        let whole = run.trim_matches('_');
        if !is_whole && !whole.is_empty() {
            take(start, self.of(whole), false);
        }
    }
}

/// The parts of an identifier, split at `_`, at a change to upper case and between letters and
/// digits.
fn split(identifier: &str, parts: &mut Vec<Range<usize>>) {
    let mut before: Option<char> = None;
    let mut chars = identifier.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let lower_next = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        let border = before.is_none_or(|before| {
            before == '_'
                || (before.is_lowercase() && c.is_uppercase())
                || (before.is_uppercase() && c.is_uppercase() && lower_next)
                || (before.is_numeric() != c.is_numeric())
        });
        let end = at + c.len_utf8();
        match parts.last_mut() {
            _ if c == '_' => {}
            Some(part) if !border => part.end = end,
            _ => parts.push(at..end),
        }
        before = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |_, word, _| all.push(word.to_owned()));
        all
    }

    #[test]
    fn identifiers_are_found_by_their_parts_too() {
        assert_eq!(all("parseHTTPHeader"), ["parse", "http", "header", "parsehttpheader"]);
        assert_eq!(all("src/auth_token.rs:42"), ["src", "auth", "token", "auth_token", "rs", "42"]);
        assert_eq!(all("E0425"), ["e", "0425", "e0425"]);
        assert_eq!(all("漢字 test"), ["漢", "字", "test"]);
        assert_eq!(all("値test字"), ["値", "test", "字"]);
        assert_eq!(all("__init__"), ["init"]);
        assert_eq!(all("größeÄndern"), ["größe", "ändern", "größeändern"]);
        assert_eq!(all("___ -- _"), Vec::<String>::new());
    }

    #[test]
    fn words_come_with_their_places() {
        let text = "a 漢 fooBar";
        let mut places = Vec::new();
        words(text, |at, word, _| places.push((at, word.to_owned())));
        let expected = [(0, "a"), (2, "漢"), (6, "foo"), (9, "bar"), (6, "foobar")];
        assert_eq!(places, expected.map(|(at, word)| (at, word.to_owned())));
    }

    #[test]
    fn a_question_is_reduced_to_what_it_is_about() {
        assert_eq!(
            terms("What exact build error did we observe for src/auth.ts?"),
            ["build", "error", "observe", "src", "auth", "ts"]
        );
        assert_eq!(terms("to be or"), ["to", "be", "or"]);
        assert_eq!(terms("E0425 x"), ["0425", "e0425"]);
        assert_eq!(terms("orbit_48 1d8324ad00"), ["orbit", "orbit_48", "8324", "1d8324ad00"]);
    }
}
