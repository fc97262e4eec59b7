//! One entry as a person reads it: its sections, and what its header says it is.

use super::sieve::MAX_INDEX_DIGITS;
use super::transcript::{EntryText, Secondary, Section, SectionKind};
use crate::json::{self, Fields, Raw};
use crate::session::{Block, Body, Entry, Kind, ToolCall};
use crate::text::{byte_size, visible};

/// Custom messages of ours.
pub const MANAGED_PREFIX: &str = "stet.";

pub fn readable(id: String, kind: Kind, entry: Entry) -> EntryText {
    let mut sections = Vec::new();
    let mut failed = false;
    let what = match entry.body {
        Body::User(content) => {
            blocks(&mut sections, content, SectionKind::User, None);
            "user".to_owned()
        }
        Body::Assistant(message) => {
            blocks(&mut sections, message.content, SectionKind::Assistant, None);
            match message.stop_reason.as_deref() {
                Some(reason @ ("error" | "aborted" | "length")) => {
                    format!("assistant, ended: {reason}")
                }
                _ => "assistant".to_owned(),
            }
        }
        Body::ToolResult(result) => {
            failed = result.is_error == Some(true);
            let outcome = match result.is_error {
                Some(true) => ", error",
                Some(false) => "",
                None => ", outcome unknown",
            };
            let what = format!("tool result of {}{outcome}", visible(&result.tool_name));
            blocks(&mut sections, result.content, SectionKind::ToolResult, Some(&result.tool_name));
            what
        }
        Body::Bash(bash) if bash.excluded => "user bash, kept from the model".to_owned(),
        Body::Bash(bash) => {
            let text = format!("$ {}\n{}", bash.command, bash.output);
            push(&mut sections, SectionKind::Bash, None, None, text);
            match bash.exit_code {
                _ if bash.cancelled => "user bash, cancelled".to_owned(),
                Some(code) => format!("user bash, exit code {code}"),
                None => "user bash".to_owned(),
            }
        }
        Body::Custom { custom_type, content, .. } => {
            let secondary = custom_type.starts_with(MANAGED_PREFIX).then_some(Secondary::Reminder);
            blocks(&mut sections, content, SectionKind::Custom, None);
            sections.iter_mut().for_each(|section| section.secondary = secondary);
            format!("custom message {}", visible(&custom_type))
        }
        Body::BranchSummary { summary } => {
            push(&mut sections, SectionKind::Summary, None, None, summary);
            "branch summary (written by a model)".to_owned()
        }
        Body::Compaction(compaction) => {
            let secondary = Some(Secondary::Summary);
            push(&mut sections, SectionKind::Summary, None, secondary, compaction.summary);
            "compaction".to_owned()
        }
        Body::System { sections: names, .. } => {
            let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
            format!("system prompt ({})", names.join(", "))
        }
        Body::ContextEdit(edit) => {
            let what = if edit.replacement.is_some() { "replaces" } else { "omits" };
            format!("context edit: {what} {}", visible(&edit.target))
        }
        Body::Label { target, label } => match label {
            Some(label) => format!("label {:?} on {}", label, visible(&target)),
            None => format!("label taken off {}", visible(&target)),
        },
        Body::State { custom_type, .. } => {
            format!("state of an extension: {}", visible(&custom_type))
        }
        // One damaged entry costs itself, not the others.
        Body::Damaged => "a damaged entry".to_owned(),
        Body::Other => match kind {
            Kind::Message => "message of an unknown role".to_owned(),
            _ => "session metadata".to_owned(),
        },
    };
    EntryText {
        id,
        what: one_line(&visible(&what)),
        timestamp: entry.timestamp.unwrap_or_default(),
        failed,
        sections,
    }
}

/// A header is one line, whatever a name holds.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Calls and results of our own tools.
pub fn secondary_of_tool(name: &str) -> Option<Secondary> {
    super::TOOLS.contains(&name).then_some(Secondary::Recovery)
}

fn blocks(sections: &mut Vec<Section>, content: Vec<Block>, kind: SectionKind, tool: Option<&str>) {
    for block in content {
        match block {
            Block::Text(text) => push(sections, kind, tool, tool.and_then(secondary_of_tool), text),
            Block::Thinking(text) if text.is_empty() => {}
            Block::Thinking(text) => {
                push(sections, SectionKind::Thinking, None, None, text);
                label_last(sections, "[thinking]".to_owned());
            }
            Block::Image { mime_type, bytes } => {
                push(sections, kind, tool, tool.and_then(secondary_of_tool), String::new());
                let mime_type = one_line(&visible(&mime_type));
                label_last(sections, format!("[image {mime_type}, {}]", byte_size(bytes)));
            }
            // Only a model calls.
            Block::ToolCall(call) if kind == SectionKind::Assistant => {
                let text = decoded_arguments(&call);
                let name = call.name.as_str();
                push(sections, SectionKind::ToolCall, Some(name), secondary_of_tool(name), text);
                label_last(sections, format!("[tool call] {}", one_line(&visible(name))));
            }
            Block::ToolCall(_) => {}
        }
    }
    // Prose beside thinking or calls says what it is.
    let mixed = sections.iter().any(|section| section.kind != kind);
    for section in sections.iter_mut().filter(|section| mixed && section.kind == kind) {
        section.label.get_or_insert_with(|| "[text]".to_owned());
    }
}

fn push(
    sections: &mut Vec<Section>,
    kind: SectionKind,
    tool: Option<&str>,
    secondary: Option<Secondary>,
    text: String,
) {
    sections.push(Section { kind, tool: tool.map(str::to_owned), secondary, label: None, text });
}

fn label_last(sections: &mut [Section], label: String) {
    if let Some(section) = sections.last_mut() {
        section.label = Some(label);
    }
}

/// The arguments under their names, text as it is and not as JSON escapes it.
fn decoded_arguments(call: &ToolCall) -> String {
    let mut out = String::new();
    match Fields::parse(&call.arguments) {
        Some(arguments) => {
            for (key, value) in arguments.last_of_each() {
                decode(&mut out, key, value, 0);
            }
        }
        None => out.push_str(&call.arguments),
    }
    if out.ends_with('\n') {
        out.pop();
    }
    out
}

/// Writes a value on lines of its own. Numbers stand as they do in the file.
fn decode(out: &mut String, name: &str, value: Raw, depth: usize) {
    /// Deeper values are written as JSON.
    const DEEPEST: usize = 32;
    let raw = value.get();
    if let Some(text) = json::string(value) {
        out.push_str(name);
        out.push_str(if text.contains('\n') { ":\n" } else { ": " });
        out.push_str(&text);
        out.push('\n');
    } else if depth < DEEPEST && raw.starts_with('[') && !json::elements(value).is_empty() {
        for (at, element) in json::elements(value).into_iter().enumerate() {
            // A number alone would look like text of the entry to a search of its bytes.
            let index = Some(at.to_string()).filter(|index| index.len() <= MAX_INDEX_DIGITS);
            let name = format!("{name}[{}]", index.unwrap_or_default());
            decode(out, &name, element, depth + 1);
        }
    } else if depth < DEEPEST
        && let Some(fields) = Fields::parse(raw)
        && !fields.is_empty()
    {
        for (key, field) in fields.last_of_each() {
            decode(out, &format!("{name}.{key}"), field, depth + 1);
        }
    } else {
        out.push_str(name);
        out.push_str(": ");
        out.push_str(raw);
        out.push('\n');
    }
}
