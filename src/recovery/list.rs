//! `context_list_entries`: one row an entry, oldest first. A page has a fixed number of rows, so
//! that only the entries on it are read.

use std::ops::ControlFlow;

use super::arguments::ListQuery;
use super::transcript::{Belongs, EntryText, Scope, SectionKind, Transcript};
use super::{Answer, Caller, SEARCH_PAGE};
use crate::error::Result;
use crate::session::{EntryNo, Role};
use crate::text::{clip, counted, visible};

/// Characters of an entry's text that its row shows, and of what the entry is.
const PREVIEW: usize = 80;
const WHAT: usize = 40;
/// `2026-11-30T16:50:27`
const TIME: usize = 19;
/// Those of a row beside the id: the columns, what lies between them, two ellipses, the line break.
const REST: usize = TIME + WHAT + PREVIEW + 9;

/// The entries, oldest first.
///
/// Errors: the session changed while it was read.
pub fn answer(transcript: &Transcript, query: &ListQuery, caller: Caller) -> Result<Answer> {
    let chosen = match query.scope == Scope::default() {
        true => None,
        false => Some(chosen(transcript, &query.scope)?),
    };
    let rows = chosen.as_ref().map_or(transcript.len(), Vec::len);
    if rows == 0 {
        return Ok(Answer::nothing("No entries.".to_owned()));
    }
    let per_page = (SEARCH_PAGE / (REST + transcript.longest_id())).max(1);
    let page = query.paging.page;
    let first = (page - 1).saturating_mul(per_page).min(rows);
    let mut text = String::new();
    for row in first..rows.min(first.saturating_add(per_page)) {
        let entry = match &chosen {
            Some(chosen) => chosen.get(row).copied(),
            None => transcript.at(row).map(|(entry, ..)| entry),
        };
        if let Some(entry) = entry {
            text.push_str(&self::row(&transcript.read(entry)?));
            text.push('\n');
        }
    }
    let title = format!("{}, oldest first:", counted(rows, "entry", "entries"));
    Ok(super::page_of(transcript, title, text, page, rows.div_ceil(per_page), caller))
}

/// The entries that have a section of this scope, oldest first.
fn chosen(transcript: &Transcript, scope: &Scope) -> Result<Vec<EntryNo>> {
    let mut chosen = Vec::new();
    transcript.map(
        |kind, role| scope.may_hold(kind, role),
        |candidate| {
            // Whatever is of the right role has only one kind of text, those of a model aside.
            let sure = scope.tool.is_none() && candidate.role != Role::Assistant;
            let has = |entry: &EntryText| {
                entry.sections.iter().any(|section| scope.of(section) != Belongs::No)
            };
            let is_chosen = sure || (scope.may_name(candidate.line) && has(&candidate.read()?));
            Ok(is_chosen.then_some(candidate.entry))
        },
        |entry| {
            chosen.extend(entry);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    chosen.reverse();
    Ok(chosen)
}

fn row(entry: &EntryText) -> String {
    let (thinking, rest): (Vec<_>, Vec<_>) =
        entry.sections.iter().partition(|section| section.kind == SectionKind::Thinking);
    let first = rest.into_iter().chain(thinking).find_map(|section| {
        let line = section.text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let call = section.kind == SectionKind::ToolCall;
        let call = if call { format!("{}: ", entry.tag(section)) } else { String::new() };
        // The escapes of what is invisible take room too.
        Some(clip(&visible(&clip(&format!("{call}{line}"), PREVIEW)), PREVIEW).into_owned())
    });
    let preview = first.unwrap_or_default();
    let space = if preview.is_empty() { "" } else { "  " };
    let time: String = entry.timestamp.chars().take(TIME).collect();
    format!("{}  {time}  {}{space}{preview}", entry.id, clip(&entry.what, WHAT))
}
