//! The entries of a file as the page lists them: what they are, how large, the beginning of their
//! texts.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::data::{Entry, Text};
use super::room::{fitted, limit};
use super::sizes::{Filling, Sizes};
use crate::error::Result;
use crate::recovery::{Section, readable};
use crate::session::pairing::Pairing;
use crate::session::{self, Block, Body, ContextEdit, Detail, Kind, Session};
use crate::text::visible;

/// Bytes that the texts of a page may take: outputs, and everything else.
const OUTPUT_ROOM: u64 = 4 << 20;
const PROSE_ROOM: u64 = 3 << 20;
/// How much larger the texts may be that are held until all sizes are known.
const HELD: u64 = 4;

/// The entries, and what the other rooms need to know about them.
pub struct Entries {
    pub rows: Vec<Entry>,
    pub sizes: Vec<Sizes>,
    pub edits: HashMap<usize, ContextEdit>,
    /// The call ids of results, and the calls of answers, by entry.
    pub calls: HashMap<usize, Calls>,
    pub output_chars: usize,
    pub prose_chars: usize,
}

pub enum Calls {
    /// Id and tool of each call.
    Made(Vec<(String, String)>),
    Answered {
        id: String,
        tool: String,
        is_error: Option<bool>,
    },
}

/// Reads all entries of the file.
///
/// Errors: the session changed while it was read.
pub fn read(session: &Session) -> Result<Entries> {
    // What a line holds at most is known at once, and what of it is text when all were read.
    let lines: Vec<u64> = session.entries().map(|entry| session.line_bytes(entry)).collect();
    let held = limit(lines, HELD * (OUTPUT_ROOM + PROSE_ROOM));
    let mut entries = Entries {
        rows: Vec::with_capacity(session.len()),
        sizes: Vec::with_capacity(session.len()),
        edits: HashMap::new(),
        calls: HashMap::new(),
        output_chars: held,
        prose_chars: held,
    };
    // Backwards, because lines that lie so are read together.
    session.map_lines(
        session.entries().rev(),
        |entry, line| {
            let decoded = session.decode(entry, line, Detail::All)?;
            Ok(Read::of(session.id(entry), session.kind(entry), decoded, held))
        },
        |read| {
            entries.add(read, session.len());
            Ok(ControlFlow::Continue(()))
        },
    )?;
    entries.rows.reverse();
    entries.sizes.reverse();
    Ok(entries)
}

/// What was said, of which more is shown than of what was printed.
fn is_prose(text: &Text) -> bool {
    matches!(text.kind, "user" | "assistant" | "custom" | "summary")
}

/// An entry that was read.
struct Read {
    row: Entry,
    sizes: Sizes,
    edit: Option<ContextEdit>,
    calls: Option<Calls>,
}

impl Read {
    /// `held` are the characters of a text that are kept at most.
    fn of(id: &str, kind: Kind, decoded: session::Entry, held: usize) -> Read {
        let sizes = Sizes::of(&decoded.body);
        let calls = Calls::of(&decoded.body);
        let edit = match &decoded.body {
            Body::ContextEdit(edit) => {
                let replacement = edit.replacement.clone();
                Some(ContextEdit { target: edit.target.clone(), replacement })
            }
            _ => None,
        };
        let name = name(&decoded.body);
        let split = [sizes.get(Filling::Calls), sizes.get(Filling::Thinking)];
        let read = readable(id.to_owned(), kind, decoded);
        let row = Entry {
            tokens: sizes.total(),
            split: (split != [0, 0]).then_some(split),
            what: if read.what == name { String::new() } else { read.what },
            id: read.id,
            at: read.timestamp,
            kind: name,
            failed: read.failed,
            texts: read.sections.into_iter().map(|section| text(section, held)).collect(),
            ..Entry::default()
        };
        Read { row, sizes, edit, calls }
    }
}

fn text(section: Section, held: usize) -> Text {
    let (text, chars) = fitted(&section.text, held);
    // Beside other kinds a text is labelled with its own; only an image is nothing else.
    let note = section.label.filter(|_| section.text.is_empty());
    let tool = section.tool.map(|tool| visible(&tool).into_owned());
    Text { kind: section.kind.name(), tool, note, text, chars, result: None }
}

impl Calls {
    fn of(body: &Body) -> Option<Calls> {
        match body {
            Body::Assistant(message) => {
                let call = |block: &Block| match block {
                    Block::ToolCall(call) => Some((call.id.clone(), call.name.clone())),
                    _ => None,
                };
                let made: Vec<_> = message.content.iter().filter_map(call).collect();
                (!made.is_empty()).then_some(Calls::Made(made))
            }
            Body::ToolResult(result) => Some(Calls::Answered {
                id: result.call_id.clone(),
                tool: result.tool_name.clone(),
                is_error: result.is_error,
            }),
            _ => None,
        }
    }
}

impl Entries {
    /// Adds the entry before the one that was added last, of so many.
    fn add(&mut self, read: Read, all: usize) {
        let number = all - 1 - self.rows.len();
        self.edits.extend(read.edit.map(|edit| (number, edit)));
        self.calls.extend(read.calls.map(|calls| (number, calls)));
        self.rows.push(read.row);
        self.sizes.push(read.sizes);
    }

    /// Cuts all texts so that they fit their rooms together.
    pub fn fit(&mut self) {
        self.output_chars = self.cut(false, OUTPUT_ROOM);
        self.prose_chars = self.cut(true, PROSE_ROOM);
    }

    /// Cuts the texts of one sort; says after how many characters.
    fn cut(&mut self, prose: bool, room: u64) -> usize {
        let all = self.rows.iter().flat_map(|row| &row.texts);
        let chosen = all.filter(|text| is_prose(text) == prose);
        let limit = limit(chosen.map(|text| text.text.len() as u64).collect(), room);
        let all = self.rows.iter_mut().flat_map(|row| &mut row.texts);
        for text in all.filter(|text| is_prose(text) == prose && text.text.len() > limit) {
            let (shown, chars) = fitted(&text.text, limit);
            if chars > 0 {
                text.chars = text.chars.max(chars);
                text.text = shown;
            }
        }
        limit
    }

    /// Links calls and results with each other, along entries in their order on a branch.
    pub fn pair(&mut self, branch: impl Iterator<Item = usize>) {
        let mut pairing: Pairing<usize> = Pairing::default();
        let mut made: Vec<(usize, usize)> = Vec::new();
        for number in branch {
            match self.calls.get(&number) {
                Some(Calls::Made(calls)) => {
                    for (at, (id, tool)) in calls.iter().enumerate() {
                        pairing.call(id, tool);
                        made.push((number, at));
                    }
                }
                Some(Calls::Answered { id, tool, is_error }) => {
                    pairing.result(id, tool, *is_error, number);
                }
                None => {}
            }
        }
        for (call, (number, at)) in made.into_iter().enumerate() {
            let Some((_, result)) = pairing.pair(call) else { continue };
            let result = *result;
            self.rows[result].call = Some(number);
            let calls = self.rows[number].texts.iter_mut().filter(|text| text.kind == "toolCall");
            if let Some(text) = calls.into_iter().nth(at) {
                text.result = Some(result);
            }
        }
    }
}

/// The word for what an entry is.
fn name(body: &Body) -> &'static str {
    match body {
        Body::User(_) => "user",
        Body::Assistant(_) => "assistant",
        Body::ToolResult(_) => "result",
        Body::Bash(_) => "bash",
        Body::Custom { .. } => "custom",
        Body::System { .. } => "system",
        Body::BranchSummary { .. } => "branch",
        Body::Compaction(_) => "compaction",
        Body::ContextEdit(_) => "edit",
        Body::Label { .. } => "label",
        Body::State { .. } => "state",
        Body::Damaged => "damaged",
        Body::Other => "other",
    }
}
