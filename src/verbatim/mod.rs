//! The verbatim method: prose word for word, calls as signatures, everything else out of the
//! context and findable in the session.

pub mod checkpoint;
pub mod details;
pub mod file_lists;
pub mod history;
pub mod item;
pub mod signature;
pub mod span;
pub mod wording;

use serde_json::Value;

use crate::error::Result;
use crate::session::projection::Projection;
use crate::session::{Branch, Detail};
use checkpoint::{Checkpoint, Remarks};
use details::SpanMeta;
pub use history::{Base, BaseKind, History};

/// What Pi (or the command line) says about the compaction to come.
pub struct Request<'r> {
    /// Position of the first kept entry on the branch.
    pub first_kept: usize,
    pub tokens_before: f64,
    /// Pi's reason: `manual`, `threshold` or `overflow`.
    pub trigger: &'r str,
    /// What the user wrote behind `/compact`.
    pub words: Option<&'r str>,
    /// Now, ISO 8601.
    pub at: &'r str,
    /// The session's working directory.
    pub cwd: &'r str,
}

/// A verbatim compaction, ready for Pi.
#[derive(Debug)]
pub struct Compacted {
    pub summary: String,
    pub details: Value,
    /// The base is a model's summary: part of the context is not word for word.
    pub mixed_context: bool,
}

/// Builds the checkpoint of everything between the last kept boundary and `first_kept`; `None`
/// where nothing lies between them.
///
/// Errors: the session changed while it was read.
pub fn compact(branch: &Branch, request: &Request) -> Result<Option<Compacted>> {
    let context = Projection::of(branch)?;
    if request.first_kept <= context.start {
        return Ok(None);
    }
    let span = span::derive(&context, context.start..request.first_kept, request.cwd)?;
    let mut history = history::read(branch, request.cwd)?;
    span.operations
        .iter()
        .for_each(|operation| history.files.add(operation));

    let meta = SpanMeta {
        n: history.spans.last().map_or(1, |last| last.meta.n + 1),
        at: request.at.to_owned(),
        trigger: request.trigger.to_owned(),
        words: request.words.map(str::to_owned),
        suffix: checkpoint::span_suffix(&span.items),
        from: span.from.clone(),
        to: span.to.clone(),
    };
    let tail_from = match branch.get(request.first_kept) {
        Some(entry) => branch.session.read(entry, Detail::Kept)?.timestamp,
        None => None,
    };
    let mut spans: Vec<_> = history
        .spans
        .iter()
        .map(|stored| (&stored.meta, stored.items.as_slice()))
        .collect();
    spans.push((&meta, span.items.as_slice()));
    let rendered = Checkpoint {
        base: history.base.as_ref(),
        spans,
        files: &history.files,
        remarks: Remarks {
            compaction: history.compactions + 1,
            entries: span.entries,
            tokens_before: request.tokens_before,
        },
        tail_from: tail_from.as_deref(),
    }
    .render();
    Ok(Some(Compacted {
        details: details::build(&meta, &span, Some(rendered.new_span), request.tokens_before),
        summary: rendered.summary,
        mixed_context: history
            .base
            .is_some_and(|base| base.kind == BaseKind::ModelSummary),
    }))
}
