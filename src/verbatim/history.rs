//! What earlier compactions on the branch contribute to the next checkpoint: the base, the spans
//! behind it, the file lists.

use super::carried::{self, Carried};
use super::details::{self, SpanMeta, StoredSpan};
use super::item::{Item, ItemKind};
use super::span;
use super::startup::Selection;
use super::tags::span_suffix;
use crate::error::Result;
use crate::json::{self, Fields};
use crate::session::file_lists::FileLists;
use crate::session::projection::{Projection, kept_from};
use crate::session::{Body, Branch, Compaction, Detail, Entry, Kind};
use crate::settings::METHOD_ENTRY;
use crate::text::estimate_tokens;

/// `details.kind` of the older verbatim extension.
pub const OLDER_KIND: &str = "mech-compact";
/// `details.kind` of our checkpoint method, whose raw entries are taken as a span.
const CHECKPOINT_KIND: &str = "stet.checkpoint";

/// The trigger of a compaction whose details do not say it.
pub const UNKNOWN: &str = "unknown";

/// The summary of a compaction that is not made of spans; it is carried as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    pub kind: BaseKind,
    pub text: String,
    pub at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseKind {
    /// Written by a model: it paraphrases.
    ModelSummary,
    /// A checkpoint of the older extension from before it stored spans.
    LegacyCheckpoint,
}

impl BaseKind {
    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            BaseKind::ModelSummary => "summary that a model wrote",
            BaseKind::LegacyCheckpoint => "checkpoint of the older extension",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            BaseKind::ModelSummary => "model-summary",
            BaseKind::LegacyCheckpoint => "legacy-checkpoint",
        }
    }
}

#[derive(Debug, Default)]
pub struct History {
    pub base: Option<Base>,
    /// A base that is still in the context, and that the next compaction replaces by spans because
    /// the person asked for it.
    pub rebuilding: Option<Base>,
    /// Oldest first, all from after the base. Empty in an outline, and where they are carried.
    pub spans: Vec<StoredSpan>,
    /// The newest checkpoint's conversation, where it can be taken over as it is.
    pub carried: Option<Carried>,
    pub files: FileLists,
    /// The newest stored selection of startup reads.
    pub startup: Option<Selection>,
    /// Compactions on the branch, of whatever kind.
    pub compactions: usize,
    /// How many of the newest compactions in a row made nothing smaller.
    pub without_progress: usize,
    /// Estimated tokens of the newest compaction's summary.
    pub summary_tokens: u64,
}

/// How much of each compaction is read.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// Its details.
    Outline,
    /// Its text too.
    Whole,
}

/// Reads the compactions of a branch.
///
/// Errors: the session changed while it was read.
pub fn read(branch: &Branch, cwd: &str) -> Result<History> {
    read_until(branch, branch.len(), cwd)
}

/// The same for the first `end` entries of the branch.
///
/// Errors: the session changed while it was read.
pub fn read_until(branch: &Branch, end: usize, cwd: &str) -> Result<History> {
    walk(branch, end, cwd, Depth::Whole)
}

/// The same without any text: what kind of compactions there were, and which files they name.
///
/// Errors: the session changed while it was read.
pub fn outline(branch: &Branch, cwd: &str) -> Result<History> {
    walk(branch, branch.len(), cwd, Depth::Outline)
}

/// What the next checkpoint needs: where the newest one can be carried on, only that one is read.
///
/// Errors: the session changed while it was read.
pub fn for_next(branch: &Branch, cwd: &str) -> Result<History> {
    let mut outline = outline(branch, cwd)?;
    match carried::newest(branch, outline.rebuilding.is_some())? {
        Some(newest) => {
            outline.carried = Some(newest.carried);
            outline.startup = newest.startup;
            outline.summary_tokens = newest.tokens;
            Ok(outline)
        }
        None => read(branch, cwd),
    }
}

fn walk(branch: &Branch, end: usize, cwd: &str, depth: Depth) -> Result<History> {
    let mut history = History::default();
    let rebuilt = rebuilt_until(branch, end)?;
    for (position, entry) in branch.iter().take(end) {
        if branch.session.kind(entry) != Kind::Compaction {
            continue;
        }
        let read = match depth {
            Depth::Outline => branch.session.read_outline(entry)?,
            Depth::Whole => branch.session.read(entry, Detail::Kept)?,
        };
        let Entry { timestamp, body: Body::Compaction(compaction) } = read else { continue };
        history.compactions += 1;
        let raw_details = compaction.details.clone().unwrap_or_default();
        let details = Fields::parse(&raw_details);
        history.summary_tokens = estimate_tokens(&compaction.summary);
        history.without_progress = match details.as_ref().and_then(|d| d.bool("noProgress")) {
            Some(true) => history.without_progress + 1,
            _ => 0,
        };
        if let Some(details) = &details {
            history.files.carry(details, cwd);
            if details.string("kind").as_deref() == Some(details::KIND) {
                let startup = details::read_startup(details, &compaction.summary);
                history.startup = startup.or(history.startup);
            }
        }
        let at = timestamp.unwrap_or_default();
        let stored = match depth {
            Depth::Outline => stored_kind(details.as_ref()),
            Depth::Whole => stored(details.as_ref(), &compaction, &at),
        };
        match stored {
            Stored::Span(span) => history.push(span, position, rebuilt),
            Stored::Unread => history.passed(position, rebuilt),
            Stored::Raw => {
                let span = derived(branch, position, &compaction, at, cwd)?;
                history.push(span, position, rebuilt);
            }
            Stored::Base(kind) => {
                let text = compaction.summary.trim_end_matches(['\n', '\r']).to_owned();
                let base = Some(Base { kind, text, at: at.clone() });
                if position < rebuilt && depth == Depth::Outline {
                    history.rebuilding = base;
                } else if position < rebuilt {
                    let span = derived(branch, position, &compaction, at, cwd)?;
                    history.push(span, position, rebuilt);
                    history.rebuilding = base;
                } else {
                    history.spans.clear();
                    (history.base, history.rebuilding) = (base, None);
                }
            }
        }
    }
    Ok(history)
}

impl History {
    /// Spans are counted from the base; without one to rebuild they have these numbers already.
    fn push(&mut self, mut span: StoredSpan, position: usize, rebuilt: usize) {
        span.meta.n = self.spans.len() + 1;
        self.spans.push(span);
        self.passed(position, rebuilt);
    }

    /// A compaction of spans at this position: what was to be rebuilt before it is.
    fn passed(&mut self, position: usize, rebuilt: usize) {
        if position > rebuilt {
            self.rebuilding = None;
        }
    }

    /// The base that the context holds now.
    pub fn base_in_context(&self) -> Option<&Base> {
        self.base.as_ref().or(self.rebuilding.as_ref())
    }

    /// Part of the context was written by a model.
    pub fn is_mixed(&self) -> bool {
        self.base_in_context().is_some_and(|base| base.kind == BaseKind::ModelSummary)
    }
}

/// The position up to which the person asked for bases to be replaced by spans of the raw branch.
fn rebuilt_until(branch: &Branch, end: usize) -> Result<usize> {
    for (position, entry) in branch.iter().take(end).rev() {
        if branch.session.is_setting(entry)
            && let Body::State { custom_type, data: Some(data) } =
                branch.session.read(entry, Detail::Kept)?.body
            && custom_type == METHOD_ENTRY
            && Fields::parse(&data).and_then(|data| data.bool("rebuild")) == Some(true)
        {
            return Ok(position);
        }
    }
    Ok(0)
}

enum Stored {
    Span(StoredSpan),
    /// A span whose text was not read.
    Unread,
    /// No text of its own; the raw entries have it.
    Raw,
    Base(BaseKind),
}

/// What a compaction is, by its details alone.
fn stored_kind(details: Option<&Fields>) -> Stored {
    match details.and_then(|details| details.string("kind")).as_deref() {
        Some(details::KIND | CHECKPOINT_KIND) => Stored::Unread,
        Some(OLDER_KIND) => match details.and_then(|details| older_span(details, "")) {
            Some(_) => Stored::Unread,
            None => Stored::Base(BaseKind::LegacyCheckpoint),
        },
        _ => Stored::Base(BaseKind::ModelSummary),
    }
}

fn stored(details: Option<&Fields>, compaction: &Compaction, at: &str) -> Stored {
    let kind = details.and_then(|details| details.string("kind"));
    match (kind.as_deref(), details) {
        (Some(details::KIND), Some(details)) => {
            details::read_span(details, &compaction.summary).map_or(Stored::Raw, Stored::Span)
        }
        (Some(CHECKPOINT_KIND), _) => Stored::Raw,
        (Some(OLDER_KIND), Some(details)) => {
            older_span(details, at).map_or(Stored::Base(BaseKind::LegacyCheckpoint), Stored::Span)
        }
        _ => Stored::Base(BaseKind::ModelSummary),
    }
}

/// A span of the older extension: its lines are taken over as they are.
fn older_span(details: &Fields, at: &str) -> Option<StoredSpan> {
    let span = details.object("span")?;
    span.raw("lines").filter(|raw| raw.get().starts_with('['))?;
    let items: Vec<Item> = span
        .array("lines")
        .into_iter()
        .filter_map(json::string)
        .map(|text| Item { kind: older_kind(&text), entry: String::new(), text })
        .collect();
    let meta = SpanMeta {
        at: span.string("at").unwrap_or_else(|| at.to_owned()),
        trigger: span.string("reason").unwrap_or_else(|| UNKNOWN.into()),
        suffix: span_suffix(&items),
        from: time(&span, "from"),
        to: time(&span, "to"),
        ..SpanMeta::default()
    };
    Some(StoredSpan { meta, items })
}

/// A time of the older extension: ISO text, or milliseconds since the epoch.
fn time(span: &Fields, key: &str) -> Option<String> {
    let text = span.string(key).filter(|text| !text.is_empty());
    text.or_else(|| span.number(key).and_then(|ms| crate::text::iso_time(ms as i64)))
}

/// The kind of an older line, by the label it begins with.
fn older_kind(line: &str) -> ItemKind {
    let labels = [
        ("[User]:", ItemKind::User),
        ("[Assistant tool calls]:", ItemKind::Calls),
        ("[BashExecution]:", ItemKind::Bash),
        ("[Custom]:", ItemKind::Custom),
        ("[Branch summary]:", ItemKind::BranchSummary),
        ("[Compaction summary]:", ItemKind::BranchSummary),
    ];
    let found = labels.iter().find(|(label, _)| line.starts_with(label));
    found.map_or(ItemKind::Assistant, |(_, kind)| *kind)
}

/// The span of a compaction at `position` from the raw entries, as they were projected then.
fn derived(
    branch: &Branch,
    position: usize,
    compaction: &Compaction,
    at: String,
    cwd: &str,
) -> Result<StoredSpan> {
    let context = Projection::at(branch, position)?;
    let end = kept_from(branch, position, compaction).min(position);
    let span = span::derive(&context, context.start..end.max(context.start), cwd)?;
    let meta = SpanMeta {
        at,
        trigger: UNKNOWN.into(),
        suffix: span_suffix(&span.items),
        from: span.from.clone(),
        to: span.to.clone(),
        ..SpanMeta::default()
    };
    Ok(StoredSpan { meta, items: span.items })
}
