//! How often `context_lookup` may be tried before other work is done.

use crate::error::Result;
use crate::recovery::{LOOKUP, TOOLS};
use crate::session::{Block, Body, Branch, Detail, Kind, Role};

/// Failures in a row after which it is not tried again either.
const MAX_FAILURES: u64 = 3;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// The limit is used up.
    Blocked,
    /// It failed too often in a row.
    Failing,
}

/// Walks back from the leaf to the last other work: a user message, a command of the user, a result
/// of any tool but ours. Lookups on the way count, those that failed or had no model aside; of the
/// calls in the message of this one, those that come before it. `limit` 0 is none.
///
/// Errors: the session changed while it was read.
pub fn check(branch: &Branch, call_id: &str, limit: u64) -> Result<Verdict> {
    let session = branch.session;
    let mut answered: Vec<String> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for (_, entry) in branch.iter().rev() {
        if session.kind(entry) != Kind::Message {
            continue;
        }
        match session.role(entry) {
            Role::User | Role::BashExecution => break,
            Role::ToolResult => {
                let Body::ToolResult(result) = session.read(entry, Detail::Kept)?.body else {
                    continue;
                };
                if !TOOLS.contains(&result.tool_name.as_str()) {
                    break;
                }
                if result.tool_name == LOOKUP {
                    let Body::ToolResult(result) = session.read(entry, Detail::All)?.body else {
                        continue;
                    };
                    match result.status.as_deref() {
                        // A blocked call says nothing about the lookup itself.
                        Some("blocked") => failed.push(result.call_id.clone()),
                        Some("answered" | "partial") => answered.push(result.call_id),
                        _ => failed.push(result.call_id),
                    }
                }
            }
            Role::Assistant => {
                let Body::Assistant(message) = session.read(entry, Detail::Kept)?.body else {
                    continue;
                };
                let calls = message.content.iter().filter_map(|block| match block {
                    Block::ToolCall(call) => Some(call),
                    _ => None,
                });
                for call in
                    calls.take_while(|call| call.id != call_id).filter(|call| call.name == LOOKUP)
                {
                    if !answered.contains(&call.id) && !failed.contains(&call.id) {
                        answered.push(call.id.clone());
                    }
                }
            }
            _ => {}
        }
    }
    if limit > 0 && answered.len() as u64 >= limit {
        return Ok(Verdict::Blocked);
    }
    Ok(if failed.len() as u64 >= MAX_FAILURES { Verdict::Failing } else { Verdict::Go })
}
