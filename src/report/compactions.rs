//! The compactions of the branch: what each took out, and its checkpoint read back part by part.

use std::collections::HashMap;

use super::context::Step;
use super::data::{Compaction, Line, Part};
use super::parts::{Checkpoint, Figures};
use super::room::{fitted, limit};
use super::spans::Spans;
use crate::checkpoint;
use crate::error::Result;
use crate::json::Fields;
use crate::session::{self, Body, Branch, Detail};
use crate::verbatim::{details, history};

/// Bytes that the lines of all spans may take.
const ROOM: u64 = 2 << 20;
/// Characters of a part of the newest checkpoint, and of an older one.
const PART_CHARS: usize = 100_000;
const OLDER_PART_CHARS: usize = 4_000;

/// The numbers of the entries by their ids.
pub type Ids<'i> = HashMap<&'i str, usize>;

/// Reads the compactions that the walk along the branch met.
///
/// Errors: the session changed while it was read.
pub fn collect(branch: &Branch, steps: &[Step], ids: &Ids) -> Result<Vec<Compaction>> {
    let mut spans = Spans::new(branch, steps);
    let mut compactions = Vec::with_capacity(steps.len());
    for number in 0..steps.len() {
        let chars = if number + 1 == steps.len() { PART_CHARS } else { OLDER_PART_CHARS };
        compactions.extend(compaction(branch, steps, number, &mut spans, chars, ids)?);
    }
    let items = spans.into_items();
    let sizes = items.iter().flatten().map(|item| item.text.len() as u64).collect();
    let limit = limit(sizes, ROOM);
    for (compaction, items) in compactions.iter_mut().zip(items) {
        for item in items {
            let entry = ids.get(item.entry.as_str()).copied();
            compaction.lines.push(Line(entry, item.kind.name(), fitted(&item.text, limit).0));
        }
    }
    Ok(compactions)
}

fn compaction(
    branch: &Branch,
    steps: &[Step],
    number: usize,
    spans: &mut Spans,
    chars: usize,
    ids: &Ids,
) -> Result<Option<Compaction>> {
    let step = &steps[number];
    let Some(entry) = branch.get(step.at) else { return Ok(None) };
    let Body::Compaction(read) = branch.session.read(entry, Detail::Kept)?.body else {
        return Ok(None);
    };
    let raw = read.details.as_deref().unwrap_or_default();
    let details = Fields::parse(raw);
    let method = method(details.as_ref());
    let mut figures = Figures::default();
    let mut parts = Vec::new();
    let (mut trigger, mut words) = (String::new(), None);
    match (method, &details) {
        ("verbatim", Some(details)) => {
            let span = details::read_span(details, &read.summary);
            let own = span.as_ref().map_or(0, |span| span.meta.n);
            if let Some(span) = span {
                (trigger, words) = (span.meta.trigger, span.meta.words);
                spans.store(number, span.items);
            }
            let checkpoint = Checkpoint { text: &read.summary, number, own, chars, ids };
            (parts, figures) = checkpoint.read(spans)?;
        }
        ("checkpoint", Some(details)) => {
            trigger = details.string("trigger").unwrap_or_default();
            let checkpoint = Checkpoint { text: &read.summary, number, own: 0, chars, ids };
            (parts, figures) = checkpoint.read(spans)?;
        }
        _ => parts.push(whole(&read, method, chars, step)),
    }
    Ok(Some(Compaction {
        entry: entry.index(),
        method,
        trigger,
        words,
        tokens_before: read.tokens_before,
        range: [step.range.start, step.range.end],
        before: step.before,
        took: step.took,
        stayed: step.stayed,
        after: step.after,
        stands: figures.stands,
        holds: figures.holds,
        trimmed: figures.trimmed,
        trimmed_lines: [figures.gone, figures.cut],
        parts,
        lines: Vec::new(),
    }))
}

fn method(details: Option<&Fields>) -> &'static str {
    match details.and_then(|details| details.string("kind")).as_deref() {
        Some(details::KIND) => "verbatim",
        Some(checkpoint::DETAILS_KIND) => "checkpoint",
        Some(history::OLDER_KIND) => "older",
        _ => "summary",
    }
}

/// A checkpoint that is not made of parts.
fn whole(read: &session::Compaction, name: &'static str, chars: usize, step: &Step) -> Part {
    let (text, chars) = fitted(&read.summary, chars);
    Part { name, tokens: step.summary(), text, chars, ..Part::default() }
}
