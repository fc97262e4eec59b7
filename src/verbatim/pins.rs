//! Pinned entries: what a person labelled `keep` in Pi stays in every checkpoint, output included,
//! until the label goes.

use crate::error::Result;
use crate::fence::fenced;
use crate::session::{Block, Body, Branch, Detail};
use crate::text::{byte_size, escape_attribute};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub entry: String,
    /// As it stands between quotes.
    pub label: String,
    /// What the entry is: `user`, `assistant`, `output of bash`, …
    pub what: String,
    pub text: String,
}

/// Whether a label pins its entry.
pub fn is_pin(label: &str) -> bool {
    label.strip_prefix("keep").is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Whether a text can be what stands between the quotes for a label that pins.
pub fn is_shown_label(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' | '<' | '>' => return false,
            c if c.is_control() => return false,
            _ => {}
        }
    }
    is_pin(text)
}

/// The pinned entries among the first `end` of the branch, in branch order. What lies behind is
/// still in the context. A `!!` command is never pinned: the person kept it from the model.
///
/// Errors: the session changed while it was read.
pub fn collect(branch: &Branch, end: usize) -> Result<Vec<Pin>> {
    let labels = branch.session.labels()?;
    let mut pins = Vec::new();
    if labels.values().all(|label| !is_pin(label)) {
        return Ok(pins);
    }
    for (_, entry) in branch.iter().take(end) {
        let id = branch.session.id(entry);
        let Some(label) = labels.get(id).filter(|label| is_pin(label)) else {
            continue;
        };
        if let Some((what, text)) = content(branch.session.read(entry, Detail::All)?.body) {
            let (entry, label) = (id.to_owned(), escape_attribute(label));
            pins.push(Pin { entry, label, what, text });
        }
    }
    Ok(pins)
}

/// What the entry is, and its text.
pub fn content(body: Body) -> Option<(String, String)> {
    match body {
        Body::User(content) => Some(("user".into(), blocks(&content))),
        Body::Assistant(message) => Some(("assistant".into(), blocks(&message.content))),
        Body::ToolResult(result) => {
            Some((format!("output of {}", result.tool_name), blocks(&result.content)))
        }
        Body::Bash(bash) if bash.excluded => None,
        Body::Bash(bash) => {
            Some(("user bash".into(), format!("$ {}\n{}", bash.command, bash.output)))
        }
        Body::Custom { custom_type, content, .. } => {
            Some((format!("custom {custom_type}"), blocks(&content)))
        }
        Body::BranchSummary { summary } => Some(("branch summary".into(), summary)),
        _ => None,
    }
}

/// Text word for word; thinking, calls and images so that it shows that they were there.
fn blocks(content: &[Block]) -> String {
    let parts: Vec<String> = content
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.clone(),
            Block::Thinking(text) => format!("[thinking]\n{text}"),
            Block::ToolCall(call) => format!("[tool call] {} {}", call.name, call.arguments),
            Block::Image { mime_type, bytes } => {
                format!("[image {mime_type}, {}]", byte_size(*bytes))
            }
        })
        .collect();
    parts.join("\n")
}

/// The attributes of a pin up to its label.
pub fn before_label(pin: &Pin) -> String {
    format!("entry=\"{}\" what=\"{}\" label=\"", pin.entry, escape_attribute(&pin.what))
}

/// The section of the checkpoint.
pub fn render(pins: &[Pin]) -> String {
    let mut out = String::new();
    if pins.is_empty() {
        return out;
    }
    out.push_str("<pinned-entries note=\"entries that the user labelled keep\">\n");
    for pin in pins {
        let attributes = format!("{}{}\"", before_label(pin), pin.label);
        fenced(&mut out, "pinned", &attributes, &pin.text);
    }
    out.push_str("</pinned-entries>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_and_keep_with_a_reason_pin() {
        for (label, pins) in [
            ("keep", true),
            ("keep: the plan", true),
            ("keep:", true),
            ("keeper", false),
            ("Keep", false),
            ("to keep", false),
        ] {
            assert_eq!(is_pin(label), pins, "{label}");
        }
    }
}
