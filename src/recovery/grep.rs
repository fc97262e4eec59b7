//! `context_grep` with a pattern: every line of the history that matches. Few matches come with
//! their surroundings, more as one line each, newest entry first; where those do not fit one page,
//! the lines that tell most come on the first.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use super::arguments::GrepQuery;
use super::page::Pager;
use super::pattern::{Patience, Pattern, Skip, Spent};
use super::row::{LeftOut, around, row};
use super::telling::Telling;
use super::transcript::{
    Belongs, Candidate, EntryText, Section, Transcript, line_breaks, without_return,
};
use super::{Answer, Caller, SEARCH_PAGE};
use crate::error::Result;
use crate::session::EntryNo;
use crate::text::{counted, grouped};

/// Context around a match where none was asked for.
const BEFORE: usize = 2;
const AFTER: usize = 6;
/// Characters of a line in the short form, and with its surroundings.
const SHORT_LINE: usize = 240;
const LONG_LINE: usize = 600;
/// Lines that can be listed; of more, the newest.
const MAX_ROWS: usize = 20_000;

/// Every matching line, as rows of pages.
///
/// Errors: the session changed while it was read.
pub fn answer(
    transcript: &Transcript,
    query: &GrepQuery,
    pattern: &str,
    caller: Caller,
) -> Result<Answer> {
    let Some(compiled) = Pattern::new(pattern, query.case_sensitive) else {
        return Ok(Answer::nothing(
            "The pattern is too large to search for; use a part of it.".to_owned(),
        ));
    };
    let mut search = Search::new(query, &compiled);
    search.run(transcript)?;
    if search.lines == 0 {
        return Ok(Answer::nothing(search.title(pattern, "")));
    }
    let page = query.paging.page;
    if let Some(pager) = search.surroundings.take() {
        let title = search.title(pattern, "newest first");
        let (text, pages) = pager.finish();
        return Ok(super::page_of(transcript, title, text, page, pages, caller));
    }
    let most = query.max_matches.unwrap_or(usize::MAX);
    let (order, rows) = arranged(std::mem::take(&mut search.rows), most);
    search.listed = rows.len();
    let title = search.title(pattern, order);
    let (text, pages) = page_of_rows(&rows, page);
    Ok(super::page_of(transcript, title, text, page, pages, caller))
}

/// A longer line is read when it is its turn, so that several of them are not held at once.
const LARGE: usize = 2 << 20;

/// A matching line in its short form.
struct Row {
    text: String,
    /// Where the line itself begins in it.
    line: usize,
    /// Its place among all, newest first.
    order: usize,
    /// The match begins and ends where words do.
    whole: bool,
}

/// The rows as they are shown, and how to say it.
fn arranged(mut rows: Vec<Row>, most: usize) -> (&'static str, Vec<Row>) {
    let all: usize = rows.iter().map(|row| row.text.chars().count() + 1).sum();
    if all <= SEARCH_PAGE && rows.len() <= most {
        return ("newest first", rows);
    }
    let mut telling = Telling::default();
    rows.iter().for_each(|row| telling.add(&row.text[row.line..]));
    let mut ranked: Vec<(f64, Row)> = Vec::with_capacity(rows.len());
    let mut copies: HashMap<String, u32> = HashMap::new();
    for row in rows.drain(..) {
        // One of several equal lines stands for all of them.
        let line = &row.text[row.line..];
        let copy = copies.entry(line.to_owned()).or_default();
        // Who searches `for` hardly means `before`.
        let part = if row.whole { 0.0 } else { 0.5 };
        let tells = telling.of(line) - part - f64::from(*copy);
        *copy += 1;
        ranked.push((tells, row));
    }
    // Stable: of equal ones the newer first.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rows = ranked.into_iter().map(|(_, row)| row).take(most).collect();
    ("the most unusual lines first, newest first on a page", rows)
}

/// The rows of one page, newest first, and the number of pages.
fn page_of_rows(rows: &[Row], wanted: usize) -> (String, usize) {
    let (mut page, mut filled) = (1, 0);
    let mut shown: Vec<&Row> = Vec::new();
    for row in rows {
        let len = row.text.chars().count() + 1;
        if filled > 0 && filled + len > SEARCH_PAGE {
            page += 1;
            filled = 0;
        }
        filled += len;
        if page == wanted {
            shown.push(row);
        }
    }
    shown.sort_by_key(|row| row.order);
    let text = shown.into_iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join("\n");
    (text, page)
}

/// An entry, as far as it could be looked at before its turn.
enum Met {
    CannotMatch,
    Read(EntryText),
    Large(EntryNo),
}

struct Search<'q> {
    query: &'q GrepQuery,
    pattern: &'q Pattern,
    /// Matching lines, those that are not listed included.
    lines: usize,
    /// Without those that are equal to another one of their entry.
    different: usize,
    entries: usize,
    left_out: LeftOut,
    /// The entry at which patience ran out, if it did, counted from the newest.
    cut_short_after: Option<usize>,
    rows: Vec<Row>,
    /// Matching lines that are listed.
    listed: usize,
    /// `None` where they are of no use: more than a page that nobody asked for.
    surroundings: Option<Pager>,
}

/// One matching line of an entry.
struct Hit<'e> {
    number: usize,
    section: &'e Section,
    line: &'e str,
    at: Range<usize>,
    /// How often the same line stands in the entry.
    times: usize,
}

impl<'q> Search<'q> {
    fn new(query: &'q GrepQuery, pattern: &'q Pattern) -> Search<'q> {
        Search {
            query,
            pattern,
            lines: 0,
            different: 0,
            entries: 0,
            left_out: LeftOut::default(),
            cut_short_after: None,
            rows: Vec::new(),
            listed: 0,
            surroundings: Some(Pager::new(SEARCH_PAGE, query.paging.page)),
        }
    }

    fn run(&mut self, transcript: &Transcript) -> Result<()> {
        let mut patience = self.pattern.patience();
        let mut looked_at = 0;
        let (scope, pattern) = (&self.query.scope, self.pattern);
        let can_match = |candidate: &Candidate| {
            let sieve = pattern.sieve.as_ref();
            sieve.is_none_or(|sieve| sieve.lets_through(candidate.line, candidate.role))
        };
        transcript.map(
            |kind, role| scope.may_hold(kind, role),
            |candidate| {
                let is_large = candidate.line.len() > LARGE;
                let entry = match can_match(&candidate) {
                    false => Met::CannotMatch,
                    true if is_large => Met::Large(candidate.entry),
                    true => Met::Read(candidate.read()?),
                };
                Ok((candidate.line.len(), entry))
            },
            |(bytes, met)| {
                let in_time = match (patience.looked_at(bytes / 8), met) {
                    (Err(spent), _) => Err(spent),
                    (_, Met::CannotMatch) => Ok(()),
                    (_, Met::Read(entry)) => self.look_at(&entry, &mut patience),
                    (_, Met::Large(entry)) => self.look_at(&transcript.read(entry)?, &mut patience),
                };
                if in_time == Err(Spent) {
                    self.cut_short_after = Some(looked_at);
                    return Ok(ControlFlow::Break(()));
                }
                looked_at += 1;
                Ok(ControlFlow::Continue(()))
            },
        )
    }

    fn look_at(
        &mut self,
        entry: &EntryText,
        patience: &mut Patience,
    ) -> std::result::Result<(), Spent> {
        let mut hits: Vec<Hit> = Vec::new();
        // The first hit of each line of text.
        let mut same: HashMap<&str, usize> = HashMap::new();
        for (first, section) in entry.numbered() {
            let belongs = self.query.scope.of(section);
            if belongs == Belongs::No {
                continue;
            }
            each_match(self.pattern, &section.text, patience, |breaks, line, at| {
                if let Belongs::LeftOut(secondary) = belongs {
                    self.left_out.add(secondary);
                    return;
                }
                self.lines += 1;
                let hit = Hit { number: first + breaks, section, line, at, times: 1 };
                match same.get(line) {
                    Some(at) => hits[*at].times += 1,
                    None => {
                        same.insert(line, hits.len());
                        hits.push(hit);
                    }
                }
            })?;
        }
        if !hits.is_empty() {
            self.entries += 1;
            self.different += hits.len();
            self.list(entry, &hits);
        }
        Ok(())
    }

    fn list(&mut self, entry: &EntryText, hits: &[Hit]) {
        let explicit = self.query.before.is_some() || self.query.after.is_some();
        if !explicit {
            let room = MAX_ROWS.saturating_sub(self.rows.len());
            for hit in hits.iter().take(room) {
                let shown = around(hit.line, &hit.at, SHORT_LINE);
                let (text, line) = row(entry, hit.section, hit.number, hit.times, &shown);
                let whole = is_of_whole_words(hit.line, &hit.at);
                self.rows.push(Row { text, line, order: self.rows.len(), whole });
            }
        }
        let room = self.query.max_matches.unwrap_or(usize::MAX) - self.listed;
        if let Some(pager) = &mut self.surroundings {
            let header = entry.header();
            let shown = &hits[..hits.len().min(room)];
            if !shown.is_empty() {
                self.listed += shown.len();
                pager.push(
                    &format!("{header}\n{}", surroundings(entry, shown, self.query)),
                    &header,
                );
            }
            if !explicit && (pager.pages() > 1 || shown.len() < hits.len()) {
                self.surroundings = None;
            }
        }
    }

    fn title(&self, pattern: &str, order: &str) -> String {
        let mut title = match self.lines {
            0 => format!("No matches for {pattern:?}."),
            lines => format!(
                "{} of {pattern:?} in {}, {order}.",
                counted(lines, "matching line", "matching lines"),
                counted(self.entries, "entry", "entries")
            ),
        };
        let limit = self.query.max_matches.unwrap_or(MAX_ROWS);
        if self.lines > 0 && self.listed == limit && self.different > limit {
            title.push_str(&format!(" {} of them are listed.", grouped(limit as u64)));
        }
        if let Some(note) = self.left_out.note("matching line", "matching lines") {
            title.push(' ');
            title.push_str(&note);
        }
        if let Some(entries) = self.cut_short_after {
            title.push_str(&format!(
                " The search took too long and ended after the newest {}; narrow it with in or tool, or use a simpler pattern.",
                counted(entries, "entry", "entries")
            ));
        }
        if let Some(note) = &self.pattern.note {
            title.push(' ');
            title.push_str(note);
        }
        title
    }
}

/// Hands over each line of a text that matches: the line breaks before it, and where the match is.
fn each_match<'t>(
    pattern: &Pattern,
    text: &'t str,
    patience: &mut Patience,
    mut take: impl FnMut(usize, &'t str, Range<usize>),
) -> std::result::Result<(), Spent> {
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
            take(breaks, line, at);
        }
        start = end + 1;
        breaks += 1;
    }
    Ok(())
}

/// Whether a match begins and ends where words do.
fn is_of_whole_words(line: &str, at: &Range<usize>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let begins = !joins(line[..at.start].chars().next_back());
    let ends = !joins(line[at.end..].chars().next());
    begins && ends
}

/// The matching lines with the lines around them, inside the entry's borders; `>` marks a match.
fn surroundings(entry: &EntryText, hits: &[Hit], query: &GrepQuery) -> String {
    let (before, after) = (query.before.unwrap_or(BEFORE), query.after.unwrap_or(AFTER));
    let mut out = String::new();
    let mut next = hits.iter().peekable();
    let mut shown_to = 0;
    for line in entry.lines() {
        while next.peek().is_some_and(|hit| hit.number + after < line.number) {
            next.next();
        }
        let Some(hit) = next.peek() else { break };
        if line.number + before < hit.number {
            continue;
        }
        if shown_to + 1 < line.number && shown_to > 0 {
            out.push_str("  …\n");
        }
        shown_to = line.number;
        let is_hit = hits.binary_search_by_key(&line.number, |hit| hit.number);
        let (mark, at, times) = match is_hit {
            Ok(n) => ('>', hits[n].at.clone(), hits[n].times),
            Err(_) => (' ', 0..0, 1),
        };
        let times = if times > 1 { format!("(×{times}) ") } else { String::new() };
        let text = around(line.text, &at, LONG_LINE);
        out.push_str(&format!("{mark} {:>4}  {times}{text}\n", line.number));
    }
    out.pop();
    out
}
