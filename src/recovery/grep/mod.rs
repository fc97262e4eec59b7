//! `context_grep` with a pattern: every line of the history that matches. Few matches come with
//! their surroundings, more as one line each, newest entry first; where those do not fit one page,
//! the lines that tell most come on the first.

mod entry;
mod lines;
mod rows;
mod surroundings;

use std::ops::ControlFlow;

use super::arguments::GrepQuery;
use super::page::Pager;
use super::pattern::Pattern;
use super::row::LeftOut;
use super::transcript::{EntryText, Transcript};
use super::{Answer, Caller, SEARCH_PAGE};
use crate::error::Result;
use crate::text::{counted, grouped};
use entry::{Found, Hit, Look, Met};
use rows::{MAX_ROWS, Row};

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
    let (order, rows) = rows::arranged(std::mem::take(&mut search.rows), most);
    search.listed = rows.len();
    let title = search.title(pattern, order);
    let (text, pages) = rows::page_of(&rows, page);
    Ok(super::page_of(transcript, title, text, page, pages, caller))
}

struct Search<'q> {
    query: &'q GrepQuery,
    pattern: &'q Pattern,
    /// Matching lines, those that are not listed included.
    lines: usize,
    /// Without those that are equal to another one of their entry; fewer than there are, once so
    /// many are listed as can be.
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

    /// Lines with their surroundings were asked for.
    fn is_explicit(&self) -> bool {
        self.query.before.is_some() || self.query.after.is_some()
    }

    fn run(&mut self, transcript: &Transcript) -> Result<()> {
        let look = Look::new(self.query, self.pattern, !self.is_explicit());
        let mut looked_at = 0;
        transcript.map(
            |kind, role| self.query.scope.may_hold(kind, role),
            |candidate| look.candidate(&candidate),
            |met| {
                let found = match met {
                    Met::CannotMatch => Found::default(),
                    Met::Found(found) => found,
                    Met::Large(entry) => look.entry(transcript.read(entry)?),
                    Met::Spent => Found { is_cut_short: true, ..Found::default() },
                };
                let is_cut_short = found.is_cut_short;
                looked_at += usize::from(!is_cut_short || found.lines > 0);
                self.add(found, &look);
                if is_cut_short {
                    self.cut_short_after = Some(looked_at);
                    return Ok(ControlFlow::Break(()));
                }
                Ok(ControlFlow::Continue(()))
            },
        )
    }

    fn add(&mut self, found: Found, look: &Look) {
        self.lines += found.lines;
        self.different += found.different;
        self.entries += usize::from(found.lines > 0);
        self.left_out.add_all(&found.left_out);
        let room = MAX_ROWS - self.rows.len();
        self.rows.extend(found.rows.into_iter().take(room));
        if self.rows.len() == MAX_ROWS {
            look.without_rows();
        }
        if let Some((entry, hits)) = found.whole {
            self.surround(&entry, &hits);
        }
        if self.surroundings.is_none() {
            look.without_surroundings();
        }
    }

    fn surround(&mut self, entry: &EntryText, hits: &[Hit]) {
        let room = self.query.max_matches.unwrap_or(usize::MAX) - self.listed;
        let is_explicit = self.is_explicit();
        let Some(pager) = &mut self.surroundings else { return };
        let header = entry.header();
        let shown = &hits[..hits.len().min(room)];
        if !shown.is_empty() {
            self.listed += shown.len();
            let text = surroundings::of(entry, shown, self.query);
            pager.push(&format!("{header}\n{text}"), &header);
        }
        if !is_explicit && (pager.pages() > 1 || shown.len() < hits.len()) {
            self.surroundings = None;
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
