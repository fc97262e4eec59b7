//! `context_grep` with terms: the lines that fit best, by BM25 over words, paths and identifiers. A first pass tells from the bytes which entries have
//! which terms; only those that can be among the best are read.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::{ControlFlow, Range};

use super::arguments::GrepQuery;
use super::grep::{LeftOut, around, row};
use super::page::Pager;
use super::pattern::Patience;
use super::sieve::{Sieve, has_escaped_text};
use super::telling::Telling;
use super::transcript::{
    Belongs, Candidate, EntryText, Scope, Secondary, Section, SectionKind, Transcript,
};
use super::transcript::{line_breaks, without_return};
use super::words::{terms, words};
use super::{Answer, Caller, TOOLS};
use crate::error::Result;
use crate::session::{EntryNo, Kind, Role};
use crate::text::counted;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What the whole of an entry counts beside its best line.
const ENTRY: f64 = 0.1;
/// What it counts, at most, that a line is unusual.
const UNUSUAL: f64 = 0.6;
/// What the words count for standing as they were asked for.
const PHRASE: f64 = 1.2;
/// What a term counts that is only the beginning of a word, or inside of one.
const BEGINNING: f64 = 0.6;
const INSIDE: f64 = 0.3;
/// Bytes of a word, on average.
const WORD: f64 = 6.0;
/// Lines listed at most, lines kept for each of them, bytes of entries that are read for them.
const LISTED: usize = 400;
const KEPT: usize = 40;
const READ: usize = 24 << 20;
/// Lines of one entry, and characters of a line; words further apart do not stand together.
const LINES_PER_ENTRY: usize = 6;
const LINE: usize = 240;
/// Places of terms in one line that are looked at.
const MAX_PLACES: usize = 2_000;

pub fn answer(
    transcript: &Transcript,
    query: &GrepQuery,
    text: &str,
    chars: usize,
    caller: Caller,
) -> Result<Answer> {
    let Some(terms) = Terms::of(text) else {
        return Ok(Answer::nothing(format!(
            "No word to search for in {:?}.",
            crate::text::clip(text, 200)
        )));
    };
    let found = Found::in_lines(transcript, query, &terms)?;
    let note = found.left_out.note("entry", "entries");
    let note = note.map_or_else(String::new, |note| format!(" {note}"));
    let names = terms.words.join(", ");
    if found.candidates.is_empty() {
        return Ok(Answer::nothing(format!("No entry has any of: {names}.{note}")));
    }
    let (best, in_time) = found.best(transcript, query, &terms)?;
    if best.is_empty() {
        return Ok(Answer::nothing(format!("No entry has any of: {names}.{note}")));
    }
    let mut title = format!(
        "{} with some of these words, the best {} first: {names}.{note}",
        counted(found.candidates.len(), "entry", "entries"),
        counted(best.len(), "line", "lines"),
    );
    if !in_time {
        title.push_str(" They are too many to compare all: use rarer words, in or tool.");
    }
    let mut pager = Pager::new(chars, query.paging.page);
    for line in &best {
        pager.push(&line.text, "");
    }
    let (text, pages) = pager.finish();
    Ok(super::page_of(transcript, title, text, query.paging.page, pages, caller))
}

/// What is searched.
struct Terms {
    words: Vec<String>,
    /// For each word, how it is found in bytes.
    sieves: Vec<Sieve>,
    /// All of them together.
    any: Sieve,
    numbers: HashMap<String, usize>,
    phrase: String,
}

impl Terms {
    fn of(text: &str) -> Option<Terms> {
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

    /// Which of the words may stand in the line, as bits.
    fn mask(&self, line: &[u8], role: Role) -> u64 {
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
    fn take(&self, word: &str, mut take: impl FnMut(usize, f64)) {
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

/// What the first pass finds.
struct Found {
    /// Newest first, with the bits of their terms.
    candidates: Vec<(EntryNo, u64)>,
    left_out: LeftOut,
    /// In how many entries each term stands.
    entries_with: Vec<usize>,
    looked_at: usize,
    bytes: usize,
}

impl Found {
    fn in_lines(transcript: &Transcript, query: &GrepQuery, terms: &Terms) -> Result<Found> {
        let mut found = Found {
            candidates: Vec::new(),
            left_out: LeftOut::default(),
            entries_with: vec![0; terms.words.len()],
            looked_at: 0,
            bytes: 0,
        };
        transcript.lines_of(
            |kind, role| query.scope.may_hold(kind, role),
            |candidate| {
                found.look_at(&candidate, &query.scope, terms);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(found)
    }

    fn look_at(&mut self, candidate: &Candidate, scope: &Scope, terms: &Terms) {
        if !scope.may_name(candidate.line) {
            return;
        }
        let mask = terms.mask(candidate.line, candidate.role);
        match secondary(candidate, scope) {
            Belongs::Yes => {}
            Belongs::No => return,
            Belongs::LeftOut(secondary) => {
                if mask != 0 {
                    self.left_out.add(secondary);
                }
                return;
            }
        }
        self.looked_at += 1;
        self.bytes += candidate.line.len();
        if mask != 0 {
            self.candidates.push((candidate.entry, mask));
            for (at, count) in self.entries_with.iter_mut().enumerate() {
                *count += usize::from(mask >> at & 1 == 1);
            }
        }
    }

    /// The lines that fit best, best first; whether all that could be among them were compared.
    fn best(
        &self,
        transcript: &Transcript,
        query: &GrepQuery,
        terms: &Terms,
    ) -> Result<(Vec<Ranked>, bool)> {
        let looked_at = self.looked_at as f64;
        let weight = |with: &usize| {
            let with = *with as f64;
            (1.0 + (looked_at - with + 0.5) / (with + 0.5)).ln()
        };
        let scale = Scale {
            weights: self.entries_with.iter().map(weight).collect(),
            average: (self.bytes as f64 / looked_at.max(1.0) / WORD).max(1.0),
        };
        let mut order: Vec<(f64, EntryNo)> =
            self.candidates.iter().map(|(entry, mask)| (scale.bound(*mask), *entry)).collect();
        // Stable: of equal ones the newer first.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));

        let most = query.max_matches.unwrap_or(LISTED).min(LISTED);
        let mut best: Vec<Ranked> = Vec::new();
        // The best line of each of the best entries, the worst on top.
        let mut scores: BinaryHeap<Reverse<Score>> = BinaryHeap::new();
        let mut patience = Patience::new();
        let mut read = 0;
        for (bound, entry) in order {
            let full = scores.len() >= most;
            if full && scores.peek().is_some_and(|Reverse(worst)| worst.0 >= bound) {
                break;
            }
            let entry = transcript.read(entry)?;
            let length: usize = entry.sections.iter().map(|section| section.text.len()).sum();
            read += length;
            if read > READ || patience.looked_at(length).is_err() {
                return Ok((arranged(best, most), false));
            }
            let lines = ranked(&entry, &query.scope, terms, &scale);
            if let Some(top) = lines.first() {
                scores.push(Reverse(Score(top.score())));
            }
            best.extend(lines);
            if scores.len() > most {
                scores.pop();
            }
            // Those that fell far behind need not be kept.
            if best.len() > 2 * most * KEPT {
                best.sort_by(|a, b| b.score().total_cmp(&a.score()));
                best.truncate(most * KEPT);
            }
        }
        Ok((arranged(best, most), true))
    }
}

/// The best first; of lines with the same words, those that tell most.
fn arranged(mut lines: Vec<Ranked>, most: usize) -> Vec<Ranked> {
    let mut telling = Telling::default();
    lines.iter().for_each(|line| telling.add(line.itself()));
    for line in &mut lines {
        line.fit *= 1.0 + UNUSUAL * telling.of(line.itself());
    }
    lines.sort_by(|a, b| b.score().total_cmp(&a.score()));
    lines.truncate(most);
    lines
}

/// Whether the entry belongs to the search as a whole, as far as its first bytes tell.
fn secondary(candidate: &Candidate, scope: &Scope) -> Belongs {
    let head = &candidate.line[..candidate.line.len().min(600)];
    let named = |key: &str| {
        let at = memchr::memmem::find(head, key.as_bytes())? + key.len();
        let rest = &head[at..];
        std::str::from_utf8(&rest[..memchr::memchr(b'"', rest)?]).ok()
    };
    match (candidate.kind, candidate.role) {
        (Kind::Compaction, _) => {
            scope.belongs(SectionKind::Summary, None, Some(Secondary::Summary))
        }
        (_, Role::ToolResult) => match named("\"toolName\":\"") {
            Some(tool) if TOOLS.contains(&tool) => {
                scope.belongs(SectionKind::ToolResult, Some(tool), Some(Secondary::Recovery))
            }
            _ => Belongs::Yes,
        },
        (Kind::CustomMessage, _) | (_, Role::Custom) => match named("\"customType\":\"") {
            Some(name) if name.starts_with(super::readable::MANAGED_PREFIX) => {
                scope.belongs(SectionKind::Custom, None, Some(Secondary::Reminder))
            }
            _ => Belongs::Yes,
        },
        _ => Belongs::Yes,
    }
}

#[derive(PartialEq)]
struct Score(f64);

impl Eq for Score {}
impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Score {
    fn cmp(&self, other: &Score) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// What each term is worth, and how long an entry is on average, in words.
struct Scale {
    weights: Vec<f64>,
    average: f64,
}

impl Scale {
    /// One line with all the terms tells more than many lines with one each.
    fn line(&self, shares: &[f64]) -> f64 {
        let sum: f64 = shares.iter().zip(&self.weights).map(|(share, weight)| share * weight).sum();
        sum * (1.0 + shares.iter().sum::<f64>() / self.weights.len() as f64)
    }

    fn entry(&self, counts: &[f64], length: f64) -> f64 {
        let long = 1.0 - B + B * length / self.average;
        let part =
            |(count, weight): (&f64, &f64)| weight * count * (K1 + 1.0) / (count + K1 * long);
        counts.iter().zip(&self.weights).map(part).sum::<f64>() * ENTRY
    }

    /// No entry with these terms has a higher score (before the unusual ones are favoured).
    fn bound(&self, mask: u64) -> f64 {
        let shares: Vec<f64> = (0..self.weights.len()).map(|at| (mask >> at & 1) as f64).collect();
        let most: f64 =
            shares.iter().zip(&self.weights).map(|(share, weight)| share * weight).sum();
        self.line(&shares) * PHRASE + most * (K1 + 1.0) * ENTRY
    }
}

/// A line as grep shows it.
struct Ranked {
    text: String,
    /// Where the line itself begins in it.
    line: usize,
    /// How well the line fits, and what its entry counts beside it.
    fit: f64,
    base: f64,
}

impl Ranked {
    fn score(&self) -> f64 {
        self.fit + self.base
    }

    fn itself(&self) -> &str {
        &self.text[self.line..]
    }
}

/// The best lines of an entry, best first.
fn ranked(entry: &EntryText, scope: &Scope, terms: &Terms, scale: &Scale) -> Vec<Ranked> {
    let mut counts = vec![0.0; terms.words.len()];
    let mut length = 0;
    let mut best: Vec<(f64, usize, &Section, &str, Range<usize>)> = Vec::new();
    for (first, section) in entry.numbered() {
        if scope.of(section) != Belongs::Yes {
            continue;
        }
        length += section.text.len();
        each_line_with(&terms.any, &section.text, |breaks, line| {
            let Some((fit, at)) = fit(line, terms, scale, &mut counts) else { return };
            let worst = best.last().map_or(0.0, |worst| worst.0);
            let full = best.len() >= LINES_PER_ENTRY;
            if (full && fit <= worst) || best.iter().any(|other| other.3 == line) {
                return;
            }
            if full {
                best.pop();
            }
            best.push((fit, first + breaks, section, line, at));
            // Stable: of equal lines the earlier one.
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
        });
    }
    let base = scale.entry(&counts, length as f64 / WORD);
    best.into_iter()
        .map(|(fit, number, section, text, at)| {
            let (text, line) = row(entry, section, number, 1, &around(text, &at, LINE));
            Ranked { text, line, fit, base }
        })
        .collect()
}

/// Hands over each line that has one of the texts, with the number of line breaks before it.
fn each_line_with<'t>(any: &Sieve, text: &'t str, mut take: impl FnMut(usize, &'t str)) {
    let mut places = any.places(text);
    let (mut start, mut breaks) = (0, 0);
    while let Some(place) = places.from(start) {
        let skipped = &text[start..place];
        breaks += line_breaks(skipped);
        start += skipped.rfind('\n').map_or(0, |at| at + 1);
        let end = text[place..].find('\n').map_or(text.len(), |at| place + at);
        take(breaks, without_return(&text[start..end]));
        start = end + 1;
        breaks += 1;
    }
}

/// How well a line fits, or the best part of a long one, and where that part is. Adds up how
/// often each term stands in it.
fn fit(
    line: &str,
    terms: &Terms,
    scale: &Scale,
    counts: &mut [f64],
) -> Option<(f64, Range<usize>)> {
    let mut places: Vec<(usize, usize, f64)> = Vec::new();
    words(line, |at, word| {
        terms.take(&word, |term, share| {
            counts[term] += share;
            if places.len() < MAX_PLACES {
                places.push((at, term, share));
            }
        });
    });
    places.sort_by_key(|(at, ..)| *at);
    let mut best: Option<(f64, Range<usize>)> = None;
    let mut first = 0;
    for last in 0..places.len() {
        while places[last].0 - places[first].0 > LINE {
            first += 1;
        }
        let more_follow = places.get(last + 1).is_some_and(|next| next.0 - places[first].0 <= LINE);
        if more_follow {
            continue;
        }
        let mut shares = vec![0.0f64; terms.words.len()];
        for (_, term, share) in &places[first..=last] {
            shares[*term] = shares[*term].max(*share);
        }
        let score = scale.line(&shares);
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            best = Some((score, places[first].0..places[last].0));
        }
    }
    let (score, at) = best?;
    let phrase = terms.words.len() > 1 && line.to_lowercase().contains(&terms.phrase);
    Some((if phrase { score * PHRASE } else { score }, at))
}
