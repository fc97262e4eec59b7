//! The size guard: which lines go so that the conversation in a checkpoint fits its budget.
//!
//! What the user said goes last: first everything else, oldest first; then long user messages are
//! cut to their beginning, oldest first; only then the oldest of what remains. Stored spans are
//! not touched: each compaction starts from the whole text again, so the result does not depend on
//! how often the cap ran before.

use std::borrow::Cow;

use super::details::SpanMeta;
use super::item::{Item, ItemKind};
use super::render;
use crate::settings::{Limit, Measure};
use crate::text::grouped;

/// A span with its items, as it was stored or derived.
pub type SpanRef<'a> = (&'a SpanMeta, &'a [Item]);

/// A long user message keeps so many characters of its beginning.
const STUB_CHARS: usize = 120;
/// The lines may have so much, whatever the rest takes.
const LINES_FLOOR: u64 = 500;

/// One part of the conversation section.
#[derive(Debug, PartialEq)]
pub enum Piece<'a> {
    Whole(usize),
    /// A span that lost lines or parts of them.
    Trimmed(usize, Vec<Cow<'a, str>>),
    /// Neighbouring spans without a line, from the first to the last of them; `trimmed` if the cap
    /// emptied any of them.
    Emptied {
        first: usize,
        last: usize,
        trimmed: bool,
    },
}

/// The section as it is without a cap.
pub fn whole<'a>(spans: &[SpanRef]) -> Vec<Piece<'a>> {
    (0..spans.len()).map(Piece::Whole).collect()
}

/// Whether the section is larger than the limit allows. `fixed` is the size of what is never
/// trimmed: the base, retained reads, pinned entries.
pub fn is_over(spans: &[SpanRef], fixed: u64, limit: Limit) -> bool {
    let sizes = Sizes::of(spans, fixed, limit.measure);
    !sizes.fit(limit.size)
}

/// Trims the section to `target` (in the limit's measure, at most the limit).
pub fn trim<'a>(
    spans: &[SpanRef<'a>],
    fixed: u64,
    measure: Measure,
    target: u64,
) -> Vec<Piece<'a>> {
    let mut trimming = Trimming::new(spans, fixed, measure);
    trimming.drop_all(target, |item| item.kind != ItemKind::User);
    trimming.cut_long_messages(target);
    trimming.drop_all(target, |_| true);
    trimming.pieces()
}

/// Sizes of the section in the making.
struct Sizes {
    measure: Measure,
    lines: u64,
    /// Everything else: tags, notes, fixed parts.
    overhead: u64,
}

impl Sizes {
    fn of(spans: &[SpanRef], fixed: u64, measure: Measure) -> Sizes {
        let mut sizes = Sizes { measure, lines: 0, overhead: fixed };
        for (meta, items) in spans {
            sizes.overhead += sizes.tags(meta);
            sizes.lines += items.iter().map(|item| sizes.line(&item.text)).sum::<u64>();
        }
        sizes
    }

    fn fit(&self, target: u64) -> bool {
        self.lines <= LINES_FLOOR || self.lines + self.overhead <= target
    }

    fn line(&self, text: &str) -> u64 {
        self.measure.of(text) + 1
    }

    /// The tags of a span and the blank line before it.
    fn tags(&self, meta: &SpanMeta) -> u64 {
        self.measure.of(&render::open_tag(meta, false))
            + self.measure.of(&render::close_tag(meta))
            + 1
    }

    /// What the mark of a trimmed span adds.
    fn mark(&self, span: SpanRef) -> u64 {
        self.measure.of(&render::open_tag(span.0, true))
            - self.measure.of(&render::open_tag(span.0, false))
            + self.measure.of(&render::trimmed_note(span))
    }
}

struct Trimming<'s, 'a> {
    spans: &'s [SpanRef<'a>],
    sizes: Sizes,
    /// What is left of each item; `None` where it is gone.
    left: Vec<Vec<Option<Cow<'a, str>>>>,
    lines_left: Vec<usize>,
    changed: Vec<bool>,
    /// For a span without a line: the other end of its run, known at the run's ends.
    run: Vec<Option<usize>>,
}

impl<'s, 'a> Trimming<'s, 'a> {
    fn new(spans: &'s [SpanRef<'a>], fixed: u64, measure: Measure) -> Trimming<'s, 'a> {
        let whole = |items: &'a [Item]| {
            items.iter().map(|item| Some(Cow::Borrowed(item.text.as_str()))).collect()
        };
        let mut trimming = Trimming {
            spans,
            sizes: Sizes::of(spans, fixed, measure),
            left: spans.iter().map(|(_, items)| whole(items)).collect(),
            lines_left: spans.iter().map(|(_, items)| items.len()).collect(),
            changed: vec![false; spans.len()],
            run: vec![None; spans.len()],
        };
        for (span, (meta, items)) in spans.iter().enumerate() {
            if items.is_empty() {
                trimming.sizes.overhead -= trimming.sizes.tags(meta);
                trimming.join_runs(span);
            }
        }
        trimming
    }

    fn drop_all(&mut self, target: u64, goes: impl Fn(&Item) -> bool) {
        let spans = self.spans;
        for (span, (_, items)) in spans.iter().enumerate() {
            for (at, item) in items.iter().enumerate() {
                if self.sizes.fit(target) {
                    return;
                }
                if goes(item) && self.left[span][at].is_some() {
                    self.drop(span, at);
                }
            }
        }
    }

    fn cut_long_messages(&mut self, target: u64) {
        let spans = self.spans;
        for (span, (_, items)) in spans.iter().enumerate() {
            for (at, item) in items.iter().enumerate() {
                if self.sizes.fit(target) {
                    return;
                }
                if item.kind == ItemKind::User && self.left[span][at].is_some() {
                    self.cut(span, at, item);
                }
            }
        }
    }

    fn drop(&mut self, span: usize, at: usize) {
        if let Some(text) = self.left[span][at].take() {
            self.sizes.lines -= self.sizes.line(&text);
        }
        self.mark(span);
        self.lines_left[span] -= 1;
        if self.lines_left[span] == 0 {
            self.sizes.overhead -=
                self.sizes.tags(self.spans[span].0) + self.sizes.mark(self.spans[span]);
            self.join_runs(span);
        }
    }

    fn cut(&mut self, span: usize, at: usize, item: &Item) {
        let Some(stub) = stub(item) else { return };
        let (before, after) = (self.sizes.line(&item.text), self.sizes.line(&stub));
        if after < before {
            self.sizes.lines -= before - after;
            self.left[span][at] = Some(Cow::Owned(stub));
            self.mark(span);
        }
    }

    fn mark(&mut self, span: usize) {
        if !std::mem::replace(&mut self.changed[span], true) {
            self.sizes.overhead += self.sizes.mark(self.spans[span]);
        }
    }

    /// The span has no line left: it becomes one run with its neighbours that have none either.
    fn join_runs(&mut self, span: usize) {
        let before = span.checked_sub(1).and_then(|other| self.run[other]);
        let after = self.run.get(span + 1).copied().flatten();
        let (first, last) = (before.unwrap_or(span), after.unwrap_or(span));
        let without = before.map_or(0, |first| self.emptied_size(first, span - 1))
            + after.map_or(0, |last| self.emptied_size(span + 1, last));
        (self.run[span], self.run[first], self.run[last]) = (Some(span), Some(last), Some(first));
        self.sizes.overhead = self.sizes.overhead + self.emptied_size(first, last) - without;
    }

    fn emptied_size(&self, first: usize, last: usize) -> u64 {
        let trimmed = self.any_changed(first, last);
        self.sizes.measure.of(&render::emptied(&self.spans[first..=last], trimmed)) + 1
    }

    /// Only the ends of a run are looked at while it grows, so that trimming stays linear; a run
    /// whose changed spans all lie inside is reckoned a few characters short.
    fn any_changed(&self, first: usize, last: usize) -> bool {
        self.changed[first] || self.changed[last]
    }

    fn pieces(self) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut run: Option<(usize, bool)> = None;
        let close = |run: &mut Option<(usize, bool)>, end: usize, pieces: &mut Vec<Piece<'a>>| {
            if let Some((first, trimmed)) = run.take() {
                pieces.push(Piece::Emptied { first, last: end - 1, trimmed });
            }
        };
        for (span, left) in self.left.into_iter().enumerate() {
            if self.lines_left[span] == 0 {
                let changed = self.changed[span];
                run = Some(
                    run.map_or((span, changed), |(first, trimmed)| (first, trimmed || changed)),
                );
                continue;
            }
            close(&mut run, span, &mut pieces);
            pieces.push(match self.changed[span] {
                false => Piece::Whole(span),
                true => Piece::Trimmed(span, left.into_iter().flatten().collect()),
            });
        }
        close(&mut run, self.spans.len(), &mut pieces);
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
mod tests {
    use super::*;

    fn span(n: usize, items: &[(ItemKind, &str)]) -> (SpanMeta, Vec<Item>) {
        let meta = SpanMeta { n, at: "T".into(), trigger: "manual".into(), ..SpanMeta::default() };
        let item = |(kind, text): &(ItemKind, &str)| Item {
            kind: *kind,
            entry: format!("e{n}"),
            text: (*text).to_owned(),
        };
        (meta, items.iter().map(item).collect())
    }

    fn refs(spans: &[(SpanMeta, Vec<Item>)]) -> Vec<SpanRef<'_>> {
        spans.iter().map(|(meta, items)| (meta, items.as_slice())).collect()
    }

    const LONG: &str = "[User]: 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

    #[test]
    fn other_lines_go_before_user_messages_and_those_are_cut_before_they_go() {
        let prose = "[Assistant]: ".to_owned() + &"x".repeat(600);
        let spans = [
            span(1, &[(ItemKind::User, LONG), (ItemKind::Assistant, &prose)]),
            span(2, &[(ItemKind::User, LONG), (ItemKind::Assistant, &prose)]),
        ];
        let refs = refs(&spans);
        let over = |target| trim(&refs, 0, Measure::Chars, target);
        let Piece::Trimmed(0, lines) = &over(1700)[0] else { panic!() };
        assert_eq!(lines, &[Cow::Borrowed(LONG)]);
        assert_eq!(over(1700)[1], Piece::Whole(1));
        let Piece::Trimmed(0, lines) = &over(1000)[0] else { panic!() };
        assert_eq!(lines, &[Cow::Borrowed(LONG)]);
        // Below the floor of 500 nothing more goes.
        let Piece::Trimmed(0, lines) = &over(1)[0] else { panic!() };
        assert!(lines[0].ends_with("… [138 more characters, entry e1]"), "{}", lines[0]);
    }

    #[test]
    fn spans_without_a_line_become_one_and_only_what_changed_is_marked() {
        let prose = "[Assistant]: ".to_owned() + &"x".repeat(400);
        let spans: Vec<_> = (1..=8)
            .map(|n| if n == 3 { span(n, &[]) } else { span(n, &[(ItemKind::Assistant, &prose)]) })
            .collect();
        let pieces = trim(&refs(&spans), 0, Measure::Chars, 1500);
        assert!(matches!(pieces[0], Piece::Emptied { first: 0, trimmed: true, .. }), "{pieces:?}");
        assert_eq!(pieces.last(), Some(&Piece::Whole(7)));
        let untouched = [span(1, &[]), span(2, &[(ItemKind::User, LONG)])];
        let pieces = trim(&refs(&untouched), 0, Measure::Chars, 10_000);
        assert_eq!(pieces, [Piece::Emptied { first: 0, last: 0, trimmed: false }, Piece::Whole(1)]);
    }
}
