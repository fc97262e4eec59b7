//! The checkpoint as text. What does not change from one compaction to the next comes first.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Range, RangeInclusive};

use super::budget::{Piece, SpanRef};
use super::details::SpanMeta;
use super::history::{Base, BaseKind};
use super::item::{self, Item};
use super::{WorkingState, wording};
use crate::fence::{fenced, free_suffix};
use crate::text::{clip, counted, escape_attribute, grouped};

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
        out.push('\n');
        self.push_remarks(&mut out);
        out.push('\n');
        out.push_str(wording::EVIDENCE_BOUNDARY);
        out.push_str("\n\n");
        out.push_str(&wording::closing(self.tail_from));
        Rendered { summary: out, new_span, section_end, startup_reads_at }
    }

    fn push_remarks(&self, out: &mut String) {
        let Some((meta, _)) = self.spans.last() else {
            return;
        };
        out.push_str(&format!(
            "Compaction {} ({}, {}): {} became span {}; the context held about {} tokens before.\n",
            self.remarks.compaction,
            escape_attribute(&meta.trigger),
            meta.at,
            counted(self.remarks.entries, "entry", "entries"),
            meta.n,
            grouped(self.remarks.tokens_before.max(0.0) as u64),
        ));
        if self.remarks.no_progress {
            out.push_str(wording::NO_PROGRESS);
        }
        if let Some(words) = &meta.words {
            out.push_str("With /compact the user wrote:");
            if words.contains(['\n', '\r']) {
                out.push('\n');
                fenced(out, "compact-words", "", words);
            } else {
                out.push_str(&format!(" {words}\n"));
            }
        }
    }
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

const SPAN_TAG: &str = "compacted-span";

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

/// The numbers of the spans that each placeholder of a checkpoint stands for.
pub fn emptied_numbers(summary: &str) -> impl Iterator<Item = RangeInclusive<usize>> + '_ {
    let opened = format!("<{SPAN_TAG} n=\"");
    summary.lines().filter_map(move |line| {
        let numbers = line
            .strip_prefix(opened.as_str())?
            .split_once('"')
            .filter(|_| line.contains(TRIMMED))?
            .0;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
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
                out.push_str(&trimmed_note(spans[*at]));
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

/// The line that opens a span. A trimmed one keeps the beginning of the words.
pub fn open_tag(meta: &SpanMeta, trimmed: bool) -> String {
    let covers = covers(meta.from.as_deref(), meta.to.as_deref());
    let shown = |words: &String| match trimmed {
        true => escape_attribute(&clip(words, TRIMMED_WORDS)),
        false => escape_attribute(words),
    };
    let words = meta
        .words
        .as_ref()
        .map_or_else(String::new, |words| format!(" words=\"{}\"", shown(words)));
    format!(
        "<{SPAN_TAG}{} n=\"{}\"{covers} compacted-at=\"{}\" trigger=\"{}\"{words}{}>\n",
        meta.suffix,
        meta.n,
        escape_attribute(&meta.at),
        escape_attribute(&meta.trigger),
        if trimmed { TRIMMED } else { "" },
    )
}

const TRIMMED: &str = " trimmed=\"true\"";
/// Characters of the words given with `/compact` that the tag of a trimmed span keeps.
const TRIMMED_WORDS: usize = 120;

fn covers(from: Option<&str>, to: Option<&str>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => {
            format!(" covers=\"{} → {}\"", escape_attribute(from), escape_attribute(to))
        }
        _ => String::new(),
    }
}

/// The line that closes a span.
pub fn close_tag(meta: &SpanMeta) -> String {
    format!("</{SPAN_TAG}{}>\n", meta.suffix)
}

/// The first line of a trimmed span.
pub fn trimmed_note((_, items): SpanRef) -> String {
    let entries = Entries::of(items);
    format!("(Trimmed to fit the size cap: lines are missing or cut. {entries})\n")
}

/// Neighbouring spans without a line, in one tag.
#[derive(Debug, Clone, PartialEq)]
pub struct Emptied<'a> {
    first: &'a SpanMeta,
    last: &'a SpanMeta,
    from: Option<&'a str>,
    to: Option<&'a str>,
    entries: Entries<'a>,
    /// The cap took lines from any of them.
    trimmed: bool,
}

impl<'a> Emptied<'a> {
    pub fn of((meta, items): SpanRef<'a>, trimmed: bool) -> Emptied<'a> {
        let (from, to) = (meta.from.as_deref(), meta.to.as_deref());
        Emptied { first: meta, last: meta, from, to, entries: Entries::of(items), trimmed }
    }

    /// Together with the spans that follow.
    pub fn and(&self, next: &Emptied<'a>) -> Emptied<'a> {
        Emptied {
            first: self.first,
            last: next.last,
            from: self.from.or(next.from),
            to: next.to.or(self.to),
            entries: self.entries.and(next.entries),
            trimmed: self.trimmed || next.trimmed,
        }
    }
}

impl fmt::Display for Emptied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Emptied { first, last, .. } = self;
        let single = std::ptr::eq(*first, *last);
        if single && !self.trimmed {
            return write!(f, "{}{}", open_tag(first, false), close_tag(first));
        }
        let numbers = match single {
            true => first.n.to_string(),
            false => format!("{}-{}", first.n, last.n),
        };
        let covers = covers(self.from, self.to);
        let at = escape_attribute(&last.at);
        write!(f, "<{SPAN_TAG} n=\"{numbers}\"{covers} compacted-at=\"{at}\"")?;
        if self.trimmed {
            write!(
                f,
                "{TRIMMED}>\n(Trimmed to fit the size cap: no line is left. {})",
                self.entries
            )?;
        } else {
            f.write_str(">")?;
        }
        write!(f, "\n</{SPAN_TAG}>\n")
    }
}

/// Where the lines of spans can be found again: their first and last entry, if they are known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entries<'a>(Option<(&'a str, &'a str)>);

impl<'a> Entries<'a> {
    fn of(items: &'a [Item]) -> Entries<'a> {
        let mut known = items.iter().map(|item| item.entry.as_str()).filter(|id| !id.is_empty());
        let first = known.next();
        Entries(first.map(|first| (first, known.next_back().unwrap_or(first))))
    }

    fn and(self, next: Entries<'a>) -> Entries<'a> {
        Entries(match (self.0, next.0) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (one, other) => one.or(other),
        })
    }
}

impl fmt::Display for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some((first, last)) if first != last => {
                write!(f, "They are in the session, entries {first} to {last}.")
            }
            Some((first, _)) => write!(f, "They are in the session, entry {first}."),
            None => f.write_str("They are in the session."),
        }
    }
}

/// The suffix of a span's tag: empty, unless the text could be taken for the tag itself.
pub fn span_suffix(items: &[Item]) -> String {
    free_suffix(SPAN_TAG, &item::join(items))
}
