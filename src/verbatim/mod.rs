//! The verbatim method: prose word for word, calls as signatures, everything else out of the
//! context and findable in the session.

mod annotation;
pub mod budget;
mod carried;
pub mod contents;
pub mod details;
mod evidence;
pub mod history;
pub mod item;
mod piece;
pub mod pins;
pub mod render;
pub mod signature;
pub mod span;
pub mod startup;
mod tags;
pub mod verify;
pub mod wording;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::error::Result;
use crate::session::projection::{self, Edits, Projection};
use crate::session::{Branch, Detail, file_lists};
use crate::settings::{Limit, Measure};
use crate::text::estimate_tokens;
use annotation::Annotations;
use carried::SectionSize;
use details::{SpanMeta, StoredSpan};
use evidence::Evidence;
pub use history::{Base, BaseKind, History};
use item::SpanRef;
use pins::Pin;
use render::{Checkpoint, Remarks};
use span::Span;
pub use startup::Instructions;
use startup::{Selection, StartupRead};

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
    /// The project's instructions as the host knows them; empty: as the session has them.
    pub instructions: &'r [Instructions],
    /// The model's own note on its work, if there is one that is fresh.
    pub working_state: Option<WorkingState<'r>>,
}

/// A text that stands in the checkpoint as the model wrote it.
pub struct WorkingState<'r> {
    pub text: &'r str,
    /// When it was written, ISO 8601.
    pub at: &'r str,
    /// The entry that holds it.
    pub entry: Option<&'r str>,
}

/// A checkpoint in the making: everything is gathered, the size is not decided.
pub struct Draft<'b> {
    tokens_before: f64,
    cwd: String,
    meta: SpanMeta,
    span: Span,
    history: History,
    startup: Selection,
    /// The startup reads that are out of the kept tail, with the section that holds them.
    passed_reads: Vec<StartupRead>,
    reads_section: startup::Section,
    pins: Vec<Pin>,
    pins_section: String,
    /// The section, or nothing.
    working_state: String,
    evidence: Evidence,
    tail_from: Option<String>,
    branch: &'b Branch<'b, 'b>,
}

/// A verbatim compaction, ready for Pi.
#[derive(Debug)]
pub struct Compacted {
    pub summary: String,
    pub details: Box<RawValue>,
}

/// Gathers the checkpoint of everything between the last kept boundary and `first_kept`; `None`
/// where nothing lies between them.
///
/// Errors: the session changed while it was read.
pub fn draft<'b>(branch: &'b Branch<'b, 'b>, request: &Request) -> Result<Option<Draft<'b>>> {
    let context = Projection::of(branch)?;
    if request.first_kept <= context.start {
        return Ok(None);
    }
    let edits = projection::edits(branch, 0, branch.len())?;
    let span = span::derive(&context, context.start..request.first_kept, request.cwd)?;
    let mut history = history::for_next(branch, request.cwd)?;
    span.operations.iter().for_each(|operation| history.files.add(operation));
    let startup =
        startup::select(branch, &edits, history.startup.take(), request.instructions, request.cwd)?;
    let meta = SpanMeta {
        n: history.carried.as_ref().map_or(history.spans.len(), |carried| carried.spans) + 1,
        at: request.at.to_owned(),
        trigger: request.trigger.to_owned(),
        words: request.words.map(str::to_owned),
        suffix: tags::span_suffix(&span.items),
        from: span.from.clone(),
        to: span.to.clone(),
    };
    let tail_from = match branch.get(request.first_kept) {
        Some(entry) => branch.session.read(entry, Detail::Kept)?.timestamp,
        None => None,
    };
    let passed = passed_startup_reads(branch, &edits, &startup, request.first_kept)?;
    let pins = pins::collect(branch, request.first_kept)?;
    Ok(Some(Draft {
        tokens_before: request.tokens_before,
        cwd: request.cwd.to_owned(),
        meta,
        span,
        history,
        startup,
        reads_section: startup::render(&passed),
        passed_reads: passed.into_iter().map(|(read, _)| read).collect(),
        pins_section: pins::render(&pins),
        pins,
        working_state: request
            .working_state
            .as_ref()
            .map_or_else(String::new, render::working_state),
        evidence: Evidence::of_tail(&context, &edits, request.first_kept, request.cwd)?,
        tail_from,
        branch,
    }))
}

/// The selected reads that the cut has passed, with their texts: from the last checkpoint that
/// held them, else from their entries.
fn passed_startup_reads(
    branch: &Branch,
    edits: &Edits,
    startup: &Selection,
    first_kept: usize,
) -> Result<Vec<(StartupRead, String)>> {
    let mut passed = Vec::new();
    for read in &startup.reads {
        if branch.position(&read.entry).is_some_and(|position| position >= first_kept) {
            continue;
        }
        let text = match &read.text {
            Some(text) => Some(text.clone()),
            None => startup::text(branch, edits, &read.entry)?,
        };
        passed.extend(text.map(|text| (read.clone(), text)));
    }
    Ok(passed)
}

impl Draft<'_> {
    fn spans(&self) -> Vec<SpanRef<'_>> {
        let stored = self.history.spans.iter().map(StoredSpan::as_ref);
        stored.chain([(&self.meta, self.span.items.as_slice())]).collect()
    }

    /// The size of what is never trimmed: the base, retained reads, pinned entries, working state.
    fn fixed(&self, measure: Measure) -> u64 {
        let size = |part: &str| if part.is_empty() { 0 } else { measure.of(part) + 1 };
        let base = match (&self.history.carried, &self.history.base) {
            (Some(carried), _) => carried.size(measure).fixed,
            (None, Some(base)) => size(&render::base_block(base)),
            (None, None) => 0,
        };
        base + size(&self.reads_section.text) + size(&self.pins_section) + size(&self.working_state)
    }

    /// The sizes of the conversation section up to its last span, untrimmed.
    fn section_size(&self, measure: Measure) -> SectionSize {
        let own = section_size(self.history.base.as_ref(), &self.spans(), measure);
        match self.history.carried.as_ref().map(|carried| carried.size(measure)) {
            None => own,
            Some(before) => SectionSize {
                fixed: before.fixed,
                tags: before.tags + own.tags,
                lines: before.lines + own.lines,
            },
        }
    }

    /// The conversation does not fit the limit.
    ///
    /// Errors: the session changed while it was read.
    pub fn is_over(&mut self, limit: Limit) -> Result<bool> {
        let whole = self.section_size(limit.measure);
        if budget::fits_whole(self.fixed(limit.measure), whole.tags, whole.lines, limit) {
            return Ok(false);
        }
        self.load_spans()?;
        Ok(budget::is_over(&self.spans(), self.fixed(limit.measure), limit))
    }

    /// Reads the spans that were carried on as bytes: to be trimmed they are needed one by one.
    fn load_spans(&mut self) -> Result<()> {
        if self.history.carried.take().is_some() {
            let History { spans, base, .. } = history::read(self.branch, &self.cwd)?;
            (self.history.spans, self.history.base) = (spans, base);
        }
        Ok(())
    }

    /// What is never trimmed is larger than the limit by itself; its size.
    pub fn fixed_over(&self, limit: Limit) -> Option<u64> {
        Some(self.fixed(limit.measure)).filter(|size| *size > limit.size)
    }

    /// The base is a model's summary: part of the context is not word for word.
    pub fn is_mixed(&self) -> bool {
        self.history.base.as_ref().is_some_and(|base| base.kind == BaseKind::ModelSummary)
    }

    /// Makes the checkpoint. Over a given limit it is trimmed, to `trim_to` per cent of the limit.
    ///
    /// Errors: the session changed while it was read.
    pub fn finish(&mut self, limit: Option<(Limit, f64)>) -> Result<Compacted> {
        let over = match limit {
            Some((limit, _)) => self.is_over(limit)?,
            None => false,
        };
        self.rendered(limit.filter(|_| over))
    }

    fn rendered(&self, limit: Option<(Limit, f64)>) -> Result<Compacted> {
        let spans = self.spans();
        let pieces = match limit {
            Some((limit, trim_to)) => {
                budget::trim(&spans, self.fixed(limit.measure), limit, trim_to)
            }
            None => budget::whole(&spans),
        };
        let annotations = Annotations {
            evidence: &self.evidence,
            retained: &self.passed_reads,
            branch: self.branch,
        };
        let file_lists = file_lists::render(&self.history.files, &|file, modified| {
            annotations.of(file, modified)
        });
        let checkpoint = |no_progress| {
            Checkpoint {
                beginning: match &self.history.carried {
                    Some(carried) => Cow::Borrowed(carried.text.as_str()),
                    None => Cow::Owned(render::beginning(self.history.base.as_ref())),
                },
                spans: &spans,
                pieces: &pieces,
                startup_reads: &self.reads_section.text,
                pins: &self.pins_section,
                working_state: &self.working_state,
                file_lists: &file_lists,
                remarks: Remarks {
                    compaction: self.history.compactions + 1,
                    entries: self.span.entries,
                    tokens_before: self.tokens_before,
                    no_progress,
                },
                tail_from: self.tail_from.as_deref(),
            }
            .render()
        };
        let mut rendered = checkpoint(false);
        let replaced = self.history.summary_tokens + self.span.tokens;
        let no_progress = estimate_tokens(&rendered.summary) >= replaced;
        if no_progress {
            rendered = checkpoint(true);
        }
        let at = rendered.startup_reads_at;
        let startup_texts = self
            .passed_reads
            .iter()
            .zip(&self.reads_section.texts)
            .map(|(read, range)| (read.entry.as_str(), at + range.start..at + range.end))
            .collect();
        let is_whole = pieces.iter().all(|piece| matches!(piece, budget::Piece::Whole(_)));
        let section = is_whole.then(|| {
            carried::to_json(rendered.section_end, self.meta.n, |measure| {
                self.section_size(measure)
            })
        });
        let details = details::build(&details::Parts {
            meta: &self.meta,
            span: &self.span,
            text: rendered.new_span,
            tokens_before: self.tokens_before,
            cwd: &self.cwd,
            startup: &self.startup,
            startup_texts: &startup_texts,
            pins: self.pins.iter().map(|pin| pin.entry.as_str()).collect(),
            section,
            no_progress,
        })?;
        Ok(Compacted { summary: rendered.summary, details })
    }
}

/// The sizes of a section of whole spans behind a base.
fn section_size(base: Option<&Base>, spans: &[SpanRef], measure: Measure) -> SectionSize {
    let (tags, lines) = budget::size_of_whole(spans, measure);
    let base = base.map(render::base_block);
    SectionSize { fixed: base.map_or(0, |base| measure.of(&base) + 1), tags, lines }
}
