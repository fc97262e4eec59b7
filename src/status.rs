//! What holds for a branch: its settings, its last compaction, what the next one would give. One
//! text for `/stet` and `pi-stet status`.

use std::fmt;

use crate::error::{Error, Result};
use crate::session::projection::Projection;
use crate::session::{Body, Branch, Detail, Kind, cut, estimate};
use crate::settings::{CapMode, Settings};
use crate::text::{clip, counted, estimate_tokens, grouped};
use crate::verbatim::{self, Base, Instructions, Request, history};

/// What the caller knows besides the session.
pub struct Surroundings<'s> {
    pub cwd: &'s str,
    pub instructions: &'s [Instructions],
    /// In tokens.
    pub context_window: Option<f64>,
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
    Gives { before: u64, checkpoint: u64, trimmed: bool },
}

impl Status {
    /// Errors: the session changed while it was read.
    pub fn of(branch: &Branch, settings: &Settings, around: &Surroundings) -> Result<Status> {
        let history = history::read(branch, around.cwd)?;
        let mut status = Status {
            method: format!("{} (from {})", settings.method.name(), settings.method_origin.name()),
            cap: format!("{} (from {})", settings.cap, settings.cap_origin.name()),
            last: last(branch, history.compactions)?,
            base: history.base,
            next: Next::Nothing(String::new()),
            pins: Vec::new(),
            startup_reads: Vec::new(),
            startup_open: false,
        };
        let cut = match cut::find(branch, around.keep_recent_tokens) {
            Ok(cut) => cut,
            Err(Error::NothingToCompact(why)) => {
                status.next = Next::Nothing(why);
                return Ok(status);
            }
            Err(error) => return Err(error),
        };
        let request = Request {
            first_kept: cut.first_kept,
            tokens_before: cut.tokens_before as f64,
            trigger: "manual",
            words: None,
            at: around.now,
            cwd: around.cwd,
            instructions: around.instructions,
        };
        if let Some(draft) = verbatim::draft(branch, &request)? {
            let limit = match settings.cap.mode {
                CapMode::Off => None,
                _ => settings.cap.budget.limit(around.context_window),
            };
            let limit = limit.filter(|limit| draft.is_over(*limit));
            let compacted = draft.finish(limit.map(|limit| (limit, settings.trim_to)));
            status.next = Next::Gives {
                before: cut.tokens_before,
                checkpoint: estimate_tokens(&compacted.summary),
                trimmed: limit.is_some(),
            };
            let pin = |pin: &verbatim::pins::Pin| {
                format!("{} ({}, {})", pin.entry, pin.what, clip(&pin.label, 60))
            };
            status.pins = draft.pins().iter().map(pin).collect();
            let startup = draft.startup_reads();
            status.startup_reads = startup
                .reads
                .iter()
                .map(|read| format!("{} ({})", read.path, read.entry))
                .collect();
            status.startup_open = startup.open;
        }
        Ok(status)
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
        kind: details
            .and_then(|details| details.string("kind"))
            .unwrap_or_else(|| "summary by a model".into()),
        tokens_before: compaction.tokens_before.unwrap_or(0.0).max(0.0) as u64,
        tokens_after: estimate::context_tokens(&Projection::at(branch, position + 1)?)?,
        number,
    }))
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "method      {}", self.method)?;
        writeln!(f, "cap         {}", self.cap)?;
        match &self.last {
            None => writeln!(f, "last        this branch was not compacted yet")?,
            Some(last) => writeln!(
                f,
                "last        compaction {}, {}, {}: {} → about {} tokens",
                last.number,
                last.kind,
                last.at,
                grouped(last.tokens_before),
                grouped(last.tokens_after)
            )?,
        }
        if let Some(base) = &self.base {
            writeln!(
                f,
                "mixed       a {} of {} is part of the context; /compaction-method verbatim rebuild replaces it",
                base.kind.describe(),
                base.at
            )?;
        }
        match &self.next {
            Next::Nothing(why) => writeln!(f, "next        nothing to compact: {why}")?,
            Next::Gives { before, checkpoint, trimmed } => writeln!(
                f,
                "next        {} tokens in context; a checkpoint of about {} and the recent conversation would stay{}",
                grouped(*before),
                grouped(*checkpoint),
                if *trimmed { " (trimmed by the cap)" } else { "" }
            )?,
        }
        writeln!(f, "pinned      {}", listed(&self.pins, "entry", "entries"))?;
        let open =
            if self.startup_open { ", more may come until the second user message" } else { "" };
        write!(
            f,
            "retained    {}{open}",
            listed(&self.startup_reads, "startup read", "startup reads")
        )
    }
}

fn listed(names: &[String], one: &str, many: &str) -> String {
    match names {
        [] => format!("no {many}"),
        names => format!("{}: {}", counted(names.len(), one, many), names.join(", ")),
    }
}
