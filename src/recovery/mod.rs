//! Finding again what left the context: the raw branch as readable entries, listed, searched,
//! shown. Nothing is written to disk; each call reads the session anew.

mod arguments;
mod fit;
mod grep;
mod list;
mod literal;
pub mod lookup;
mod page;
mod pattern;
mod rank;
mod readable;
mod row;
mod show;
mod sieve;
mod telling;
mod terms;
pub mod transcript;
mod words;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::session::Branch;
use crate::text::counted;
pub use arguments::{BadArguments, Query};
pub use readable::readable;
pub use transcript::{EntryText, Scope, Section, SectionKind, Transcript};

/// The tools, by the name a model calls them.
pub const LIST: &str = "context_list_entries";
pub const GREP: &str = "context_grep";
pub const SHOW: &str = "context_show_entry";
pub const LOOKUP: &str = "context_lookup";
pub const TOOLS: [&str; 4] = [LIST, GREP, SHOW, LOOKUP];

/// Characters of a page of a listing or a search, and of shown entries.
pub const SEARCH_PAGE: usize = 12_000;
pub const ENTRY_PAGE: usize = 24_000;

/// What one search tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub found: bool,
    /// Ids that were asked for and are not there.
    pub missing: usize,
    /// The parameters of the next page.
    pub next: Option<Value>,
    pub page: usize,
    pub pages: usize,
}

/// Who reads an answer, for the hint how to get the next page.
#[derive(Debug, Clone, Copy)]
pub enum Caller<'c> {
    /// A model that knows the tool by this name.
    Model(&'c str),
    /// A person at a shell.
    Shell,
}

/// Answers one call of `context_list_entries`, `context_grep` or `context_show_entry`.
///
/// Errors: the session changed while it was read.
pub fn answer(
    branch: &Branch,
    tool: &str,
    arguments: &Map<String, Value>,
    caller: Caller,
) -> Result<std::result::Result<Answer, BadArguments>> {
    let query = match Query::read(tool, arguments) {
        Ok(query) => query,
        Err(bad) => return Ok(Err(bad)),
    };
    let transcript = match Transcript::through(branch, query.through_entry()) {
        Some(transcript) => transcript,
        None => {
            let text = "throughEntry names no entry of this branch; leave it out to start again from the newest entry.";
            return Ok(Err(BadArguments(text.to_owned())));
        }
    };
    Ok(Ok(match &query {
        Query::List(query) => list::answer(&transcript, query, caller)?,
        Query::Grep(query) => match &query.search {
            arguments::Search::Pattern(pattern) => {
                grep::answer(&transcript, query, pattern, caller)?
            }
            arguments::Search::Terms(terms) => {
                rank::answer(&transcript, query, &terms.join(" "), SEARCH_PAGE, caller)?
            }
        },
        Query::Show(query) => show::answer(&transcript, query, caller)?,
    }))
}

/// The entries that best fit a question, as one page.
///
/// Errors: the session changed while it was read.
pub fn ranked(branch: &Branch, question: &str, chars: usize) -> Result<Answer> {
    let query = arguments::GrepQuery::terms(question);
    match Transcript::through(branch, None) {
        Some(transcript) => {
            let first = rank::answer(&transcript, &query, question, chars, Caller::Shell)?;
            // There is no second page to turn to.
            let text = match first.text.rsplit_once("\n[page ") {
                Some((text, _)) if first.pages > 1 => text.to_owned(),
                _ => first.text.clone(),
            };
            Ok(Answer { text, next: None, ..first })
        }
        None => Ok(Answer::nothing("The branch is empty.".to_owned())),
    }
}

/// A page with its title, and how to get the next one.
fn page_of(
    transcript: &Transcript,
    title: String,
    text: String,
    page: usize,
    pages: usize,
    caller: Caller,
) -> Answer {
    if page > pages {
        let text =
            format!("There is no page {page}: the answer has {}.", counted(pages, "page", "pages"));
        return Answer { text, found: false, missing: 0, next: None, page, pages };
    }
    let mut out = title;
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text.trim_end_matches('\n'));
    let next =
        (page < pages).then(|| json!({ "page": page + 1, "throughEntry": transcript.pin() }));
    if pages > 1 {
        out.push_str(&format!("\n[page {page} of {pages}"));
        match (&next, caller) {
            (Some(next), Caller::Model(tool)) => {
                out.push_str(&format!("; next: {tool} with the same parameters and {next}"));
            }
            (Some(_), Caller::Shell) => {
                let pin = transcript.pin().unwrap_or_default();
                out.push_str(&format!("; next: --page {} --through-entry {pin}", page + 1));
            }
            (None, _) => {}
        }
        out.push(']');
    }
    Answer { text: out, found: true, missing: 0, next, page, pages }
}

impl Answer {
    fn nothing(text: String) -> Answer {
        Answer { text, found: false, missing: 0, next: None, page: 1, pages: 1 }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}
