//! `context_show_entry`: entries whole, in the order they were asked for.

use super::arguments::ShowQuery;
use super::page::Pager;
use super::transcript::Transcript;
use super::{Answer, Caller, ENTRY_PAGE};
use crate::error::Result;
use crate::text::visible;

/// The entries of those ids, whole; an id that there is not becomes a row that says so.
///
/// Errors: the session changed while it was read.
pub fn answer(transcript: &Transcript, query: &ShowQuery, caller: Caller) -> Result<Answer> {
    let mut pager = Pager::new(ENTRY_PAGE, query.paging.page);
    let mut missing = Vec::new();
    for id in &query.ids {
        match transcript.entry(id)? {
            None => missing.push(visible(id).replace('\n', "\\n")),
            Some(entry) => {
                let header = entry.header();
                let body = entry.body();
                let body = if entry.sections.is_empty() { "(nothing to show)" } else { &body };
                pager.push(&format!("{header}\n{body}\n"), &header);
            }
        }
    }
    let nothing = missing.len() == query.ids.len();
    let note = match missing.as_slice() {
        [] => String::new(),
        ids => format!(
            "No entry {} on this branch. A search or the list of entries names the ids there are.",
            ids.join(", ")
        ),
    };
    if nothing {
        return Ok(Answer { missing: missing.len(), ..Answer::nothing(note) });
    }
    let (text, pages) = pager.finish();
    let answer = super::page_of(transcript, note, text, query.paging.page, pages, caller);
    Ok(Answer { missing: missing.len(), ..answer })
}
