//! The lines of a stretch of the branch, as the model saw it.

use std::ops::Range;

use super::TOOL;
use super::line::{Kind, Line};
use crate::error::Result;
use crate::json::{self, Fields};
use crate::session::estimate;
use crate::session::files::{self, FileOperation};
use crate::session::pairing::{CallNo, Outcome, Pairing};
use crate::session::paths::{abbreviate_cwd, relative};
use crate::session::projection::Projection;
use crate::session::{Assistant, Block, Body, Detail, OWN_PREFIX, ToolCall, ToolResult};
use crate::text::{byte_size, escape_metadata, one_line};

const SAID_CHARS: usize = 320;
const ERROR_CHARS: usize = 160;
const ARGUMENT_CHARS: usize = 120;

#[derive(Debug, Default)]
pub struct Collected {
    pub lines: Vec<Line>,
    /// Characters of what was said and printed, as far as it was read.
    pub chars: usize,
    /// Message entries.
    pub entries: usize,
    /// Estimated tokens of it all in the context.
    pub tokens: u64,
    pub operations: Vec<FileOperation>,
}

/// Reads the positions `range` of the branch.
///
/// Errors: the session changed while it was read.
pub fn collect(context: &Projection, range: Range<usize>, cwd: &str) -> Result<Collected> {
    let mut collector = Collector::new(context, cwd);
    for position in range {
        collector.position(position)?;
    }
    Ok(collector.finish())
}

struct Collector<'c, 'b, 's, 'a> {
    context: &'c Projection<'b, 's, 'a>,
    cwd: &'c str,
    found: Collected,
    /// Each call's line, by the number that the pairing gave it.
    pairing: Pairing<()>,
    calls: Vec<usize>,
    operations: Vec<(FileOperation, Option<CallNo>)>,
}

impl<'c, 'b, 's, 'a> Collector<'c, 'b, 's, 'a> {
    fn new(context: &'c Projection<'b, 's, 'a>, cwd: &'c str) -> Collector<'c, 'b, 's, 'a> {
        Collector {
            context,
            cwd,
            found: Collected::default(),
            pairing: Pairing::default(),
            calls: Vec::new(),
            operations: Vec::new(),
        }
    }

    fn position(&mut self, position: usize) -> Result<()> {
        let Some(entry) = self.context.read(position, Detail::Kept)? else {
            return Ok(());
        };
        let Some(number) = self.context.branch.get(position) else {
            return Ok(());
        };
        let session = self.context.branch.session;
        self.found.tokens += match &entry.body {
            Body::ToolResult(_) | Body::Bash(_) => session.line_bytes(number) / 4,
            body => estimate::tokens(body),
        };
        let id = session.id(number);
        match entry.body {
            Body::User(content) => self.user(position, id, &content),
            Body::Assistant(message) => self.assistant(position, id, &message),
            Body::ToolResult(result) => self.result(position, id, &result)?,
            Body::Bash(bash) if bash.excluded => return Ok(()),
            Body::Bash(bash) => {
                let command = abbreviate_cwd(&bash.command, self.cwd);
                let command = one_line(&escape_metadata(&command), ERROR_CHARS);
                let mut line = Line::new(Kind::Command, id, command);
                line.outcome = match bash.exit_code {
                    Some(code) if !bash.cancelled => {
                        Some(if code == 0.0 { Outcome::Ok } else { Outcome::Error })
                    }
                    _ => None,
                };
                self.push(position, line);
            }
            Body::Custom { custom_type, .. } if custom_type.starts_with(OWN_PREFIX) => {
                return Ok(());
            }
            Body::Custom { custom_type, .. } => {
                let name = one_line(&custom_type, ARGUMENT_CHARS);
                let name = escape_metadata(&name).into_owned();
                self.push(position, Line::new(Kind::Custom, id, name));
            }
            Body::BranchSummary { summary } => {
                let text = one_line(&summary, SAID_CHARS);
                self.push(position, Line::new(Kind::BranchSummary, id, text));
            }
            _ => return Ok(()),
        }
        self.found.entries += 1;
        Ok(())
    }

    fn push(&mut self, position: usize, line: Line) {
        self.found.lines.push(Line { position: Some(position), ..line });
    }

    fn user(&mut self, position: usize, id: &str, content: &[Block]) {
        let text = ask(content, id);
        if text.trim().is_empty() {
            return;
        }
        self.found.chars += text.chars().count();
        let kind = if is_injected(&text) { Kind::Injected } else { Kind::Ask };
        self.push(position, Line::new(kind, id, text));
    }

    fn assistant(&mut self, position: usize, id: &str, message: &Assistant) {
        let mut said = String::new();
        for block in &message.content {
            if let Block::Text(text) = block {
                self.found.chars += text.chars().count();
                said.push_str(text);
                said.push(' ');
            }
        }
        let said = one_line(&said, SAID_CHARS);
        if !said.is_empty() {
            self.push(position, Line::new(Kind::Said, id, said));
        }
        for block in &message.content {
            let Block::ToolCall(call) = block else {
                continue;
            };
            let number = self.pairing.call(&call.id, &call.name);
            if let Some((operation, path)) = files::of_call(call, self.cwd) {
                let operation =
                    FileOperation { operation, path, entry: id.to_owned(), failed: false };
                self.operations.push((operation, Some(number)));
            }
            self.calls.push(self.found.lines.len());
            self.push(position, Line::new(Kind::Call, "", called(call, self.cwd)));
        }
    }

    fn result(&mut self, position: usize, id: &str, result: &ToolResult) -> Result<()> {
        for call in &result.nested_calls {
            if let Some((operation, path)) = files::of_nested_call(call, self.cwd) {
                let operation =
                    FileOperation { operation, path, entry: id.to_owned(), failed: call.failed };
                self.operations.push((operation, None));
            }
        }
        let number = self.pairing.result(&result.call_id, &result.tool_name, result.is_error, ());
        let error = match result.is_error {
            Some(true) => Some(self.error_text(position)?),
            _ => None,
        };
        let line = number.and_then(|number| self.calls.get(number)).copied();
        match (line.and_then(|at| self.found.lines.get_mut(at)), error) {
            (Some(line), error) => {
                line.entry = id.to_owned();
                line.outcome = number.map(|number| self.pairing.outcome(number));
                if let Some(error) = error {
                    line.kind = Kind::Failed;
                    line.text = format!("{}: {error}", line.text);
                }
            }
            // Its call is not in this stretch, or not certain.
            (None, Some(error)) => {
                let name = one_line(&result.tool_name, ARGUMENT_CHARS);
                let name = escape_metadata(&name);
                self.push(position, Line::new(Kind::Failed, id, format!("{name}: {error}")));
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn error_text(&mut self, position: usize) -> Result<String> {
        let whole = self.context.read(position, Detail::All)?;
        let Some(Body::ToolResult(result)) = whole.map(|entry| entry.body) else {
            return Ok(String::new());
        };
        let mut text = String::new();
        for block in &result.content {
            if let Block::Text(part) = block {
                self.found.chars += part.chars().count();
                text.push_str(part);
                text.push(' ');
            }
        }
        let line = one_line(&text, ERROR_CHARS);
        Ok(if line.is_empty() { "(no text)".to_owned() } else { line })
    }

    fn finish(self) -> Collected {
        let Collector { mut found, pairing, operations, .. } = self;
        found.operations = operations
            .into_iter()
            .map(|(operation, call)| FileOperation {
                failed: call
                    .map_or(operation.failed, |call| pairing.outcome(call) == Outcome::Error),
                ..operation
            })
            .collect();
        found
    }
}

/// What the user said, word for word; images as a note.
pub fn ask(content: &[Block], entry: &str) -> String {
    let parts: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Image { mime_type, bytes } => {
                let kind = one_line(mime_type, ARGUMENT_CHARS);
                let kind = escape_metadata(&kind);
                Some(format!("[image {kind}, {}, entry {entry}]", byte_size(*bytes)))
            }
            Block::Thinking(_) | Block::ToolCall(_) => None,
        })
        .collect();
    parts.join("\n").trim_matches(['\n', '\r']).to_owned()
}

/// Texts that programs send as the user, such as reminders of other agents.
pub fn is_injected(text: &str) -> bool {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim_end();
    (text.starts_with("<system-reminder>") && text.ends_with("</system-reminder>"))
        || first.trim_end_matches(':') == "Current runtime context"
}

/// A call with the argument that tells most.
fn called(call: &ToolCall, cwd: &str) -> String {
    let name = one_line(&call.name, ARGUMENT_CHARS);
    let name = escape_metadata(&name);
    if call.name == TOOL {
        return name.into_owned();
    }
    match main_argument(call, cwd) {
        Some(argument) => {
            format!("{name} {}", escape_metadata(&one_line(&argument, ARGUMENT_CHARS)))
        }
        None => name.into_owned(),
    }
}

/// Arguments that say what a call is about, the most telling first.
const MAIN: [&str; 10] = [
    "command",
    "path",
    "file_path",
    "filePath",
    "pattern",
    "query",
    "question",
    "url",
    "terms",
    "name",
];

fn main_argument(call: &ToolCall, cwd: &str) -> Option<String> {
    let arguments = Fields::parse(&call.arguments)?;
    let key = MAIN.iter().find(|key| arguments.string(key).is_some());
    if let Some(key) = key {
        let value = arguments.string(key)?;
        return Some(match *key {
            "command" => abbreviate_cwd(&value, cwd).into_owned(),
            "path" | "file_path" | "filePath" => relative(&value, cwd).into_owned(),
            _ => value,
        });
    }
    arguments.iter().find_map(|(_, raw)| json::string(raw))
}
