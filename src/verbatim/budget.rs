//! The size guard: which lines go so that the conversation in a checkpoint fits its budget.
//!
//! What the user said goes last: first everything else, oldest first; then long user messages are
//! cut to their beginning, oldest first; only then the oldest of what remains. Stored spans are
//! not touched: each compaction starts from the whole text again, so the result does not depend on
//! how often the cap ran before.
//!
//! The budget is for the section from the base to the pinned entries, spans with their tags, notes
//! and blank lines included. What is fixed (the base, retained reads, pinned entries) is never
//! trimmed; where it leaves too little room, the spans still get [`LINES_FLOOR`] for their lines
//! and [`TAGS_FLOOR`] for everything around them. So the section takes at most
//! `max(budget, fixed + LINES_FLOOR + TAGS_FLOOR)`, whatever the number of spans: neighbours
//! without a line share one placeholder.

use std::borrow::Cow;

use super::details::SpanMeta;
use super::item::{Item, ItemKind, SpanRef};
use super::tags::{self, Emptied};
use crate::settings::{Limit, Measure};
use crate::text::grouped;

/// A long user message keeps so many characters of its beginning.
const STUB_CHARS: usize = 120;
/// The lines may have so much, whatever the fixed parts take.
pub const LINES_FLOOR: u64 = 500;
/// And so much may stand around them: the tags of one span or a few, and a placeholder.
pub const TAGS_FLOOR: u64 = 1000;

/// One part of the conversation section.
#[derive(Debug, PartialEq)]
pub enum Piece<'a> {
    Whole(usize),
    /// A span that lost lines or parts of them.
    Trimmed(usize, Vec<Cow<'a, str>>),
    /// Neighbouring spans without a line.
    Emptied(Emptied<'a>),
}

/// The section as it is without a cap.
pub fn whole<'a>(spans: &[SpanRef]) -> Vec<Piece<'a>> {
    (0..spans.len()).map(Piece::Whole).collect()
}

/// The sizes of whole spans: their tags and their lines.
pub fn size_of_whole(spans: &[SpanRef], measure: Measure) -> (u64, u64) {
    let sizes = Sizes::of_whole(spans, 0, measure);
    (sizes.tags, sizes.lines)
}

/// Whether a section of whole spans fits the limit as it is.
pub fn fits_whole(fixed: u64, tags: u64, lines: u64, limit: Limit) -> bool {
    Sizes { measure: limit.measure, fixed, tags, lines }.fit(limit.size)
}

/// Whether lines must go for the section to fit the limit. `fixed` is the size of what is never
/// trimmed: the base, retained reads, pinned entries, working state.
pub fn is_over(spans: &[SpanRef], fixed: u64, limit: Limit) -> bool {
    let mut trimming = Trimming::new(spans, fixed, limit.measure);
    (0..spans.len()).for_each(|_| trimming.add_next());
    !trimming.sizes.fit(limit.size)
}

/// Trims the section to the limit; a section that fits stays whole.
///
/// With `trim_to` below 100 (per cent of the limit) it trims further than needed, so that some
/// later compactions need not trim at all and begin with the same text. For that the spans are
/// taken as they came: one after the other, trimmed whenever they had grown over the limit.
pub fn trim<'a>(spans: &[SpanRef<'a>], fixed: u64, limit: Limit, trim_to: f64) -> Vec<Piece<'a>> {
    if Sizes::of_whole(spans, fixed, limit.measure).fit(limit.size) {
        return whole(spans);
    }
    let mut trimming = Trimming::new(spans, fixed, limit.measure);
    if trim_to >= 100.0 {
        (0..spans.len()).for_each(|_| trimming.add_next());
        trimming.trim(limit.size);
    } else {
        let target = (limit.size as f64 * trim_to / 100.0) as u64;
        for _ in 0..spans.len() {
            trimming.add_next();
            if !trimming.sizes.fit(limit.size) {
                trimming.trim(target);
            }
        }
    }
    trimming.pieces()
}

/// Sizes of the section in the making.
struct Sizes {
    measure: Measure,
    fixed: u64,
    lines: u64,
    /// Tags, notes, blank lines.
    tags: u64,
}

impl Sizes {
    fn of_whole(spans: &[SpanRef], fixed: u64, measure: Measure) -> Sizes {
        let mut sizes = Sizes { measure, fixed, lines: 0, tags: 0 };
        for (meta, items) in spans {
            sizes.tags += sizes.of_tags(meta);
            sizes.lines += sizes.of_lines(items);
        }
        sizes
    }

    fn fit(&self, target: u64) -> bool {
        self.lines + self.tags + self.fixed <= target
            || (self.lines <= LINES_FLOOR && self.tags <= TAGS_FLOOR)
    }

    fn of_line(&self, text: &str) -> u64 {
        self.measure.of(text) + 1
    }

    fn of_lines(&self, items: &[Item]) -> u64 {
        items.iter().map(|item| self.of_line(&item.text)).sum()
    }

    /// The tags of a whole span and the blank line before it.
    fn of_tags(&self, meta: &SpanMeta) -> u64 {
        self.measure.of(&tags::open_tag(meta, false)) + self.measure.of(&tags::close_tag(meta)) + 1
    }

    /// The same of a trimmed span, with its note.
    fn of_trimmed_tags(&self, span: SpanRef) -> u64 {
        self.measure.of(&tags::open_tag(span.0, true))
            + self.measure.of(&tags::trimmed_note(span.1))
            + self.measure.of(&tags::close_tag(span.0))
            + 1
    }

    fn of_emptied(&self, emptied: &Emptied) -> u64 {
        self.measure.of(&emptied.to_string()) + 1
    }
}

/// What goes, in this order.
#[derive(Clone, Copy)]
enum Stage {
    /// Everything but the user's words.
    Others,
    /// The ends of long user messages.
    LongMessages,
    Anything,
}

/// How far a stage has come: all items before it are settled.
#[derive(Clone, Copy, Default)]
struct Cursor {
    span: usize,
    item: usize,
}

/// Neighbouring spans without a line.
struct Run<'a> {
    first: usize,
    last: usize,
    emptied: Emptied<'a>,
    size: u64,
}

struct Trimming<'s, 'a> {
    spans: &'s [SpanRef<'a>],
    /// How many of them take part so far.
    added: usize,
    sizes: Sizes,
    cursors: [Cursor; 3],
    /// What is left of each item; `None` where it is gone.
    left: Vec<Vec<Option<Cow<'a, str>>>>,
    lines_left: Vec<usize>,
    changed: Vec<bool>,
    /// The runs by their first span, and where the run begins that ends at a span.
    runs: Vec<Option<Run<'a>>>,
    run_ending_at: Vec<Option<usize>>,
}

impl<'s, 'a> Trimming<'s, 'a> {
    fn new(spans: &'s [SpanRef<'a>], fixed: u64, measure: Measure) -> Trimming<'s, 'a> {
        let count = spans.len();
        Trimming {
            spans,
            added: 0,
            sizes: Sizes { measure, fixed, lines: 0, tags: 0 },
            cursors: [Cursor::default(); 3],
            left: Vec::with_capacity(count),
            lines_left: Vec::with_capacity(count),
            changed: vec![false; count],
            runs: std::iter::repeat_with(|| None).take(count).collect(),
            run_ending_at: vec![None; count],
        }
    }

    fn add_next(&mut self) {
        let (meta, items) = self.spans[self.added];
        self.left.push(items.iter().map(|item| Some(Cow::Borrowed(item.text.as_str()))).collect());
        self.lines_left.push(items.len());
        self.added += 1;
        if items.is_empty() {
            self.join_runs(self.added - 1);
        } else {
            self.sizes.lines += self.sizes.of_lines(items);
            self.sizes.tags += self.sizes.of_tags(meta);
        }
    }

    fn trim(&mut self, target: u64) {
        for stage in [Stage::Others, Stage::LongMessages, Stage::Anything] {
            while !self.sizes.fit(target)
                && let Some((span, at)) = self.next_of(stage)
            {
                let item = &self.spans[span].1[at];
                match stage {
                    Stage::Others if item.kind != ItemKind::User => self.drop(span, at),
                    Stage::LongMessages if item.kind == ItemKind::User => self.cut(span, at, item),
                    Stage::Anything => self.drop(span, at),
                    Stage::Others | Stage::LongMessages => {}
                }
            }
        }
    }

    /// The next item that a stage has not looked at, among the spans that were added.
    fn next_of(&mut self, stage: Stage) -> Option<(usize, usize)> {
        let cursor = &mut self.cursors[stage as usize];
        while cursor.span < self.added {
            if cursor.item < self.spans[cursor.span].1.len() {
                cursor.item += 1;
                return Some((cursor.span, cursor.item - 1));
            }
            *cursor = Cursor { span: cursor.span + 1, item: 0 };
        }
        None
    }

    fn drop(&mut self, span: usize, at: usize) {
        let Some(text) = self.left[span][at].take() else { return };
        self.sizes.lines -= self.sizes.of_line(&text);
        self.mark(span);
        self.lines_left[span] -= 1;
        if self.lines_left[span] == 0 {
            self.sizes.tags -= self.sizes.of_trimmed_tags(self.spans[span]);
            self.join_runs(span);
        }
    }

    fn cut(&mut self, span: usize, at: usize, item: &Item) {
        let Some(stub) = stub(item).filter(|_| self.left[span][at].is_some()) else { return };
        let (before, after) = (self.sizes.of_line(&item.text), self.sizes.of_line(&stub));
        if after < before {
            self.sizes.lines -= before - after;
            self.left[span][at] = Some(Cow::Owned(stub));
            self.mark(span);
        }
    }

    fn mark(&mut self, span: usize) {
        if !std::mem::replace(&mut self.changed[span], true) {
            self.sizes.tags += self.sizes.of_trimmed_tags(self.spans[span]);
            self.sizes.tags -= self.sizes.of_tags(self.spans[span].0);
        }
    }

    /// The span has no line left: it becomes one run with its neighbours that have none either.
    fn join_runs(&mut self, span: usize) {
        let (mut first, mut last) = (span, span);
        let mut emptied = Emptied::of(self.spans[span], self.changed[span]);
        let begins = span.checked_sub(1).and_then(|before| self.run_ending_at[before]);
        if let Some(run) = begins.and_then(|begin| self.runs[begin].take()) {
            (first, emptied) = (run.first, run.emptied.and(&emptied));
            self.sizes.tags -= run.size;
        }
        if let Some(run) = self.runs.get_mut(span + 1).and_then(Option::take) {
            (last, emptied) = (run.last, emptied.and(&run.emptied));
            self.sizes.tags -= run.size;
        }
        let size = self.sizes.of_emptied(&emptied);
        self.sizes.tags += size;
        self.run_ending_at[last] = Some(first);
        self.runs[first] = Some(Run { first, last, emptied, size });
    }

    fn pieces(self) -> Vec<Piece<'a>> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut runs = self.runs;
        for (span, left) in self.left.into_iter().enumerate() {
            if self.lines_left[span] == 0 {
                // Only the first span of a run has it.
                pieces.extend(runs[span].take().map(|run| Piece::Emptied(run.emptied)));
            } else if self.changed[span] {
                pieces.push(Piece::Trimmed(span, left.into_iter().flatten().collect()));
            } else {
                pieces.push(Piece::Whole(span));
            }
        }
        pieces
    }
}

/// The beginning of a long user message, marked; `None` for a short one.
pub fn stub(item: &Item) -> Option<String> {
    let (cut, _) = item.text.char_indices().nth(STUB_CHARS)?;
    let (head, rest) = item.text.split_at(cut);
    let entry =
        if item.entry.is_empty() { String::new() } else { format!(", entry {}", item.entry) };
    Some(format!("{head}… [{} more characters{entry}]", grouped(rest.chars().count() as u64)))
}

#[cfg(test)]
mod tests;
