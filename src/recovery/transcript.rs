//! The branch as readable entries. What belongs to which entry and section stands in the types, so
//! that nothing inside a text can pose as an entry.

use serde_json::Value;

use crate::error::Result;
use crate::session::{Block, Body, Branch, Detail, Entry, EntryNo, Kind, ToolCall};
use crate::text::{byte_size, visible};

/// A larger entry is listed, but not read: one entry must not cost the memory for all others.
const MAX_ENTRY_BYTES: u64 = 64 << 20;
/// Custom messages of ours.
const MANAGED_PREFIX: &str = "stet.";

/// What a part of an entry is; the names are those of the parameter `in`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    User,
    Assistant,
    Thinking,
    ToolCall,
    ToolResult,
    Bash,
    Custom,
    Summary,
}

impl SectionKind {
    pub const ALL: [(SectionKind, &str); 8] = [
        (SectionKind::User, "user"),
        (SectionKind::Assistant, "assistant"),
        (SectionKind::Thinking, "thinking"),
        (SectionKind::ToolCall, "toolCall"),
        (SectionKind::ToolResult, "toolResult"),
        (SectionKind::Bash, "bash"),
        (SectionKind::Custom, "custom"),
        (SectionKind::Summary, "summary"),
    ];

    pub fn of_name(name: &str) -> Option<SectionKind> {
        SectionKind::ALL.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind)
    }

    pub fn name(self) -> &'static str {
        SectionKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// Why a section is left out of a search that did not ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secondary {
    /// A compaction's summary repeats what the entries say.
    Summary,
    Reminder,
    /// A search finds earlier searches first.
    Recovery,
}

#[derive(Debug)]
pub struct Section {
    pub kind: SectionKind,
    /// For calls and results.
    pub tool: Option<String>,
    pub secondary: Option<Secondary>,
    /// Shown above the text where an entry has more than one kind of section.
    label: Option<String>,
    pub text: String,
}

/// One entry, readable.
#[derive(Debug)]
pub struct EntryText {
    pub id: String,
    /// `tool result of bash, error`
    pub what: String,
    pub timestamp: String,
    pub sections: Vec<Section>,
}

/// A line of an entry as it is shown, counted from 1.
pub struct Line<'e> {
    pub number: usize,
    /// `None` for a label.
    pub section: Option<&'e Section>,
    pub text: &'e str,
}

impl EntryText {
    /// `ENTRY 9f3c2a1b · tool result of bash, error · 2026-11-30T16:50:27.738Z`
    pub fn header(&self) -> String {
        let time = if self.timestamp.is_empty() { "no time" } else { &self.timestamp };
        format!("ENTRY {} · {} · {time}", self.id, self.what)
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.sections.iter().flat_map(|section| {
            let label = section.label.as_deref().map(|label| (None, label));
            label.into_iter().chain(section.text.split('\n').map(move |line| (Some(section), line)))
        });
        lines.enumerate().map(|(at, (section, text))| Line { number: at + 1, section, text })
    }

    /// What a line of this section is called: nothing where the entry is all of one kind.
    pub fn section_name(&self, section: &Section) -> String {
        let mixed = self.sections.iter().any(|other| other.kind != section.kind);
        if mixed { format!(", {}", section.kind.name()) } else { String::new() }
    }

    /// All lines of the entry.
    pub fn body(&self) -> String {
        let lines: Vec<&str> = self.lines().map(|line| line.text).collect();
        lines.join("\n")
    }
}

/// The part of a branch that a call looks at.
pub struct Transcript<'b> {
    branch: &'b Branch<'b, 'b>,
    end: usize,
}

impl<'b> Transcript<'b> {
    /// The entries up to the one that pins the history, the whole branch without one; `None` if it
    /// is not on the branch.
    pub fn through(branch: &'b Branch<'_, '_>, entry: Option<&str>) -> Option<Transcript<'b>> {
        let end = match entry {
            Some(id) => branch.position(id)? + 1,
            None => branch.len(),
        };
        Some(Transcript { branch, end })
    }

    pub fn len(&self) -> usize {
        self.end
    }

    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// What pins this history for the next page.
    pub fn pin(&self) -> Option<&str> {
        let last = self.end.checked_sub(1).and_then(|position| self.branch.get(position))?;
        Some(self.branch.session.id(last))
    }

    /// Oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Result<EntryText>> + '_ {
        (0..self.end).filter_map(|position| self.branch.get(position)).map(|entry| self.read(entry))
    }

    /// The entry with this id, `None` if it is not in this history.
    pub fn entry(&self, id: &str) -> Result<Option<EntryText>> {
        let position = self.branch.position(id).filter(|position| *position < self.end);
        position
            .and_then(|position| self.branch.get(position))
            .map(|entry| self.read(entry))
            .transpose()
    }

    fn read(&self, entry: EntryNo) -> Result<EntryText> {
        let session = self.branch.session;
        let id = session.id(entry).to_owned();
        let bytes = session.line_bytes(entry);
        if bytes > MAX_ENTRY_BYTES {
            let what = format!("an entry of {}, too large to be read here", byte_size(bytes));
            return Ok(EntryText { id, what, timestamp: String::new(), sections: Vec::new() });
        }
        Ok(readable(id, session.kind(entry), session.read(entry, Detail::All)?))
    }
}

fn readable(id: String, kind: Kind, entry: Entry) -> EntryText {
    let mut sections = Vec::new();
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
            push(&mut sections, SectionKind::Bash, None, None, &text);
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
            push(&mut sections, SectionKind::Summary, None, None, &summary);
            "branch summary (written by a model)".to_owned()
        }
        Body::Compaction(compaction) => {
            push(
                &mut sections,
                SectionKind::Summary,
                None,
                Some(Secondary::Summary),
                &compaction.summary,
            );
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
        what: one_line(&what),
        timestamp: entry.timestamp.unwrap_or_default(),
        sections,
    }
}

/// A header is one line, whatever a name holds.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn blocks(sections: &mut Vec<Section>, content: Vec<Block>, kind: SectionKind, tool: Option<&str>) {
    let recovery = |name: &str| super::TOOLS.contains(&name).then_some(Secondary::Recovery);
    for block in content {
        match block {
            Block::Text(text) => push(sections, kind, tool, tool.and_then(recovery), &text),
            Block::Thinking(text) if text.is_empty() => {}
            Block::Thinking(text) => {
                push(sections, SectionKind::Thinking, None, None, &text);
                label_last(sections, "[thinking]".to_owned());
            }
            Block::Image { mime_type, bytes } => {
                let note = format!("[image {mime_type}, {}]", byte_size(bytes));
                push(sections, kind, tool, tool.and_then(recovery), &note);
            }
            Block::ToolCall(call) => {
                let text = decoded_arguments(&call);
                let name = call.name.as_str();
                push(sections, SectionKind::ToolCall, Some(name), recovery(name), &text);
                label_last(sections, format!("[tool call] {}", one_line(&visible(name))));
            }
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
    text: &str,
) {
    let (tool, text) = (tool.map(str::to_owned), visible(text).into_owned());
    sections.push(Section { kind, tool, secondary, label: None, text });
}

fn label_last(sections: &mut [Section], label: String) {
    if let Some(section) = sections.last_mut() {
        section.label = Some(label);
    }
}

/// The arguments under their names, text as it is and not as JSON escapes it.
fn decoded_arguments(call: &ToolCall) -> String {
    let mut lines = Vec::new();
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => {
            arguments.iter().for_each(|(key, value)| decode(&mut lines, key, value));
        }
        Ok(value) => decode(&mut lines, "arguments", &value),
        Err(_) => lines.push(call.arguments.clone()),
    }
    lines.join("\n")
}

fn decode(lines: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::String(text) if text.contains('\n') => {
            lines.push(format!("{name}:"));
            lines.push(text.clone());
        }
        Value::String(text) => lines.push(format!("{name}: {text}")),
        Value::Array(elements) if !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                decode(lines, &format!("{name}[{at}]"), element);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (key, field) in fields {
                decode(lines, &format!("{name}.{key}"), field);
            }
        }
        value => lines.push(format!("{name}: {value}")),
    }
}

/// What a search looks at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    /// `None`: all kinds.
    pub kinds: Option<Vec<SectionKind>>,
    pub tool: Option<String>,
}

/// Whether a section belongs to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    Yes,
    No,
    /// It would, but such sections have to be asked for.
    LeftOut(Secondary),
}

impl Scope {
    pub fn of(&self, section: &Section) -> Belongs {
        let kind_asked = self.kinds.as_ref().map(|kinds| kinds.contains(&section.kind));
        let tool_asked = self.tool.as_ref().map(|tool| section.tool.as_deref() == Some(tool));
        if kind_asked == Some(false) || tool_asked == Some(false) {
            return Belongs::No;
        }
        match section.secondary {
            Some(secondary @ (Secondary::Summary | Secondary::Reminder))
                if kind_asked.is_none() =>
            {
                Belongs::LeftOut(secondary)
            }
            Some(Secondary::Recovery) if tool_asked.is_none() => {
                Belongs::LeftOut(Secondary::Recovery)
            }
            _ => Belongs::Yes,
        }
    }
}
