//! The checkpoint that the model wrote: the newest call of its tool that succeeded. The call is in
//! the session, so it goes wherever the branch goes: fork, tree, resume.

use super::{DETAILS_KIND, TEXT_CHARS, TOOL};
use crate::error::Result;
use crate::json::Fields;
use crate::session::projection::{self, Edits};
use crate::session::{Block, Body, Branch, Detail, Kind, Role, ToolCall};
use crate::text::beginning;

/// A result of the tool is short; a longer line is another tool's.
const RESULT_BYTES: u64 = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// At most [`TEXT_CHARS`] characters.
    pub text: String,
    /// Characters that the call had.
    pub chars: usize,
    /// The message with the call.
    pub entry: String,
    /// Time of that message, ISO 8601.
    pub at: String,
    /// The first position that it does not cover: its own results and those of the calls beside it
    /// are known to its writer only later, but are of the same step.
    pub end: usize,
}

/// The newest one on the branch.
///
/// Errors: the session changed while it was read.
pub fn newest(branch: &Branch) -> Result<Option<Written>> {
    let session = branch.session;
    let edits = projection::edits(branch, 0, branch.len())?;
    let mut position = branch.len();
    while position > 0 {
        position -= 1;
        let Some(entry) = branch.get(position) else {
            continue;
        };
        if session.kind(entry) == Kind::Compaction {
            // A compaction of this method knows which call was the newest then.
            match noted(branch, position)? {
                Some(None) => return Ok(None),
                // From there the search goes on: the step's results say which call succeeded.
                Some(Some(call)) => {
                    let message = branch.position(&call).filter(|at| *at < position);
                    position = message.map_or(position, |at| end_of_step(branch, at));
                }
                None => {}
            }
            continue;
        }
        if session.role(entry) == Role::ToolResult
            && session.mentions(entry, TOOL.as_bytes(), RESULT_BYTES)?
            && let Some(written) = at_result(branch, position, &edits)?
        {
            return Ok(Some(written));
        }
    }
    Ok(None)
}

/// What the details of a compaction of this method say: `Some(None)` is that there was no call.
fn noted(branch: &Branch, position: usize) -> Result<Option<Option<String>>> {
    let Some(entry) = branch.get(position) else {
        return Ok(None);
    };
    let Body::Compaction(compaction) = branch.session.read(entry, Detail::Kept)?.body else {
        return Ok(None);
    };
    let details = compaction.details.unwrap_or_default();
    let details = Fields::parse(&details)
        .filter(|details| details.string("kind").as_deref() == Some(DETAILS_KIND));
    Ok(details.map(|details| details.string("call")))
}

fn at_result(branch: &Branch, position: usize, edits: &Edits) -> Result<Option<Written>> {
    let session = branch.session;
    let omitted =
        |at: usize| branch.get(at).is_some_and(|entry| matches!(edits.get(&entry), Some(None)));
    let Some(entry) = branch.get(position).filter(|_| !omitted(position)) else {
        return Ok(None);
    };
    let Body::ToolResult(result) = session.read(entry, Detail::Kept)?.body else {
        return Ok(None);
    };
    if result.tool_name != TOOL || result.is_error != Some(false) {
        return Ok(None);
    }
    let is_assistant = |(_, entry): &(usize, _)| session.role(*entry) == Role::Assistant;
    let Some((message, _)) = branch.iter().take(position).rev().find(is_assistant) else {
        return Ok(None);
    };
    if omitted(message) {
        return Ok(None);
    }
    of_call(branch, message, &|call| call.id == result.call_id)
}

/// The call of a message whose result is not on the branch yet, by its id.
///
/// Errors: the session changed while it was read.
pub fn in_flight(branch: &Branch, call_id: &str) -> Result<Option<Written>> {
    let session = branch.session;
    let messages = branch.iter().rev().filter(|(_, e)| session.role(*e) == Role::Assistant);
    match messages.map(|(position, _)| position).next() {
        Some(message) => of_call(branch, message, &|call| call.id == call_id),
        None => Ok(None),
    }
}

/// The newest call in a message.
///
/// Errors: the session changed while it was read.
pub fn of_message(branch: &Branch, message: usize) -> Result<Option<Written>> {
    of_call(branch, message, &|_| true)
}

fn of_call(
    branch: &Branch,
    message: usize,
    is_wanted: &dyn Fn(&ToolCall) -> bool,
) -> Result<Option<Written>> {
    let session = branch.session;
    let Some(entry) = branch.get(message) else {
        return Ok(None);
    };
    let read = session.read(entry, Detail::Kept)?;
    let Body::Assistant(assistant) = read.body else {
        return Ok(None);
    };
    let calls = assistant.content.into_iter().filter_map(|block| match block {
        Block::ToolCall(call) if call.name == TOOL && is_wanted(&call) => text_of(&call),
        _ => None,
    });
    let Some(text) = calls.last() else {
        return Ok(None);
    };
    let chars = text.chars().count();
    Ok(Some(Written {
        text: beginning(&text, TEXT_CHARS).to_owned(),
        chars,
        entry: session.id(entry).to_owned(),
        at: read.timestamp.unwrap_or_default(),
        end: end_of_step(branch, message),
    }))
}

/// The text of a call, `None` where it has none.
fn text_of(call: &ToolCall) -> Option<String> {
    let text = Fields::parse(&call.arguments)?.string("text")?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The position behind the results that directly follow a message.
pub fn end_of_step(branch: &Branch, message: usize) -> usize {
    let session = branch.session;
    let mut end = message + 1;
    for (position, entry) in branch.iter().skip(message + 1) {
        match session.kind(entry) {
            Kind::Message if session.role(entry) == Role::ToolResult => end = position + 1,
            Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction => break,
            _ => {}
        }
    }
    end
}
