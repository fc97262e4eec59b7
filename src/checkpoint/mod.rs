//! The checkpoint method: at a compaction the model's own note on the state of its work takes the
//! place of the conversation, and of what it does not cover a digest is made mechanically.

pub mod activity;
mod carry;
mod collect;
pub mod digest;
pub mod file;
pub mod line;
mod render;
pub mod source;
pub mod store;
pub mod verify;
pub mod wording;
pub mod written;

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use source::{Checkpoint, Files, Found, Source};
pub use written::Written;

use crate::error::Result;
use crate::json::{self, Fields};
use crate::session::file_lists::{self, FileLists, SpanFiles};
use crate::session::pairing::Outcome;
use crate::session::projection::Projection;
use crate::session::{Body, Branch, Detail, Kind as EntryKind, Role};
use crate::text::estimate_tokens;
use collect::collect;
use digest::{Budget, Digest};
use line::{Kind, Line};

/// The tool with which the model writes its checkpoint.
pub const TOOL: &str = "checkpoint_update";
/// `details.kind` of a compaction of this method.
pub const DETAILS_KIND: &str = "stet.checkpoint";
/// That of the method whose compactions keep the conversation itself.
const VERBATIM_KIND: &str = "stet.verbatim";
/// Of a checkpoint so many characters are kept.
pub const TEXT_CHARS: usize = 6000;
/// A digest has at most so many.
const DIGEST_CHARS: usize = 6000;
/// What earlier compactions carried has at most so many.
const CARRY_CHARS: usize = 1200;

/// What Pi says about the compaction to come.
pub struct Request<'r> {
    /// Position of the first kept entry on the branch.
    pub first_kept: usize,
    /// The cut is inside a turn.
    pub is_split_turn: bool,
    /// Pi's estimate of the context, in tokens; it goes into the details as it came.
    pub tokens_before: f64,
    /// Pi's reason: `manual`, `threshold` or `overflow`.
    pub trigger: &'r str,
    /// Now, ISO 8601.
    pub at: &'r str,
    pub cwd: &'r str,
}

/// How much of the span the checkpoint covers. What no tier fits is left to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// All of the model's and the tools' work: the text stands for it.
    Covered,
    /// Less, or there is none: a digest stands beside it.
    Digested,
}

impl Tier {
    pub fn number(self) -> u8 {
        match self {
            Tier::Covered => 1,
            Tier::Digested => 2,
        }
    }
}

/// A compaction, ready for Pi.
#[derive(Debug)]
pub struct Compacted {
    pub tier: Tier,
    pub summary: String,
    pub details: Box<RawValue>,
}

/// Whether the checkpoint covers all work of the positions from `start` to `end`.
pub fn is_fresh(checkpoint: &Checkpoint, context: &Projection, end: usize) -> bool {
    let session = context.branch.session;
    let is_work = |position: usize| {
        let role = context.branch.get(position).map(|entry| session.role(entry));
        context.is_visible(position) && matches!(role, Some(Role::Assistant | Role::ToolResult))
    };
    let knows = checkpoint.source != Source::Shared && checkpoint.end > 0;
    knows && !(checkpoint.end.max(context.start)..end).any(is_work)
}

/// Makes the compaction of everything between the last kept boundary and `first_kept`; `None`
/// where there is nothing to make it of.
///
/// Errors: the session changed while it was read.
pub fn compact(
    branch: &Branch,
    checkpoint: Option<&Checkpoint>,
    request: &Request,
) -> Result<Option<Compacted>> {
    let context = Projection::of(branch)?;
    if request.first_kept <= context.start {
        return Ok(None);
    }
    let known = checkpoint.map_or(0, |c| c.end).clamp(context.start, request.first_kept);
    let covered = collect(&context, context.start..known, request.cwd)?;
    let news = collect(&context, known..request.first_kept, request.cwd)?;
    let earlier = carry::earlier(branch, &context)?;
    let all: Vec<Line> =
        [&earlier, &covered.lines, &news.lines].into_iter().flatten().cloned().collect();
    let is_digestible = all.iter().any(|line| line.kind != Kind::Injected);
    if checkpoint.is_none() && !is_digestible {
        return Ok(None);
    }
    let fresh = checkpoint.is_some_and(|c| is_fresh(c, &context, request.first_kept));
    let tier = if fresh { Tier::Covered } else { Tier::Digested };

    // What was asked before the checkpoint was written stays at hand, in case it says nothing of it.
    let asked = covered.lines.iter().filter(|line| line.kind == Kind::Ask).cloned();
    let before: Vec<Line> = earlier.into_iter().chain(asked).collect();
    let past = Past::of(branch, request.cwd)?;
    let mut files = past.files;
    let operations = [&covered, &news].into_iter().flat_map(|part| &part.operations);
    operations.clone().for_each(|operation| files.add(operation));
    let sections = render::Sections {
        checkpoint,
        carried: &Digest::of(&before, Budget::bare(CARRY_CHARS)),
        news: (!news.lines.is_empty())
            .then(|| Digest::of(&news.lines, Budget::for_text(news.chars))),
        split_turn: request.is_split_turn.then(|| turn_start(&context, request.first_kept)),
        file_lists: &file_lists::render(&files, &|_, _| None),
        compaction: past.compactions + 1,
        tier,
        tail_from: tail_from(branch, request.first_kept)?,
    };
    let replaced = past.summary_tokens + covered.tokens + news.tokens;
    let mut summary = sections.render(request, false);
    let no_progress = estimate_tokens(&summary) >= replaced;
    if no_progress {
        summary = sections.render(request, true);
    }
    // That a checkpoint was written tells nobody anything later.
    let worth_it: Vec<Line> =
        all.into_iter().filter(|line| line.kind != Kind::Call || line.text != TOOL).collect();
    let carried = Digest::of(&worth_it, Budget::bare(CARRY_CHARS)).carried();
    let mut details = json!({
        "kind": DETAILS_KIND,
        "v": 1,
        "tier": tier.number(),
        "at": request.at,
        "cwd": request.cwd,
        "trigger": request.trigger,
        "tokensBefore": json::number(request.tokens_before),
        "entries": covered.entries + news.entries,
        "carry": carry::stored(&carried),
    });
    if let Some(details) = details.as_object_mut() {
        let operations: Vec<_> = operations.cloned().collect();
        if let Value::Object(files) = json!(SpanFiles::of(&operations)) {
            details.extend(files);
        }
        if let Some(checkpoint) = checkpoint {
            details.insert("checkpoint".into(), described(checkpoint));
            // The next search for the newest call starts from here.
            if checkpoint.source == Source::Call {
                details.insert("call".into(), json!(checkpoint.entry));
            }
        }
        if request.is_split_turn {
            details.insert("splitTurn".into(), json!(true));
        }
        if no_progress {
            details.insert("noProgress".into(), json!(true));
        }
    }
    Ok(Some(Compacted { tier, summary, details: json::to_raw(&details)? }))
}

fn described(checkpoint: &Checkpoint) -> Value {
    let mut described = json!({
        "source": checkpoint.source.name(),
        "at": checkpoint.at,
        "chars": checkpoint.chars,
        "end": checkpoint.end,
    });
    if let Some(entry) = &checkpoint.entry {
        described["entry"] = json!(entry);
    }
    described
}

/// Where the turn begins that the cut divides: at the last message before it that is no answer.
fn turn_start(context: &Projection, first_kept: usize) -> usize {
    let session = context.branch.session;
    let starts = |position: &usize| {
        let Some(entry) = context.branch.get(*position) else {
            return false;
        };
        context.is_visible(*position)
            && match session.kind(entry) {
                EntryKind::CustomMessage | EntryKind::BranchSummary => true,
                EntryKind::Message => {
                    matches!(session.role(entry), Role::User | Role::BashExecution | Role::Custom)
                }
                _ => false,
            }
    };
    (context.start..first_kept).rev().find(starts).unwrap_or(context.start)
}

fn tail_from(branch: &Branch, first_kept: usize) -> Result<Option<String>> {
    match branch.get(first_kept) {
        Some(entry) => Ok(branch.session.read(entry, Detail::Kept)?.timestamp),
        None => Ok(None),
    }
}

/// What the compactions of the branch leave to the next one, whichever method made them.
struct Past {
    compactions: usize,
    files: FileLists,
    summary_tokens: u64,
}

impl Past {
    fn of(branch: &Branch, cwd: &str) -> Result<Past> {
        let mut past = Past { compactions: 0, files: FileLists::default(), summary_tokens: 0 };
        let session = branch.session;
        for (_, entry) in branch.iter().filter(|(_, e)| session.kind(*e) == EntryKind::Compaction) {
            let Body::Compaction(compaction) = session.read(entry, Detail::Kept)?.body else {
                continue;
            };
            past.compactions += 1;
            past.summary_tokens = estimate_tokens(&compaction.summary);
            if let Some(details) = compaction.details.as_deref().and_then(Fields::parse) {
                past.files.carry(&details, cwd);
            }
        }
        Ok(past)
    }
}

fn outcome_of(label: &str) -> Option<Outcome> {
    [Outcome::Ok, Outcome::Error, Outcome::Unknown].into_iter().find(|o| o.label() == label)
}
