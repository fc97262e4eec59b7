//! What a digest is made of: one line for each thing that happened.

use crate::session::pairing::Outcome;
use crate::text::{grouped, one_line};

/// An ask is kept whole up to so many characters; a longer one goes by its id.
pub const ASK_CHARS: usize = 1000;
/// A longer ask shows so much of its beginning, where there is room.
const ASK_BEGINNING: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What the user asked for.
    Ask,
    /// What the assistant said.
    Said,
    Call,
    /// A call that failed, with what it reported.
    Failed,
    /// A command of the user's own.
    Command,
    /// A message of an extension, of which only the type is shown.
    Custom,
    BranchSummary,
    /// What another method's compaction carried.
    State,
    /// Context that a program put into the user's mouth; counted and never shown.
    Injected,
}

const NAMES: [(Kind, &str); 9] = [
    (Kind::Ask, "ask"),
    (Kind::Said, "said"),
    (Kind::Call, "call"),
    (Kind::Failed, "failed"),
    (Kind::Command, "command"),
    (Kind::Custom, "custom"),
    (Kind::BranchSummary, "branch"),
    (Kind::State, "state"),
    (Kind::Injected, "injected"),
];

impl Kind {
    /// How details call it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub fn of_name(name: &str) -> Option<Kind> {
        NAMES.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: Kind,
    /// The entry that holds the whole of it: for a call that of its result.
    pub entry: String,
    /// Asks word for word (empty where only the id is known); everything else on one line, clipped.
    pub text: String,
    pub outcome: Option<Outcome>,
    /// Of older asks only this is known any more: the last of their ids, and how many there are.
    pub until: Option<(String, usize)>,
    /// Position on the branch; `None` for what an earlier compaction carried.
    pub position: Option<usize>,
}

impl Line {
    pub fn new(kind: Kind, entry: &str, text: String) -> Line {
        let entry = entry.to_owned();
        Line { kind, entry, text, outcome: None, until: None, position: None }
    }

    /// How many asks the line stands for.
    pub fn asks(&self) -> usize {
        match (self.kind, &self.until) {
            (Kind::Ask, Some((_, count))) => *count,
            (Kind::Ask, None) => 1,
            _ => 0,
        }
    }

    pub fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Failed)
    }

    /// The line as a digest shows it.
    pub fn render(&self) -> String {
        let Line { entry, text, .. } = self;
        match self.kind {
            Kind::Ask if self.is_long() => format!(
                "[USER {entry}] ({} characters, whole in entry {entry}) {}",
                grouped(text.chars().count() as u64),
                one_line(text, ASK_BEGINNING)
            ),
            Kind::Ask => format!("[USER {entry}] {text}"),
            Kind::Said => format!("[ASSISTANT] {text}{}", self.rest()),
            Kind::Call => match self.outcome {
                Some(outcome) => format!("[TOOL] {text} [{} {entry}]", outcome.label()),
                None => format!("[TOOL] {text} [{}]", Outcome::Unknown.label()),
            },
            Kind::Failed => format!("[TOOL-ERROR] {text} [{entry}]"),
            Kind::Command => {
                let outcome = self.outcome.unwrap_or(Outcome::Unknown).label();
                format!("[USER-BASH] $ {text} [{outcome} {entry}]")
            }
            Kind::Custom => format!("[CUSTOM] {text} [content removed {entry}]"),
            Kind::BranchSummary => format!("[BRANCH-SUMMARY] {text}{}", self.rest()),
            Kind::State => format!("[STATE-CARRIED] {text} [whole in {entry}]"),
            Kind::Injected => String::new(),
        }
    }

    /// Characters of the line with its line break.
    pub fn size(&self) -> usize {
        self.render().chars().count() + 1
    }

    fn is_long(&self) -> bool {
        self.text.chars().nth(ASK_CHARS).is_some()
    }

    /// Where the rest of a clipped text is.
    fn rest(&self) -> String {
        if self.text.ends_with('…') { format!(" [{}]", self.entry) } else { String::new() }
    }
}
