//! The checkpoint as text. What does not change from one compaction to the next comes first.

use std::borrow::Cow;
use std::ops::Range;

use super::budget::Piece;
use super::details::SpanMeta;
use super::history::{Base, BaseKind};
use super::item::{self, SpanRef};
use super::tags::{close_tag, open_tag, trimmed_note};
use super::{WorkingState, wording};
use crate::fence::fenced;
use crate::text::{counted, escape_attribute, grouped};

/// The parts of a checkpoint that were rendered by their own rooms, in their order.
pub struct Checkpoint<'a> {
    /// All that stands before the spans: [`beginning`], or what is carried on.
    pub beginning: Cow<'a, str>,
    /// Oldest first; the last one is the new one.
    pub spans: &'a [SpanRef<'a>],
    pub pieces: &'a [Piece<'a>],
    pub startup_reads: &'a str,
    pub pins: &'a str,
    pub working_state: &'a str,
    pub file_lists: &'a str,
    pub remarks: Remarks,
    /// Time of the first kept entry.
    pub tail_from: Option<&'a str>,
}

/// What is said about this compaction alone.
pub struct Remarks {
    /// The how manieth compaction of the branch this is.
    pub compaction: usize,
    pub entries: usize,
    pub tokens_before: f64,
    pub no_progress: bool,
}

pub struct Rendered {
    pub summary: String,
    /// Bytes of the last span's items in the summary; `None` where the cap changed them.
    pub new_span: Option<Range<usize>>,
    /// Where the last span ends.
    pub section_end: usize,
    /// Where the startup reads begin.
    pub startup_reads_at: usize,
}

impl Checkpoint<'_> {
    pub fn render(&self) -> Rendered {
        let mut out = String::from(self.beginning.as_ref());
        let new_span = push_conversation(&mut out, self.spans, self.pieces);
        let section_end = out.len();
        let mut startup_reads_at = out.len();
        let sections = [self.startup_reads, self.pins, self.working_state, self.file_lists];
        for (at, section) in sections.iter().enumerate() {
            if !section.is_empty() {
                out.push('\n');
                if at == 0 {
                    startup_reads_at = out.len();
                }
                out.push_str(section);
            }
        }
        if let Some((meta, _)) = self.spans.last() {
            out.push_str(&ending(meta, &self.remarks, self.tail_from));
        }
        Rendered { summary: out, new_span, section_end, startup_reads_at }
    }
}

/// What stands behind the sections: remarks on the newest span, and how far the record goes.
pub fn ending(meta: &SpanMeta, remarks: &Remarks, tail_from: Option<&str>) -> String {
    let mut out = format!(
        "\nCompaction {} ({}, {}): {} became span {}; the context held about {} tokens before.\n",
        remarks.compaction,
        escape_attribute(&meta.trigger),
        escape_attribute(&meta.at),
        counted(remarks.entries, "entry", "entries"),
        meta.n,
        grouped(remarks.tokens_before.max(0.0) as u64),
    );
    if remarks.no_progress {
        out.push_str(wording::NO_PROGRESS);
    }
    if let Some(words) = &meta.words {
        out.push_str("With /compact the user wrote:");
        if words.contains(['\n', '\r']) {
            out.push('\n');
            fenced(&mut out, "compact-words", "", words);
        } else {
            out.push_str(&format!(" {words}\n"));
        }
    }
    out.push('\n');
    out.push_str(wording::EVIDENCE_BOUNDARY);
    out.push_str("\n\n");
    out.push_str(&wording::closing(tail_from));
    out
}

/// The beginning of a checkpoint that carries none on.
pub fn beginning(base: Option<&Base>) -> String {
    let mut out = String::from(wording::INTRODUCTION);
    if let Some(base) = base {
        out.push('\n');
        out.push_str(&base_block(base));
    }
    out
}

/// The base as the checkpoint carries it.
pub fn base_block(base: &Base) -> String {
    let mut out = String::new();
    if base.kind == BaseKind::ModelSummary {
        out.push_str(wording::MIXED_CONTEXT);
    }
    let attributes =
        format!("kind=\"{}\" compacted-at=\"{}\"", base.kind.name(), escape_attribute(&base.at));
    fenced(&mut out, "compacted-base", &attributes, &base.text);
    out
}

/// The model's own note on its work.
pub fn working_state(state: &WorkingState) -> String {
    let mut attributes = format!("written-by=\"model\" at=\"{}\"", escape_attribute(state.at));
    if let Some(entry) = state.entry {
        attributes.push_str(&format!(" entry=\"{}\"", escape_attribute(entry)));
    }
    let mut out = String::new();
    fenced(&mut out, "working-state", &attributes, state.text);
    out
}

fn push_span(out: &mut String, (meta, items): SpanRef) -> Range<usize> {
    out.push_str(&open_tag(meta, false));
    let start = out.len();
    out.push_str(&item::join(items));
    let end = out.len();
    if end > start {
        out.push('\n');
    }
    out.push_str(&close_tag(meta));
    start..end
}

/// A span as a checkpoint holds it untrimmed.
pub fn whole_span(span: SpanRef) -> String {
    let mut out = String::new();
    push_span(&mut out, span);
    out
}

/// The conversation section alone.
pub fn conversation(spans: &[SpanRef], pieces: &[Piece]) -> String {
    let mut out = String::new();
    push_conversation(&mut out, spans, pieces);
    out
}

/// Gives the bytes of the last span's items; `None` where the cap changed them.
fn push_conversation(
    out: &mut String,
    spans: &[SpanRef],
    pieces: &[Piece],
) -> Option<Range<usize>> {
    let mut new_span = None;
    for piece in pieces {
        out.push('\n');
        match piece {
            Piece::Whole(at) => {
                let range = push_span(out, spans[*at]);
                new_span = (*at + 1 == spans.len()).then_some(range);
            }
            Piece::Trimmed(at, lines) => {
                let (meta, _) = spans[*at];
                out.push_str(&open_tag(meta, true));
                out.push_str(&trimmed_note(spans[*at].1));
                for line in lines {
                    out.push_str(line);
                    out.push('\n');
                }
                out.push_str(&close_tag(meta));
            }
            Piece::Emptied(emptied) => out.push_str(&emptied.to_string()),
        }
    }
    new_span
}
