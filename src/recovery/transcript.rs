//! The branch as readable entries. What belongs to which entry and section stands in the types, so
//! that nothing inside a text can pose as an entry.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::session::{Branch, Detail, EntryNo, Kind, ResultTexts, Role};
use crate::text::{byte_size, visible, visible_line};

use super::readable::readable;

/// A larger entry is listed, but not read: one entry must not cost the memory for all others.
const MAX_ENTRY_BYTES: u64 = 64 << 20;
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

    /// What a line is from, in few words; `failed` says so of a result's call.
    pub fn tag(self, tool: Option<&str>, failed: bool) -> String {
        let tool = tool.map(visible_line);
        match (self, tool) {
            (SectionKind::ToolResult, Some(tool)) if failed => format!("{tool} error"),
            (SectionKind::ToolResult, Some(tool)) => tool,
            (SectionKind::ToolCall, Some(tool)) => format!("call {tool}"),
            (SectionKind::Bash, _) => "user bash".to_owned(),
            (kind, _) => kind.name().to_owned(),
        }
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
    /// Shown above the text where an entry has more than one kind of section. No search finds it.
    pub label: Option<String>,
    /// As it was said or printed; it is shown through [`visible`].
    pub text: String,
}

impl Section {
    /// An image, an empty thought: only a label.
    fn is_bare(&self) -> bool {
        self.label.is_some() && self.text.is_empty()
    }
}

/// One entry, readable.
#[derive(Debug)]
pub struct EntryText {
    pub id: String,
    /// `tool result of bash, error`
    pub what: String,
    pub timestamp: String,
    /// The result of a call that failed.
    pub failed: bool,
    pub sections: Vec<Section>,
}

/// A line of an entry, counted from 1.
pub struct Line<'e> {
    pub number: usize,
    /// Without the carriage return of its end.
    pub text: &'e str,
}

/// How the header of an entry begins.
const HEADER: &str = "ENTRY ";

impl EntryText {
    /// `ENTRY 9f3c2a1b · tool result of bash, error · 2026-11-30T16:50:27.738Z`
    pub fn header(&self) -> String {
        let time = if self.timestamp.is_empty() { "no time" } else { &self.timestamp };
        format!("{HEADER}{} · {} · {time}", self.id, self.what)
    }

    /// The lines as they are counted, labels among them.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.sections.iter().flat_map(|section| {
            let text = (!section.is_bare()).then(|| section.text.split('\n'));
            section.label.as_deref().into_iter().chain(text.into_iter().flatten())
        });
        lines.enumerate().map(|(at, text)| Line { number: at + 1, text: without_return(text) })
    }

    /// Each section with the number of the first line of its text.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Section)> {
        let mut next = 1;
        self.sections.iter().map(move |section| {
            let first = next + usize::from(section.label.is_some());
            next = first + if section.is_bare() { 0 } else { line_breaks(&section.text) + 1 };
            (first, section)
        })
    }

    /// What a line of this section is from, in few words: `read`, `bash error`, `call write`.
    pub fn tag(&self, section: &Section) -> String {
        section.kind.tag(section.tool.as_deref(), self.failed)
    }

    /// All lines of the entry, as they are shown. One that begins like a header stands behind a
    /// backslash: it is none.
    pub fn body(&self) -> String {
        let mut out = String::new();
        for line in self.lines() {
            if line.number > 1 {
                out.push('\n');
            }
            if line.text.starts_with(HEADER) {
                out.push('\\');
            }
            out.push_str(&visible(line.text));
        }
        out
    }
}

pub fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

pub fn line_breaks(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
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

    /// The entry at a position, counted from the root: what it is, unread.
    pub fn at(&self, position: usize) -> Option<(EntryNo, Kind, Role)> {
        let entry = self.branch.get(position).filter(|_| position < self.end)?;
        Some((entry, self.branch.session.kind(entry), self.branch.session.role(entry)))
    }

    /// Characters of the longest id.
    pub fn longest_id(&self) -> usize {
        let ids = (0..self.end).filter_map(|position| self.branch.get(position));
        ids.map(|entry| self.branch.session.id(entry).len()).max().unwrap_or(0)
    }

    /// Hands over what `digest` makes of the entries that may be wanted, newest first and unread,
    /// until `take` has enough.
    ///
    /// Errors: the session changed while it was read; what `digest` and `take` return.
    pub fn map<T: Send>(
        &self,
        may_be_wanted: impl Fn(Kind, Role) -> bool,
        digest: impl Fn(Candidate<'_>) -> Result<T> + Sync,
        take: impl FnMut(T) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let session = self.branch.session;
        let wanted = (0..self.end).rev().filter_map(|position| self.at(position));
        let wanted = wanted.filter(|(entry, kind, role)| {
            may_be_wanted(*kind, *role) && session.line_bytes(*entry) <= MAX_ENTRY_BYTES
        });
        self.map_entries(wanted.map(|(entry, ..)| entry), digest, take)
    }

    /// The same of these entries, in this order.
    ///
    /// Errors: those of [`Transcript::map`].
    pub fn map_entries<T: Send>(
        &self,
        entries: impl IntoIterator<Item = EntryNo>,
        digest: impl Fn(Candidate<'_>) -> Result<T> + Sync,
        take: impl FnMut(T) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let session = self.branch.session;
        let candidate = |entry, line: &[u8]| {
            let (kind, role) = (session.kind(entry), session.role(entry));
            digest(Candidate { transcript: self, entry, kind, role, line })
        };
        session.map_lines(entries, candidate, take)
    }

    /// The entry with this id, `None` if it is not in this history.
    ///
    /// Errors: the session changed while it was read.
    pub fn entry(&self, id: &str) -> Result<Option<EntryText>> {
        let position = self.branch.position(id).filter(|position| *position < self.end);
        position
            .and_then(|position| self.branch.get(position))
            .map(|entry| self.read(entry))
            .transpose()
    }

    /// An entry as readable text; one that is too large to be read is named with its size.
    ///
    /// Errors: the session changed while it was read.
    pub fn read(&self, entry: EntryNo) -> Result<EntryText> {
        let session = self.branch.session;
        let id = session.id(entry).to_owned();
        let bytes = session.line_bytes(entry);
        if bytes > MAX_ENTRY_BYTES {
            let what = format!("an entry of {}, too large to be read here", byte_size(bytes));
            return Ok(EntryText {
                id,
                what,
                timestamp: String::new(),
                failed: false,
                sections: Vec::new(),
            });
        }
        Ok(readable(id, session.kind(entry), session.read(entry, Detail::All)?))
    }
}

/// An entry that is not read yet.
pub struct Candidate<'c> {
    transcript: &'c Transcript<'c>,
    pub entry: EntryNo,
    pub kind: Kind,
    pub role: Role,
    pub line: &'c [u8],
}

impl Candidate<'_> {
    /// As readable text.
    ///
    /// Errors: the line is not that of the entry: the file changed since it was opened.
    pub fn read(&self) -> Result<EntryText> {
        let session = self.transcript.branch.session;
        let entry = session.decode(self.entry, self.line, Detail::All)?;
        Ok(readable(self.id().to_owned(), self.kind, entry))
    }

    pub fn id(&self) -> &str {
        self.transcript.branch.session.id(self.entry)
    }

    /// The texts of a tool result as they stand in its line. `None` if it is none, if there is more
    /// than texts in it, or if they could be other ones when they are read.
    pub fn result(&self) -> Option<ResultTexts<'_>> {
        if self.role != Role::ToolResult || super::sieve::has_escaped_text(self.line) {
            return None;
        }
        ResultTexts::of_line(std::str::from_utf8(self.line).ok()?)
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
    /// Whether an entry can have a section of this search at all.
    pub fn may_hold(&self, kind: Kind, role: Role) -> bool {
        use SectionKind::{Assistant, Bash, Custom, Summary, Thinking, ToolCall, ToolResult, User};
        let possible: &[SectionKind] = match (kind, role) {
            (Kind::Message, Role::User) => &[User],
            (Kind::Message, Role::Assistant) => &[Assistant, Thinking, ToolCall],
            (Kind::Message, Role::ToolResult) => &[ToolResult],
            (Kind::Message, Role::BashExecution) => &[Bash],
            (Kind::Message, Role::Custom) | (Kind::CustomMessage, _) => &[Custom],
            (Kind::Compaction | Kind::BranchSummary, _) => &[Summary],
            _ => &[],
        };
        let of_a_tool = possible.iter().any(|kind| matches!(kind, ToolCall | ToolResult));
        let asked = |kind| self.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind));
        possible.iter().any(asked) && (self.tool.is_none() || of_a_tool)
    }

    /// Whether a line has the name of the tool, if there is one.
    pub fn may_name(&self, line: &[u8]) -> bool {
        let Some(tool) = &self.tool else { return true };
        let plain = tool
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/'));
        !plain
            || memchr::memmem::find(line, tool.as_bytes()).is_some()
            || super::sieve::has_escaped_text(line)
    }

    pub fn of(&self, section: &Section) -> Belongs {
        self.belongs(section.kind, section.tool.as_deref(), section.secondary)
    }

    pub fn belongs(
        &self,
        kind: SectionKind,
        tool: Option<&str>,
        secondary: Option<Secondary>,
    ) -> Belongs {
        let kind_asked = self.kinds.as_ref().map(|kinds| kinds.contains(&kind));
        let tool_asked = self.tool.as_ref().map(|asked| tool == Some(asked));
        if kind_asked == Some(false) || tool_asked == Some(false) {
            return Belongs::No;
        }
        match secondary {
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
