//! The terms of a ranked search, and how they are found in bytes and in words.

use std::collections::HashMap;

use super::sieve::{Sieve, has_escaped_text};
use super::words::terms;
use crate::session::Role;

/// What a term counts that is only the beginning of a word, or inside of one.
const BEGINNING: f64 = 0.6;
const INSIDE: f64 = 0.3;

/// What is searched.
pub struct Terms {
    pub words: Vec<String>,
    /// For each word, how it is found in bytes.
    sieves: Vec<Sieve>,
    /// All of them together.
    pub any: Sieve,
    numbers: HashMap<String, usize>,
    pub phrase: String,
}

impl Terms {
    pub fn of(text: &str) -> Option<Terms> {
        let words = terms(text);
        let spellings: Vec<_> = words.iter().map(|word| spellings(word)).collect();
        let sieve = |texts: &[String]| Sieve::of_texts(texts.iter().map(String::as_str));
        let sieves: Option<Vec<_>> = spellings.iter().map(|texts| sieve(texts)).collect();
        let numbers = words.iter().enumerate().map(|(at, word)| (word.clone(), at)).collect();
        (!words.is_empty()).then_some(())?;
        Some(Terms {
            any: sieve(&spellings.concat())?,
            sieves: sieves?,
            numbers,
            phrase: text.trim().to_lowercase(),
            words,
        })
    }

    pub fn are_ascii(&self) -> bool {
        self.words.iter().all(|word| word.is_ascii())
    }

    /// Which of the words may stand in the line, as bits.
    pub fn mask(&self, line: &[u8], role: Role) -> u64 {
        let mut mask = 0;
        for (at, sieve) in self.sieves.iter().enumerate() {
            mask |= u64::from(sieve.stands_in(line, role)) << at;
        }
        let unseen = |word: &String| !word.is_ascii();
        if self.words.iter().any(unseen) && has_escaped_text(line) {
            for (at, _) in self.words.iter().enumerate().filter(|(_, word)| unseen(word)) {
                mask |= 1 << at;
            }
        }
        mask
    }

    /// Whether a word is one of the terms, and how much it counts as one.
    pub fn take(&self, word: &str, mut take: impl FnMut(usize, f64)) {
        if let Some(term) = self.numbers.get(word) {
            return take(*term, 1.0);
        }
        for (at, term) in self.words.iter().enumerate() {
            if term.len() > 2 && word.starts_with(term.as_str()) {
                take(at, BEGINNING);
            } else if term.len() > 3 && word.contains(term.as_str()) {
                take(at, INSIDE);
            }
        }
    }
}

/// ASCII is found in either case; other letters in the ways they are written.
fn spellings(word: &str) -> Vec<String> {
    if word.is_ascii() {
        return vec![word.to_owned()];
    }
    let mut chars = word.chars();
    let title: String =
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    let mut all = vec![word.to_owned(), title, word.to_uppercase()];
    all.dedup();
    all
}
