//! How well lines fit the terms of a ranked search.

use std::ops::Range;

use super::row::{around, row};
use super::sieve::Sieve;
use super::telling::{self, Telling, Words};
use super::terms::Terms;
use super::transcript::{Belongs, EntryText, Scope, Section, line_breaks, without_return};
use super::words::words;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What the whole of an entry counts beside its best line.
const ENTRY: f64 = 0.1;
/// What it counts, at most, that a line is unusual.
const UNUSUAL: f64 = 0.6;
/// What the words count for standing as they were asked for.
const PHRASE: f64 = 1.2;
/// Bytes of a word, on average.
const WORD: f64 = 6.0;
/// Lines of one entry, and characters of a line; words further apart do not stand together.
const LINES_PER_ENTRY: usize = 6;
const LINE: usize = 240;
/// Places of terms in one line that are looked at.
const MAX_PLACES: usize = 2_000;

/// What each term is worth, and how long an entry is on average, in words.
pub struct Scale {
    weights: Vec<f64>,
    average: f64,
}

impl Scale {
    /// `with` says in how many of the entries each term stands.
    pub fn new(with: &[usize], entries: usize, bytes: usize) -> Scale {
        let entries = entries as f64;
        let weight = |with: &usize| {
            let with = *with as f64;
            libm::log(1.0 + (entries - with + 0.5) / (with + 0.5))
        };
        Scale {
            weights: with.iter().map(weight).collect(),
            average: (bytes as f64 / entries.max(1.0) / WORD).max(1.0),
        }
    }

    /// One line with all the terms tells more than many lines with one each.
    fn line(&self, shares: &[f64]) -> f64 {
        let sum: f64 = shares.iter().zip(&self.weights).map(|(share, weight)| share * weight).sum();
        sum * (1.0 + shares.iter().sum::<f64>() / self.weights.len() as f64)
    }

    /// The terms that stand together at these places.
    fn places(&self, places: &[Place]) -> f64 {
        let mut shares = vec![0.0f64; self.weights.len()];
        for place in places {
            shares[place.term] = shares[place.term].max(place.share);
        }
        self.line(&shares)
    }

    fn entry(&self, counts: &[f64], length: f64) -> f64 {
        let long = 1.0 - B + B * length / self.average;
        let part =
            |(count, weight): (&f64, &f64)| weight * count * (K1 + 1.0) / (count + K1 * long);
        counts.iter().zip(&self.weights).map(part).sum::<f64>() * ENTRY
    }

    /// No entry with these terms has a higher score (before the unusual ones are favoured).
    pub fn bound(&self, mask: u64) -> f64 {
        let shares: Vec<f64> = (0..self.weights.len()).map(|at| (mask >> at & 1) as f64).collect();
        let most: f64 =
            shares.iter().zip(&self.weights).map(|(share, weight)| share * weight).sum();
        self.line(&shares) * PHRASE + most * (K1 + 1.0) * ENTRY
    }
}

/// A line as grep shows it.
pub struct Ranked {
    pub text: String,
    /// Where the line itself begins in it.
    line: usize,
    /// How well the line fits, and what its entry counts beside it.
    fit: f64,
    base: f64,
}

impl Ranked {
    pub fn score(&self) -> f64 {
        self.fit + self.base
    }

    fn itself(&self) -> &str {
        &self.text[self.line..]
    }
}

/// The best first; of lines with the same words, those that tell most.
pub fn arranged(mut lines: Vec<Ranked>, most: usize) -> Vec<Ranked> {
    let words: Vec<Words> = lines.iter().map(|line| telling::words(line.itself())).collect();
    let mut telling = Telling::default();
    words.iter().for_each(|words| telling.add(words));
    for (line, words) in lines.iter_mut().zip(&words) {
        line.fit *= 1.0 + UNUSUAL * telling.of(words);
    }
    lines.sort_by(|a, b| b.score().total_cmp(&a.score()));
    lines.truncate(most);
    lines
}

/// The best lines of an entry, best first.
pub fn ranked(entry: &EntryText, scope: &Scope, terms: &Terms, scale: &Scale) -> Vec<Ranked> {
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
            let (text, line) =
                row(&entry.id, &entry.tag(section), number, 1, &around(text, &at, LINE));
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

/// Where a term stands in a line.
struct Place {
    at: usize,
    end: usize,
    term: usize,
    share: f64,
}

/// The character border at or before a place: a word in lower case may be longer than it was.
fn floor(line: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

/// The parts of a line that can have terms in them, cut where words end: where one is spelled.
fn runs(line: &str, terms: &Terms) -> Vec<Range<usize>> {
    // Other letters have spellings that are not searched for.
    if !line.is_ascii() || !terms.are_ascii() {
        return std::iter::once(0..line.len()).collect();
    }
    let bytes = line.as_bytes();
    let is_of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let mut places = terms.any.places(line);
    let (mut runs, mut from) = (Vec::new(), 0);
    while let Some(place) = places.from(from) {
        let start = place - bytes[..place].iter().rev().take_while(is_of_word).count();
        from = place + bytes[place..].iter().take_while(is_of_word).count().max(1);
        runs.push(start..from);
    }
    runs
}

/// How well a line fits, or the best part of a long one, and where that part is. Adds up how
/// often each term stands in it.
fn fit(
    line: &str,
    terms: &Terms,
    scale: &Scale,
    counts: &mut [f64],
) -> Option<(f64, Range<usize>)> {
    let mut places: Vec<Place> = Vec::new();
    for run in runs(line, terms) {
        words(&line[run.clone()], |at, word, _| {
            let at = run.start + at;
            terms.take(word, |term, share| {
                counts[term] += share;
                if places.len() < MAX_PLACES {
                    places.push(Place { at, end: line.len().min(at + word.len()), term, share });
                }
            });
        });
    }
    places.sort_by_key(|place| place.at);
    let mut best: Option<(f64, &[Place])> = None;
    let mut first = 0;
    for last in 0..places.len() {
        while places[last].at - places[first].at > LINE {
            first += 1;
        }
        let more_follow =
            places.get(last + 1).is_some_and(|next| next.at - places[first].at <= LINE);
        if more_follow {
            continue;
        }
        let together = &places[first..=last];
        let score = scale.places(together);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, together));
        }
    }
    let (score, mut together) = best?;
    // What adds nothing at the edges need not be shown.
    while let [_, rest @ ..] = together
        && scale.places(rest) >= score
    {
        together = rest;
    }
    while let [rest @ .., _] = together
        && scale.places(rest) >= score
    {
        together = rest;
    }
    let start = together.first()?.at;
    let end = together.iter().map(|place| place.end).max()?;
    let at = floor(line, start)..floor(line, end);
    let phrase = terms.words.len() > 1 && line.to_lowercase().contains(&terms.phrase);
    Some((if phrase { score * PHRASE } else { score }, at))
}
