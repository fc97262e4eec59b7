//! `context_list_entries`: one row an entry, oldest first.

use super::arguments::ListQuery;
use super::page::Pager;
use super::transcript::{Belongs, EntryText, Scope, SectionKind, Transcript};
use super::{Answer, LIST, SEARCH_PAGE};
use crate::error::Result;
use crate::text::{clip, counted};

/// Characters of an entry's text that its row shows.
const PREVIEW: usize = 90;

pub fn answer(transcript: &Transcript, query: &ListQuery) -> Result<Answer> {
    let mut pager = Pager::new(SEARCH_PAGE, query.paging.page);
    let mut rows = 0;
    let everything = query.scope == Scope::default();
    for entry in transcript.entries() {
        let entry = entry?;
        let asked = |section| query.scope.of(section) != Belongs::No;
        if everything || entry.sections.iter().any(asked) {
            rows += 1;
            pager.push(&row(&entry), "");
        }
    }
    let (text, pages) = pager.finish();
    if rows == 0 {
        return Ok(Answer::nothing("No entries.".to_owned()));
    }
    let title = format!("{}, oldest first:", counted(rows, "entry", "entries"));
    Ok(super::page_of(transcript, title, text, query.paging.page, pages, LIST))
}

fn row(entry: &EntryText) -> String {
    let (thinking, rest): (Vec<_>, Vec<_>) =
        entry.sections.iter().partition(|section| section.kind == SectionKind::Thinking);
    let preview = rest.into_iter().chain(thinking).flat_map(|section| section.text.lines());
    let preview = preview.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let space = if preview.is_empty() { "" } else { "  " };
    format!("{}  {}  {}{space}{}", entry.id, entry.timestamp, entry.what, clip(preview, PREVIEW))
}
