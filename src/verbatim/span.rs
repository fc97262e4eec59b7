//! A span derived from the raw entries: which items it has, which files its calls touched.

use super::item::{Item, ItemKind};
use super::signature::{ARGUMENT_CHARS, signature};
use crate::error::Result;
use crate::session::estimate;
use crate::session::files::{self, FileOperation, Operation};
use crate::session::pairing::{CallNo, Outcome, Pairing};
use crate::session::paths::abbreviate_cwd;
use crate::session::projection::Projection;
use crate::session::{Assistant, Bash, Block, Body, Detail, ToolCall};
use crate::text::{byte_size, clip, escape_metadata};

/// Custom types whose messages are ours and are made anew: they leave no line.
pub const MANAGED_PREFIX: &str = "stet.";

/// What one compaction takes out of the context.
#[derive(Debug, Default)]
pub struct Span {
    pub items: Vec<Item>,
    /// Ids of the first and last message entry, absent for an empty span.
    pub first: Option<String>,
    pub last: Option<String>,
    /// Their times, as the session has them.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Message entries of the span.
    pub entries: usize,
    pub operations: Vec<FileOperation>,
    /// Estimated tokens of what the span took in the context.
    pub tokens: u64,
}

/// Derives the span of the positions `range` of the branch, as the model saw them in `context`.
///
/// Errors: the session changed while it was read.
pub fn derive(context: &Projection, range: std::ops::Range<usize>, cwd: &str) -> Result<Span> {
    let mut builder = Builder { cwd, ..Builder::default() };
    for position in range {
        let Some(entry) = context.read(position, Detail::Kept)? else {
            continue;
        };
        let Some(number) = context.branch.get(position) else {
            continue;
        };
        let tokens = tokens(&entry.body, context.branch.session.line_bytes(number));
        let id = context.branch.session.id(number);
        // The prompt stays, our own messages come back, a `!!` command never was in the context.
        if builder.entry(id, entry.body) {
            builder.span.tokens += tokens;
            builder.seen(id, entry.timestamp);
        }
    }
    Ok(builder.finish())
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

#[derive(Default)]
struct Builder<'c> {
    cwd: &'c str,
    span: Span,
    drafts: Vec<Draft>,
    pairing: Pairing<String>,
    operations: Vec<(FileOperation, Option<CallNo>)>,
}

/// An item whose outcomes are not known until its results were met.
enum Draft {
    Done(Item),
    Calls { entry: String, calls: Vec<Repeated> },
}

/// A call and how often it was made: one repeated with nothing in between is shown once. The whole
/// call counts, since different calls can have one signature.
struct Repeated {
    call: ToolCall,
    calls: Vec<CallNo>,
}

impl Repeated {
    fn is_of(&self, call: &ToolCall) -> bool {
        self.call.name == call.name && self.call.arguments == call.arguments
    }
}

impl Builder<'_> {
    /// Whether the entry is a message of the span at all.
    fn entry(&mut self, id: &str, body: Body) -> bool {
        match body {
            Body::User(content) => self.user(id, &content),
            Body::Assistant(message) => self.assistant(id, &message),
            Body::ToolResult(result) => {
                self.pairing.result(
                    &result.call_id,
                    &result.tool_name,
                    result.is_error,
                    id.to_owned(),
                );
                for call in &result.nested_calls {
                    if let Some((operation, path)) = files::of_nested_call(call, self.cwd) {
                        self.operation(operation, path, id, call.failed, None);
                    }
                }
            }
            Body::Bash(bash) if bash.excluded => return false,
            Body::Bash(bash) => self.bash(id, &bash),
            Body::Custom { custom_type, .. } if custom_type.starts_with(MANAGED_PREFIX) => {
                return false;
            }
            Body::Custom { custom_type, .. } => {
                let name = escape_metadata(&clip(&custom_type, ARGUMENT_CHARS));
                self.push(ItemKind::Custom, id, format!("[Custom]: {name} [content removed {id}]"));
            }
            Body::BranchSummary { summary } => {
                self.push(ItemKind::BranchSummary, id, format!("[Branch summary]: {summary}"));
            }
            _ => return false,
        }
        true
    }

    fn seen(&mut self, id: &str, timestamp: Option<String>) {
        let span = &mut self.span;
        span.entries += 1;
        if span.first.is_none() {
            span.first = Some(id.to_owned());
            span.from.clone_from(&timestamp);
        }
        span.last = Some(id.to_owned());
        span.to = timestamp.or(span.to.take());
    }

    fn push(&mut self, kind: ItemKind, entry: &str, text: String) {
        self.drafts.push(Draft::Done(Item { kind, entry: entry.to_owned(), text }));
    }

    fn user(&mut self, id: &str, content: &[Block]) {
        let parts: Vec<String> = content
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.clone()),
                Block::Image { mime_type, bytes } => Some(image_note(mime_type, *bytes, id)),
                Block::Thinking(_) | Block::ToolCall(_) => None,
            })
            .collect();
        if parts.iter().any(|part| !part.trim().is_empty()) {
            self.push(ItemKind::User, id, format!("[User]: {}", parts.join("\n")));
        }
    }

    fn assistant(&mut self, id: &str, message: &Assistant) {
        let before = self.drafts.len();
        let mut prose: Vec<&str> = Vec::new();
        let mut calls: Vec<Repeated> = Vec::new();
        for block in &message.content {
            match block {
                Block::Text(text) => {
                    self.flush_calls(id, &mut calls);
                    prose.push(text);
                }
                Block::ToolCall(call) => {
                    self.flush_prose(id, &mut prose);
                    let number = self.pairing.call(&call.id, &call.name);
                    if let Some((operation, path)) = files::of_call(call, self.cwd) {
                        self.operation(operation, path, id, false, Some(number));
                    }
                    add_call(&mut calls, call, vec![number]);
                }
                Block::Thinking(_) | Block::Image { .. } => {}
            }
        }
        self.flush_prose(id, &mut prose);
        // A message of nothing but one call, the same as before it: only its outcome is new.
        let repeats = before == self.drafts.len() && self.joins_last(&calls);
        if repeats && let Some(Draft::Calls { calls: last, .. }) = self.drafts.last_mut() {
            for call in calls.drain(..) {
                add_call(last, &call.call, call.calls);
            }
        }
        self.flush_calls(id, &mut calls);
        let mark = message.stop_reason.as_deref();
        if let Some(mark @ ("aborted" | "error" | "length")) = mark {
            self.push(ItemKind::Ended, id, format!("[Assistant message ended: {mark} {id}]"));
        }
    }

    fn joins_last(&self, calls: &[Repeated]) -> bool {
        let Some(Draft::Calls { calls: last, .. }) = self.drafts.last() else {
            return false;
        };
        match (last.as_slice(), calls) {
            ([last], [call]) => last.is_of(&call.call),
            _ => false,
        }
    }

    fn flush_prose(&mut self, id: &str, prose: &mut Vec<&str>) {
        if prose.iter().any(|text| !text.trim().is_empty()) {
            self.push(ItemKind::Assistant, id, format!("[Assistant]: {}", prose.join("\n")));
        }
        prose.clear();
    }

    fn flush_calls(&mut self, id: &str, calls: &mut Vec<Repeated>) {
        if !calls.is_empty() {
            self.drafts.push(Draft::Calls { entry: id.to_owned(), calls: std::mem::take(calls) });
        }
    }

    fn bash(&mut self, id: &str, bash: &Bash) {
        let outcome = match bash.exit_code {
            Some(_) if bash.cancelled => Outcome::Unknown,
            Some(0.0) => Outcome::Ok,
            Some(_) => Outcome::Error,
            None => Outcome::Unknown,
        };
        // The entry holds command and output alike, so it is named whatever the outcome.
        let label = label(outcome, Some(id));
        let command = escape_metadata(&abbreviate_cwd(&bash.command, self.cwd));
        self.push(ItemKind::Bash, id, format!("[User bash]: $ {command} {label}"));
    }

    fn operation(
        &mut self,
        operation: Operation,
        path: String,
        entry: &str,
        failed: bool,
        call: Option<CallNo>,
    ) {
        let operation = FileOperation { operation, path, entry: entry.to_owned(), failed };
        self.operations.push((operation, call));
    }

    fn finish(self) -> Span {
        let Builder { mut span, cwd, drafts, pairing, operations, .. } = self;
        span.items = drafts.into_iter().map(|draft| finished(draft, &pairing, cwd)).collect();
        span.operations = operations
            .into_iter()
            .map(|(operation, call)| {
                let failed =
                    call.map_or(operation.failed, |c| pairing.outcome(c) == Outcome::Error);
                FileOperation { failed, ..operation }
            })
            .collect();
        span
    }
}

fn add_call(calls: &mut Vec<Repeated>, call: &ToolCall, numbers: Vec<CallNo>) {
    match calls.last_mut().filter(|last| last.is_of(call)) {
        Some(last) => last.calls.extend(numbers),
        None => calls.push(Repeated { call: call.clone(), calls: numbers }),
    }
}

fn finished(draft: Draft, pairing: &Pairing<String>, cwd: &str) -> Item {
    let (entry, calls) = match draft {
        Draft::Done(item) => return item,
        Draft::Calls { entry, calls } => (entry, calls),
    };
    let shown: Vec<String> = calls
        .into_iter()
        .map(|call| {
            call.calls.iter().fold(signature(&call.call, cwd), |mut text, number| {
                let pair = pairing.pair(*number);
                text.push(' ');
                text.push_str(&match pair {
                    Some((Outcome::Unknown, _)) | None => label(Outcome::Unknown, None),
                    Some((outcome, result)) => label(*outcome, Some(result)),
                });
                text
            })
        })
        .collect();
    let text = format!("[Assistant tool calls]: {}", shown.join("; "));
    Item { kind: ItemKind::Calls, entry, text }
}

/// `[ok 9f3c2a1b]`: the outcome and the entry that holds the output.
fn label(outcome: Outcome, entry: Option<&str>) -> String {
    match entry {
        Some(entry) => format!("[{} {entry}]", outcome.label()),
        None => format!("[{}]", outcome.label()),
    }
}

fn image_note(mime_type: &str, bytes: u64, entry: &str) -> String {
    let kind = escape_metadata(&clip(mime_type, ARGUMENT_CHARS));
    format!("[image {kind}, {}, entry {entry}]", byte_size(bytes))
}
