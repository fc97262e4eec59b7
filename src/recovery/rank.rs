//! `context_grep` with terms: the entries that fit best, by BM25 over words, paths and
//! identifiers, each with its best lines.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::arguments::GrepQuery;
use super::grep::{around, left_out_note};
use super::page::Pager;
use super::transcript::{Belongs, EntryText, Line, Transcript};
use super::{Answer, GREP, SEARCH_PAGE};
use crate::error::Result;
use crate::text::{counted, is_wide};

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Lines shown of one entry.
const LINES_PER_ENTRY: usize = 4;
/// Terms of one search at most; a question may be long.
const MAX_TERMS: usize = 40;
/// A word that only begins with a term counts half, from this length of the term on.
const PREFIX_LEN: usize = 4;

/// Words that say nothing about what is searched.
const STOP_WORDS: [&str; 44] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "exact", "for", "from",
    "had", "has", "have", "how", "i", "in", "is", "it", "me", "of", "on", "or", "that", "the",
    "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why",
    "with", "you", "include", "observed",
];

pub fn answer(transcript: &Transcript, query: &GrepQuery, terms: &[String]) -> Result<Answer> {
    render(transcript, query, &terms.join(" "), SEARCH_PAGE)
}

/// The same as one page of another size.
pub fn extract(
    transcript: &Transcript,
    query: &GrepQuery,
    text: &str,
    chars: usize,
) -> Result<Answer> {
    render(transcript, query, text, chars)
}

fn render(transcript: &Transcript, query: &GrepQuery, text: &str, chars: usize) -> Result<Answer> {
    let terms = terms(text);
    let Some(ranking) = Ranking::of(transcript, query, &terms)? else {
        return Ok(Answer::nothing(format!("No word to search for in {text:?}.")));
    };
    let note = left_out_note(ranking.left_out).map_or_else(String::new, |note| format!(" {note}"));
    if ranking.entries.is_empty() {
        return Ok(Answer::nothing(format!("No entry has any of: {}.{note}", terms.join(", "))));
    }
    let title = format!(
        "{} by relevance to: {}.{note}",
        counted(ranking.entries.len(), "entry", "entries"),
        terms.join(", ")
    );
    let mut pager = Pager::new(chars, query.paging.page);
    for entry in ranking.best_first().into_iter().take(query.max_matches.unwrap_or(usize::MAX)) {
        pager.push(&entry.shown(), "");
    }
    let (text, pages) = pager.finish();
    Ok(super::page_of(transcript, title, text, query.paging.page, pages, GREP))
}

/// The terms of a text: its words and the parts of its identifiers, without those that say nothing
/// (unless there are no others).
fn terms(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    words(text, |word| {
        if !all.contains(&word) {
            all.push(word);
        }
    });
    let telling: Vec<_> =
        all.iter().filter(|word| !STOP_WORDS.contains(&word.as_str())).cloned().collect();
    let mut terms = if telling.is_empty() { all } else { telling };
    terms.truncate(MAX_TERMS);
    terms
}

/// The words of a text in lower case: runs of letters and digits, identifiers also in their parts
/// (`parseHttpHeader` → `parsehttpheader`, `parse`, `http`, `header`), each East Asian character
/// by itself.
fn words(text: &str, mut take: impl FnMut(String)) {
    for run in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if run.is_empty() {
            continue;
        }
        if run.chars().any(is_wide) {
            run.chars().filter(|c| is_wide(*c)).for_each(|c| take(c.to_string()));
        }
        let run: String = run.chars().filter(|c| !is_wide(*c)).collect();
        if run.is_empty() {
            continue;
        }
        let parts = parts(&run);
        if parts.len() > 1 {
            parts.iter().for_each(|part| take(part.to_lowercase()));
        }
        take(run.trim_matches('_').to_lowercase());
    }
}

/// The parts of an identifier, split at `_`, at a change to upper case and between letters and
/// digits.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before: Option<char> = None;
    let mut chars = identifier.chars().peekable();
    while let Some(c) = chars.next() {
        let lower_next = chars.peek().is_some_and(|next| next.is_lowercase());
        let border = before.is_some_and(|before| {
            (before.is_lowercase() && c.is_uppercase())
                || (before.is_uppercase() && c.is_uppercase() && lower_next)
                || (before.is_numeric() != c.is_numeric())
        });
        if (c == '_' || border) && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if c != '_'
            && let Some(part) = parts.last_mut()
        {
            part.push(c);
        }
        before = Some(c);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

struct Ranked {
    id: String,
    what: String,
    /// How often each term occurs, halves for words that only begin with it.
    counts: Vec<f64>,
    words: f64,
    lines: Vec<RankedLine>,
    score: f64,
}

struct RankedLine {
    number: usize,
    section: String,
    text: String,
    /// The terms that stand in it.
    terms: Vec<usize>,
    score: f64,
}

struct Ranking {
    entries: Vec<Ranked>,
    left_out: [usize; 3],
    /// In how many entries each term occurs.
    entries_with: Vec<f64>,
    looked_at: f64,
}

impl Ranking {
    fn of(transcript: &Transcript, query: &GrepQuery, terms: &[String]) -> Result<Option<Ranking>> {
        if terms.is_empty() {
            return Ok(None);
        }
        let Some(any) = any_of(terms) else { return Ok(None) };
        let mut ranking = Ranking {
            entries: Vec::new(),
            left_out: [0; 3],
            entries_with: vec![0.0; terms.len()],
            looked_at: 0.0,
        };
        let numbers: HashMap<&str, usize> =
            terms.iter().enumerate().map(|(at, term)| (term.as_str(), at)).collect();
        for entry in transcript.entries().rev() {
            let entry = entry?;
            ranking.looked_at += 1.0;
            ranking.look_at(&entry, query, terms, &numbers, &any);
        }
        ranking.score();
        Ok(Some(ranking))
    }

    fn look_at(
        &mut self,
        entry: &EntryText,
        query: &GrepQuery,
        terms: &[String],
        numbers: &HashMap<&str, usize>,
        any: &Regex,
    ) {
        let mut ranked = Ranked {
            id: entry.id.clone(),
            what: entry.what.clone(),
            counts: vec![0.0; terms.len()],
            words: 0.0,
            lines: Vec::new(),
            score: 0.0,
        };
        for Line { number, section, text } in entry.lines() {
            let Some(section) = section else { continue };
            let belongs = query.scope.of(section);
            if belongs == Belongs::No {
                continue;
            }
            // Six bytes a word, for lines that need not be taken apart.
            ranked.words += text.len() as f64 / 6.0;
            let Some(at) = any.find(text) else { continue };
            if let Belongs::LeftOut(secondary) = belongs {
                self.left_out[secondary as usize] += 1;
                continue;
            }
            let found = terms_in(text, terms, numbers, &mut ranked.counts);
            if !found.is_empty()
                && !ranked.lines.iter().rev().take(64).any(|line| line.text == text)
            {
                ranked.lines.push(RankedLine {
                    number,
                    section: entry.section_name(section),
                    text: around(text, at.start()),
                    terms: found,
                    score: 0.0,
                });
            }
        }
        if ranked.lines.is_empty() {
            return;
        }
        for (term, count) in ranked.counts.iter().enumerate() {
            self.entries_with[term] += f64::from(*count > 0.0);
        }
        self.entries.push(ranked);
    }

    fn score(&mut self) {
        let average = self.entries.iter().map(|entry| entry.words).sum::<f64>()
            / (self.entries.len().max(1) as f64);
        let weight: Vec<f64> = self
            .entries_with
            .iter()
            .map(|with| (1.0 + (self.looked_at - with + 0.5) / (with + 0.5)).ln())
            .collect();
        for entry in &mut self.entries {
            let long = 1.0 - B + B * entry.words / average.max(1.0);
            let relevance: f64 = entry
                .counts
                .iter()
                .zip(&weight)
                .map(|(count, weight)| weight * count * (K1 + 1.0) / (count + K1 * long))
                .sum();
            for line in &mut entry.lines {
                // One line with all the terms tells more than many lines with one each.
                line.score = line.terms.iter().map(|term| weight[*term]).sum::<f64>();
                let all = line.terms.len() as f64 / weight.len() as f64;
                line.score *= 1.0 + all;
            }
            // Stable: of equal lines the earlier one.
            entry.lines.sort_by(|a, b| b.score.total_cmp(&a.score));
            entry.score = relevance + 2.0 * entry.lines.first().map_or(0.0, |line| line.score);
        }
    }

    /// Equal scores stay newest first.
    fn best_first(mut self) -> Vec<Ranked> {
        self.entries.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.entries
    }
}

/// A cheap test whether a text has any of the terms at all.
fn any_of(terms: &[String]) -> Option<Regex> {
    let terms: Vec<_> = terms.iter().map(|term| regex::escape(term)).collect();
    RegexBuilder::new(&terms.join("|")).case_insensitive(true).build().ok()
}

/// Counts the terms of a line; returns which there are.
fn terms_in(
    line: &str,
    terms: &[String],
    numbers: &HashMap<&str, usize>,
    counts: &mut [f64],
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut note = |term: usize, weight: f64| {
        counts[term] += weight;
        if !found.contains(&term) {
            found.push(term);
        }
    };
    words(line, |word| {
        if let Some(term) = numbers.get(word.as_str()) {
            note(*term, 1.0);
            return;
        }
        for (at, term) in terms.iter().enumerate() {
            if term.chars().count() >= PREFIX_LEN && word.starts_with(term.as_str()) {
                note(at, 0.5);
            }
        }
    });
    found
}

impl Ranked {
    fn shown(&self) -> String {
        let best = self.lines.first().map_or(0.0, |line| line.score);
        let mut lines: Vec<_> = self
            .lines
            .iter()
            .take(LINES_PER_ENTRY)
            .filter(|line| line.score >= best * 0.6)
            .collect();
        lines.sort_by_key(|line| line.number);
        let mut out = String::new();
        for line in lines {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!(
                "{} {}{}, line {}: {}",
                self.id, self.what, line.section, line.number, line.text
            ));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word));
        all
    }

    #[test]
    fn identifiers_are_found_by_their_parts_too() {
        assert_eq!(all("parseHTTPHeader"), ["parse", "http", "header", "parsehttpheader"]);
        assert_eq!(all("src/auth_token.rs:42"), ["src", "auth", "token", "auth_token", "rs", "42"]);
        assert_eq!(all("E0425"), ["e", "0425", "e0425"]);
        assert_eq!(all("漢字 test"), ["漢", "字", "test"]);
        assert_eq!(all("__init__"), ["init"]);
    }

    #[test]
    fn a_question_is_reduced_to_what_it_is_about() {
        assert_eq!(
            terms("What exact build error did we observe for src/auth.ts?"),
            ["build", "error", "observe", "src", "auth", "ts"]
        );
        assert_eq!(terms("to be or"), ["to", "be", "or"]);
    }
}
