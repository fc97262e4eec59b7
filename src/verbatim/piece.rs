//! What one entry contributes to a span, told from the entry alone: which texts, which calls, which
//! result. Outcomes and repetitions are seen when the pieces meet (see [`super::span`]).

use super::item::ItemKind;
use super::signature::{ARGUMENT_CHARS, signature};
use crate::json::Fields;
use crate::session::estimate;
use crate::session::files::{self, Operation};
use crate::session::pairing::Outcome;
use crate::session::paths::abbreviate_cwd;
use crate::session::{Assistant, Bash, Block, Body, Entry, EntryNo, ToolCall, ToolResult};
use crate::text::{byte_size, clip, escape_metadata};

/// Custom types whose messages are ours and are made anew: they leave no line.
pub const MANAGED_PREFIX: &str = "stet.";

pub struct Piece {
    pub entry: EntryNo,
    /// As the session has it.
    pub timestamp: Option<String>,
    /// Estimated tokens that it took in the context.
    pub tokens: u64,
    pub parts: Vec<Part>,
}

pub enum Part {
    Text(ItemKind, String),
    /// Calls with nothing between them.
    Calls(Vec<Repeated>),
    Result {
        call_id: String,
        tool_name: String,
        is_error: Option<bool>,
    },
    /// What a script inside a tool did to a file, and whether it failed.
    Nested(Operation, String, bool),
}

/// A call and how often it was made: one repeated with nothing in between is shown once. The whole
/// call counts, since different calls can have one signature.
pub struct Repeated {
    pub call: ToolCall,
    pub signature: String,
    pub operation: Option<(Operation, String)>,
    /// The ids of all of them, in order.
    pub ids: Vec<String>,
}

impl Repeated {
    pub fn is_of(&self, call: &ToolCall) -> bool {
        self.call.name == call.name && self.call.arguments == call.arguments
    }
}

impl Piece {
    /// `None` if the entry is no message of a span: the prompt stays, our own messages come back, a
    /// `!!` command never was in the context.
    pub fn of(entry: EntryNo, id: &str, line_bytes: u64, read: Entry, cwd: &str) -> Option<Piece> {
        let tokens = tokens(&read.body, line_bytes);
        let parts = match read.body {
            Body::User(content) => user(id, &content),
            Body::Assistant(message) => assistant(id, message, cwd),
            Body::ToolResult(result) => self::result(result, cwd),
            Body::Bash(bash) if bash.excluded => return None,
            Body::Bash(bash) => vec![self::bash(id, &bash, cwd)],
            Body::Custom { custom_type, .. } if custom_type.starts_with(MANAGED_PREFIX) => {
                return None;
            }
            Body::Custom { custom_type, .. } => {
                let name = clip(&custom_type, ARGUMENT_CHARS);
                let name = escape_metadata(&name);
                let text = format!("[Custom]: {name} [content removed {id}]");
                vec![Part::Text(ItemKind::Custom, text)]
            }
            Body::BranchSummary { summary } => {
                vec![Part::Text(ItemKind::BranchSummary, format!("[Branch summary]: {summary}"))]
            }
            _ => return None,
        };
        Some(Piece { entry, timestamp: read.timestamp, tokens, parts })
    }
}

/// Bytes of a line that are no content: names, ids, times; with an answer also the usage.
const RESULT_FRAME_BYTES: u64 = 260;
const ANSWER_FRAME_BYTES: u64 = 640;

/// Estimated tokens of a message. What was passed over without being read (outputs, thinking) is
/// reckoned by the bytes of the line.
fn tokens(body: &Body, line_bytes: u64) -> u64 {
    let by_line = |frame: u64| line_bytes.saturating_sub(frame) / 4;
    match body {
        Body::ToolResult(_) | Body::Bash(_) => by_line(RESULT_FRAME_BYTES),
        Body::Assistant(message)
            if message.content.iter().any(|block| matches!(block, Block::Thinking(_))) =>
        {
            by_line(ANSWER_FRAME_BYTES).max(estimate::tokens(body))
        }
        body => estimate::tokens(body),
    }
}

fn user(id: &str, content: &[Block]) -> Vec<Part> {
    let parts: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Image { mime_type, bytes } => Some(image_note(mime_type, *bytes, id)),
            Block::Thinking(_) | Block::ToolCall(_) => None,
        })
        .collect();
    if parts.iter().all(|part| part.trim().is_empty()) {
        return Vec::new();
    }
    vec![Part::Text(ItemKind::User, format!("[User]: {}", parts.join("\n")))]
}

fn assistant(id: &str, message: Assistant, cwd: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut prose: Vec<String> = Vec::new();
    let mut calls: Vec<Repeated> = Vec::new();
    for block in message.content {
        match block {
            Block::Text(text) => {
                flush_calls(&mut parts, &mut calls);
                prose.push(text);
            }
            Block::ToolCall(mut call) => {
                flush_prose(&mut parts, &mut prose);
                let id = std::mem::take(&mut call.id);
                match calls.last_mut().filter(|last| last.is_of(&call)) {
                    Some(last) => last.ids.push(id),
                    None => {
                        let arguments = Fields::parse(&call.arguments);
                        let signature = signature(&call, arguments.as_ref(), cwd);
                        let operation =
                            arguments.and_then(|a| files::of_arguments(&call.name, &a, cwd));
                        calls.push(Repeated { signature, operation, call, ids: vec![id] });
                    }
                }
            }
            Block::Thinking(_) | Block::Image { .. } => {}
        }
    }
    flush_prose(&mut parts, &mut prose);
    flush_calls(&mut parts, &mut calls);
    let mark = message.stop_reason.as_deref();
    if let Some(mark @ ("aborted" | "error" | "length")) = mark {
        let text = format!("[Assistant message ended: {mark} {id}]");
        parts.push(Part::Text(ItemKind::Ended, text));
    }
    parts
}

fn flush_prose(parts: &mut Vec<Part>, prose: &mut Vec<String>) {
    if prose.iter().any(|text| !text.trim().is_empty()) {
        let text = format!("[Assistant]: {}", prose.join("\n"));
        parts.push(Part::Text(ItemKind::Assistant, text));
    }
    prose.clear();
}

fn flush_calls(parts: &mut Vec<Part>, calls: &mut Vec<Repeated>) {
    if !calls.is_empty() {
        parts.push(Part::Calls(std::mem::take(calls)));
    }
}

fn result(result: ToolResult, cwd: &str) -> Vec<Part> {
    let nested: Vec<Part> = result
        .nested_calls
        .iter()
        .filter_map(|call| {
            let (operation, path) = files::of_nested_call(call, cwd)?;
            Some(Part::Nested(operation, path, call.failed))
        })
        .collect();
    let ToolResult { call_id, tool_name, is_error, .. } = result;
    let mut parts = vec![Part::Result { call_id, tool_name, is_error }];
    parts.extend(nested);
    parts
}

fn bash(id: &str, bash: &Bash, cwd: &str) -> Part {
    let outcome = match bash.exit_code {
        Some(_) if bash.cancelled => Outcome::Unknown,
        Some(0.0) => Outcome::Ok,
        Some(_) => Outcome::Error,
        None => Outcome::Unknown,
    };
    // The entry holds command and output alike, so it is named whatever the outcome.
    let label = label(outcome, Some(id));
    let command = abbreviate_cwd(&bash.command, cwd);
    let command = escape_metadata(&command);
    Part::Text(ItemKind::Bash, format!("[User bash]: $ {command} {label}"))
}

/// `[ok 9f3c2a1b]`: the outcome and the entry that holds the output.
pub fn label(outcome: Outcome, entry: Option<&str>) -> String {
    match entry {
        Some(entry) => ["[", outcome.label(), " ", entry, "]"].concat(),
        None => ["[", outcome.label(), "]"].concat(),
    }
}

fn image_note(mime_type: &str, bytes: u64, entry: &str) -> String {
    let kind = clip(mime_type, ARGUMENT_CHARS);
    let kind = escape_metadata(&kind);
    format!("[image {kind}, {}, entry {entry}]", byte_size(bytes))
}
