//! Words, as a ranked search counts them: also the parts of identifiers, and single East Asian
//! characters.

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

/// Of so few words each says where the line is.
const FEW: usize = 3;

/// The terms of a text: its words and the parts of its identifiers; of more than a few, without
/// those that say nothing. One letter or digit alone is no term.
pub fn terms(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    words(text, |_, word| {
        if word.len() > 1 && !all.contains(&word) {
            all.push(word);
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

/// The words of a text in lower case, with where they begin: runs of letters and digits,
/// identifiers also in their parts (`parseHttpHeader` → `parse`, `http`, `header`,
/// `parsehttpheader`), each East Asian character by itself.
pub fn words(text: &str, mut take: impl FnMut(usize, String)) {
    let mut run: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_wide(c) && c.is_alphanumeric() {
            identifier(text, run.take(), at, &mut take);
            take(at, c.to_string());
        } else if c.is_alphanumeric() || c == '_' {
            run.get_or_insert(at);
        } else {
            identifier(text, run.take(), at, &mut take);
        }
    }
}

fn identifier(text: &str, start: Option<usize>, end: usize, take: &mut impl FnMut(usize, String)) {
    let Some(start) = start else { return };
    let run = &text[start..end];
    let parts = parts(run);
    if let [part] = parts.as_slice() {
        take(start + part.start, run[part.clone()].to_lowercase());
        return;
    }
    for part in parts {
        take(start + part.start, run[part].to_lowercase());
    }
    let whole = run.trim_matches('_');
    if !whole.is_empty() {
        take(start, whole.to_lowercase());
    }
}

/// The parts of an identifier, split at `_`, at a change to upper case and between letters and
/// digits.
fn parts(identifier: &str) -> Vec<std::ops::Range<usize>> {
    let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
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
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |_, word| all.push(word));
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
        words(text, |at, word| places.push((at, word)));
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
    }
}
