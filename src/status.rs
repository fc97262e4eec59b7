//! What holds for a branch: its settings, its last compaction, what the next one would give. One
//! text for `/stet` and `pi-stet status`.

use std::fmt;

use crate::checkpoint::{self, Checkpoint};
use crate::error::{Error, Result};
use crate::protocol::reply::{Level, Row};
use crate::session::cut::{self, Cut};
use crate::session::projection::{self, Projection};
use crate::session::{Body, Branch, Detail, Kind, Role, estimate};
use crate::settings::{Budget, Cap, CapMode, Method, Settings};
use crate::text::{clip, counted, escape_metadata, estimate_tokens, grouped};
use crate::verbatim::{self, Base, Instructions, Request, WorkingState, history, pins, startup};

/// What the caller knows besides the session.
pub struct Surroundings<'s> {
    pub cwd: &'s str,
    pub instructions: &'s [Instructions],
    /// In tokens.
    pub context_window: Option<f64>,
    /// Nobody knows the model here: a window that was not given is not one that Pi does not have.
    pub is_shell: bool,
    /// Tokens that Pi keeps of the recent conversation.
    pub keep_recent_tokens: u64,
    /// ISO 8601.
    pub now: &'s str,
}

pub struct Status {
    method: String,
    cap: String,
    last: Option<Last>,
    base: Option<Base>,
    /// The person asked for the base to be replaced.
    rebuilding: Option<Base>,
    checkpoint: Option<String>,
    next: Next,
    pins: Vec<String>,
    startup_reads: Vec<String>,
    startup_open: bool,
}

struct Last {
    at: String,
    kind: String,
    tokens_before: u64,
    tokens_after: u64,
    number: usize,
}

enum Next {
    Nothing(String),
    /// A model writes it.
    Summary,
    /// The cap is a share of a window that is not known.
    Cancelled(Budget),
    Gives {
        before: u64,
        checkpoint: u64,
        trimmed: bool,
        /// Whether it fits this budget was not looked at.
        unchecked: Option<Budget>,
    },
}

impl Status {
    /// Errors: the session changed while it was read.
    pub fn of(
        branch: &Branch,
        settings: &Settings,
        checkpoint: Option<&Checkpoint>,
        around: &Surroundings,
    ) -> Result<Status> {
        let history = history::outline(branch, around.cwd)?;
        let edits = projection::edits(branch, 0, branch.len())?;
        let startup =
            startup::select(branch, &edits, history.startup, around.instructions, around.cwd)?;
        let pin = |pin: pins::Pin| {
            let (label, what) = (clip(&pin.label, 60), clip(&pin.what, 60));
            format!("{} ({}, {})", pin.entry, escape_metadata(&what), escape_metadata(&label))
        };
        let read = |read: &startup::StartupRead| {
            format!("{} ({})", escape_metadata(&read.path), read.entry)
        };
        Ok(Status {
            method: format!("{} (from {})", settings.method.name(), settings.method_origin.name()),
            cap: format!("{} (from {})", settings.cap, settings.cap_origin.name()),
            last: last(branch, history.compactions)?,
            base: history.base,
            rebuilding: history.rebuilding,
            checkpoint: match (settings.keeps_checkpoint(), checkpoint) {
                (false, _) => None,
                (true, None) => Some("none yet".to_owned()),
                (true, Some(checkpoint)) => Some(Standing::of(checkpoint, branch)?.to_string()),
            },
            next: next(branch, settings, checkpoint, around)?,
            pins: pins::collect(branch, branch.len())?.into_iter().map(pin).collect(),
            startup_reads: startup.reads.iter().map(read).collect(),
            startup_open: startup.open,
        })
    }
}

fn next(
    branch: &Branch,
    settings: &Settings,
    checkpoint: Option<&Checkpoint>,
    around: &Surroundings,
) -> Result<Next> {
    let cut = match cut::find(branch, around.keep_recent_tokens) {
        Ok(cut) => cut,
        Err(Error::NothingToCompact(why)) => return Ok(Next::Nothing(why)),
        Err(error) => return Err(error),
    };
    if settings.method == Method::Summary {
        return Ok(Next::Summary);
    }
    if settings.method == Method::Checkpoint {
        return next_from_checkpoint(branch, checkpoint, &cut, around);
    }
    let request = Request {
        first_kept: cut.first_kept,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        words: None,
        at: around.now,
        cwd: around.cwd,
        instructions: around.instructions,
        working_state: working_state(branch, settings, checkpoint, cut.first_kept)?,
    };
    let Some(mut draft) = verbatim::draft(branch, &request)? else {
        return Ok(Next::Nothing("nothing lies before the recent conversation".into()));
    };
    let Cap { mode, budget } = settings.cap;
    let (limit, unchecked) = match (mode, budget.limit(around.context_window)) {
        (CapMode::Off, _) => (None, None),
        (_, Some(limit)) => (Some(limit), None),
        (_, None) if around.is_shell => (None, Some(budget)),
        (_, None) => return Ok(Next::Cancelled(budget)),
    };
    let trimmed = match limit {
        Some(limit) => draft.is_over(limit)?,
        None => false,
    };
    let compacted = draft.finish(limit.map(|limit| (limit, settings.trim_to)))?;
    Ok(Next::Gives {
        before: cut.tokens_before,
        checkpoint: estimate_tokens(&compacted.summary),
        trimmed,
        unchecked,
    })
}

/// What the verbatim method shows of a checkpoint: one that the model is known to have written, and
/// that covers all work of what is compacted.
///
/// Errors: the session changed while it was read.
pub fn working_state<'c>(
    branch: &Branch,
    settings: &Settings,
    checkpoint: Option<&'c Checkpoint>,
    first_kept: usize,
) -> Result<Option<WorkingState<'c>>> {
    let Some(checkpoint) = checkpoint.filter(|c| settings.keeps_checkpoint() && c.is_models())
    else {
        return Ok(None);
    };
    let is_fresh = checkpoint::is_fresh(checkpoint, &Projection::of(branch)?, first_kept);
    Ok(is_fresh.then(|| WorkingState {
        text: &checkpoint.text,
        at: &checkpoint.at,
        entry: checkpoint.entry.as_deref(),
    }))
}

fn next_from_checkpoint(
    branch: &Branch,
    checkpoint: Option<&Checkpoint>,
    cut: &Cut,
    around: &Surroundings,
) -> Result<Next> {
    let request = checkpoint::Request {
        first_kept: cut.first_kept,
        is_split_turn: cut.is_split_turn,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        at: around.now,
        cwd: around.cwd,
    };
    Ok(match checkpoint::compact(branch, checkpoint, &request)? {
        Some(compacted) => Next::Gives {
            before: cut.tokens_before,
            checkpoint: estimate_tokens(&compacted.summary),
            trimmed: false,
            unchecked: None,
        },
        None => {
            Next::Nothing("there is neither a checkpoint nor anything to make a digest of".into())
        }
    })
}

/// How a checkpoint stands to its branch.
pub struct Standing<'c> {
    checkpoint: &'c Checkpoint,
    /// Messages of the model and of tools after it; `None` where nobody knows what it covers.
    behind: Option<usize>,
}

impl<'c> Standing<'c> {
    /// Errors: the session changed while it was read.
    pub fn of(checkpoint: &'c Checkpoint, branch: &Branch) -> Result<Standing<'c>> {
        let context = Projection::of(branch)?;
        let session = branch.session;
        let is_work = |(position, entry): &(usize, _)| {
            context.is_visible(*position)
                && matches!(session.role(*entry), Role::Assistant | Role::ToolResult)
        };
        let behind = (checkpoint.end > 0)
            .then(|| branch.iter().skip(checkpoint.end).filter(is_work).count());
        Ok(Standing { checkpoint, behind })
    }
}

impl fmt::Display for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Standing { checkpoint, behind } = self;
        write!(
            f,
            "{} characters of {} ({}",
            grouped(checkpoint.chars as u64),
            checkpoint.at,
            checkpoint.source.name()
        )?;
        if let Some(entry) = &checkpoint.entry {
            write!(f, ", entry {entry}")?;
        }
        match behind {
            Some(0) => write!(f, "); it covers all work"),
            Some(n) => {
                write!(f, "); {} came after it", counted(*n, "message of work", "messages of work"))
            }
            None => write!(f, "); what it covers is not known"),
        }
    }
}

fn last(branch: &Branch, number: usize) -> Result<Option<Last>> {
    let session = branch.session;
    let newest = branch.iter().rev().find(|(_, entry)| session.kind(*entry) == Kind::Compaction);
    let Some((position, entry)) = newest else {
        return Ok(None);
    };
    let read = session.read(entry, Detail::Kept)?;
    let Body::Compaction(compaction) = read.body else {
        return Ok(None);
    };
    let details = compaction.details.as_deref().and_then(crate::json::Fields::parse);
    Ok(Some(Last {
        at: read.timestamp.unwrap_or_else(|| "an unknown time".into()),
        kind: details.and_then(|details| details.string("kind")).map_or_else(
            || "summary by a model".into(),
            |kind| escape_metadata(&clip(&kind, 60)).into_owned(),
        ),
        tokens_before: compaction.tokens_before.unwrap_or(0.0).max(0.0) as u64,
        tokens_after: estimate::context_tokens(&Projection::at(branch, position + 1)?)?,
        number,
    }))
}

impl Status {
    /// One row for each thing that holds.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(8);
        let mut row = |label, text, level| rows.push(Row { label, text, level });
        row("method", self.method.clone(), None);
        row("cap", self.cap.clone(), None);
        row("last", self.last.as_ref().map_or_else(never, Last::to_string), None);
        if let Some(base) = &self.base {
            let text = format!(
                "a {} of {} is part of the context; /compaction-method verbatim rebuild replaces it",
                base.kind.describe(),
                base.at
            );
            row("mixed", text, Some(Level::Warning));
        }
        if let Some(base) = &self.rebuilding {
            let text = format!(
                "a {} of {} is part of the context until the next compaction, which replaces it word for word",
                base.kind.describe(),
                base.at
            );
            row("mixed", text, None);
        }
        if let Some(checkpoint) = &self.checkpoint {
            row("checkpoint", checkpoint.clone(), None);
        }
        let cancelled = matches!(self.next, Next::Cancelled(_)).then_some(Level::Warning);
        row("next", self.next.to_string(), cancelled);
        row("pinned", listed(&self.pins, "entry", "entries"), None);
        let mut retained = listed(&self.startup_reads, "startup read", "startup reads");
        if self.startup_open {
            retained.push_str(if self.startup_reads.len() > 1 { "\n" } else { ", " });
            retained.push_str("more may come until the second user message");
        }
        row("retained", retained, None);
        rows
    }
}

/// In two columns.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (at, Row { label, text, .. }) in self.rows().iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{label:<12}{}", text.replace('\n', "\n            "))?;
        }
        Ok(())
    }
}

fn never() -> String {
    "this branch was not compacted yet".to_owned()
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "compaction {}, {}, {}: {} → about {} tokens",
            self.number,
            self.kind,
            self.at,
            grouped(self.tokens_before),
            grouped(self.tokens_after)
        )
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Next::Nothing(why) => write!(f, "nothing to compact: {why}"),
            Next::Summary => f.write_str("a model would write a summary"),
            Next::Cancelled(budget) => write!(
                f,
                "it would be cancelled: the cap is {budget}, and the context window is not known"
            ),
            Next::Gives { before, checkpoint, trimmed, unchecked } => {
                write!(
                    f,
                    "{} tokens in context; a checkpoint of about {} and the recent conversation would stay",
                    grouped(*before),
                    grouped(*checkpoint),
                )?;
                match unchecked {
                    Some(budget) => write!(
                        f,
                        " (the cap of {budget} aside: --context-window N says of how much)"
                    ),
                    None if *trimmed => f.write_str(" (trimmed by the cap)"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// One name stays on the line of its number, more stand below it.
fn listed(names: &[String], one: &str, many: &str) -> String {
    match names {
        [] => format!("no {many}"),
        [name] => format!("1 {one}: {name}"),
        names => format!("{}:\n{}", counted(names.len(), one, many), names.join("\n")),
    }
}
