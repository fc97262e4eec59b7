//! `context_grep` with terms: the lines that fit best, by BM25 over words, paths and identifiers. A
//! first pass tells from the bytes which entries have which terms; only those that can be among the
//! best are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use super::arguments::GrepQuery;
use super::fit::{Ranked, Scale, arranged, ranked};
use super::page::Pager;
use super::pattern::Patience;
use super::row::LeftOut;
use super::terms::Terms;
use super::transcript::{Belongs, Candidate, Scope, Secondary, SectionKind, Transcript};
use super::{Answer, Caller, TOOLS};
use crate::error::Result;
use crate::session::{EntryNo, Kind, Role};
use crate::text::counted;

/// Lines listed at most, lines kept for each of them, bytes of entries that are read for them.
const LISTED: usize = 400;
const KEPT: usize = 40;
const READ: usize = 24 << 20;

/// The entries that fit the words best, best first.
///
/// Errors: the session changed while it was read.
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
        transcript.map(
            |kind, role| query.scope.may_hold(kind, role),
            |candidate| Ok(Met::of(&candidate, &query.scope, terms)),
            |met| {
                met.into_iter().for_each(|met| found.add(&met));
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(found)
    }

    fn add(&mut self, met: &Met) {
        if let Belongs::LeftOut(secondary) = met.belongs {
            if met.mask != 0 {
                self.left_out.add(secondary, 1);
            }
            return;
        }
        self.looked_at += 1;
        self.bytes += met.bytes;
        if met.mask != 0 {
            self.candidates.push((met.entry, met.mask));
            for (at, count) in self.entries_with.iter_mut().enumerate() {
                *count += usize::from(met.mask >> at & 1 == 1);
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
        let scale = Scale::new(&self.entries_with, self.looked_at, self.bytes);
        let mut order: Vec<(f64, EntryNo)> =
            self.candidates.iter().map(|(entry, mask)| (scale.bound(*mask), *entry)).collect();
        // Stable: of equal ones the newer first.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));

        let mut best = Best::new(query.max_matches.unwrap_or(LISTED).min(LISTED));
        let mut patience = Patience::new();
        let (mut read, mut in_time) = (0, true);
        let mut bounds = order.iter().map(|(bound, _)| *bound);
        transcript.map_entries(
            order.iter().map(|(_, entry)| *entry),
            |candidate| {
                let entry = candidate.read()?;
                let length: usize = entry.sections.iter().map(|section| section.text.len()).sum();
                Ok((length, ranked(&entry, &query.scope, terms, &scale)))
            },
            |(length, lines)| {
                if bounds.next().is_none_or(|bound| best.is_over(bound)) {
                    return Ok(ControlFlow::Break(()));
                }
                read += length;
                if read > READ || patience.looked_at(length).is_err() {
                    in_time = false;
                    return Ok(ControlFlow::Break(()));
                }
                best.add(lines);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok((arranged(best.lines, best.most), in_time))
    }
}

/// The best lines of the entries so far.
struct Best {
    most: usize,
    lines: Vec<Ranked>,
    /// The best line of each of the best entries, the worst on top.
    scores: BinaryHeap<Reverse<Score>>,
}

impl Best {
    fn new(most: usize) -> Best {
        Best { most, lines: Vec::new(), scores: BinaryHeap::new() }
    }

    /// No entry of this bound can be among the best.
    fn is_over(&self, bound: f64) -> bool {
        let worst = self.scores.peek().filter(|_| self.scores.len() >= self.most);
        worst.is_some_and(|Reverse(worst)| worst.0 >= bound)
    }

    fn add(&mut self, lines: Vec<Ranked>) {
        if let Some(top) = lines.first() {
            self.scores.push(Reverse(Score(top.score())));
        }
        self.lines.extend(lines);
        if self.scores.len() > self.most {
            self.scores.pop();
        }
        // Those that fell far behind need not be kept.
        if self.lines.len() > 2 * self.most * KEPT {
            self.lines.sort_by(|a, b| b.score().total_cmp(&a.score()));
            self.lines.truncate(self.most * KEPT);
        }
    }
}

/// What the bytes of an entry tell.
struct Met {
    entry: EntryNo,
    belongs: Belongs,
    /// The bits of its terms.
    mask: u64,
    bytes: usize,
}

impl Met {
    /// `None` where it is not searched.
    fn of(candidate: &Candidate, scope: &Scope, terms: &Terms) -> Option<Met> {
        let belongs = secondary(candidate, scope);
        if belongs == Belongs::No || !scope.may_name(candidate.line) {
            return None;
        }
        let mask = terms.mask(candidate.line, candidate.role);
        Some(Met { entry: candidate.entry, belongs, mask, bytes: candidate.line.len() })
    }
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
