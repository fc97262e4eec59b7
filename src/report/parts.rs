//! A checkpoint of ours, part by part.

use std::ops::RangeInclusive;

use super::compactions::Ids;
use super::data::Part;
use super::room::fitted;
use super::sizes::{Filling, Rounding, Sizes};
use super::spans::Spans;
use crate::error::Result;
use crate::fence::{self, Block, attribute};
use crate::text::quarter_tokens;
use crate::verbatim::contents::{self, Left};
use crate::verbatim::item::{Item, ItemKind};

/// The tags of both methods, and what the page calls the part.
const TAGS: [(&str, &str); 11] = [
    ("compacted-base", "base"),
    (contents::SPAN_TAG, "span"),
    ("retained-startup-reads", "startup"),
    ("pinned-entries", "pins"),
    ("working-state", "state"),
    ("read-files", "files"),
    ("modified-files", "files"),
    ("compact-words", "words"),
    ("checkpoint", "checkpoint"),
    ("carried", "carried"),
    ("digest", "digest"),
];

/// Which tags hold others, and which.
fn nests(name: &str) -> Option<&'static str> {
    match name {
        "retained-startup-reads" => Some("startup-read"),
        "pinned-entries" => Some("pinned"),
        _ => None,
    }
}

pub struct Checkpoint<'c> {
    pub text: &'c str,
    /// The number of the compaction, and that of its own span in the text.
    pub number: usize,
    pub own: usize,
    /// Characters that a part has at most.
    pub chars: usize,
    pub ids: &'c Ids<'c>,
}

/// What the spans of a checkpoint hold.
#[derive(Debug, Default)]
pub struct Figures {
    pub stands: Sizes,
    pub holds: Sizes,
    pub trimmed: Sizes,
    pub gone: usize,
    pub cut: usize,
}

impl Checkpoint<'_> {
    /// Errors: the session changed while it was read.
    pub fn read(&self, spans: &mut Spans) -> Result<(Vec<Part>, Figures)> {
        let text = self.text;
        let mut parts = Vec::new();
        let mut figures = Figures::default();
        let mut rounding = Rounding::default();
        let names = TAGS.map(|(tag, _)| tag);
        let mut from = 0;
        for block in fence::blocks(text, 0..text.len(), &names, &nests) {
            // A blank line before a block is counted with it.
            if !text[from..block.whole.start].trim().is_empty() {
                parts.push(self.plain(from..block.whole.start, &mut rounding));
                from = block.whole.start;
            }
            let tokens = rounding.tokens(quarter_tokens(&text[from..block.whole.end]));
            from = block.whole.end;
            let part = self.block(&block, spans, &mut figures)?;
            parts.push(Part { tokens, ..part });
        }
        if from < text.len() {
            parts.push(self.plain(from..text.len(), &mut rounding));
        }
        Ok((parts, figures))
    }

    fn plain(&self, range: std::ops::Range<usize>, rounding: &mut Rounding) -> Part {
        let name = if range.start == 0 { "introduction" } else { "rest" };
        let plain = &self.text[range];
        let tokens = rounding.tokens(quarter_tokens(plain));
        let (text, chars) = fitted(plain.trim_matches('\n'), self.chars);
        Part { name, tokens, text, chars, ..Part::default() }
    }

    fn block(&self, block: &Block, spans: &mut Spans, figures: &mut Figures) -> Result<Part> {
        let tag = TAGS.iter().find(|(tag, _)| *tag == block.name);
        let name = tag.map_or("rest", |(_, name)| *name);
        let mut part = Part { name, ..Part::default() };
        if name == "span" && self.span(block, spans, &mut part, figures)? {
            return Ok(part);
        }
        if let Some(inner) = nests(block.name) {
            let inside = block.inside.clone();
            let found = fence::blocks(self.text, inside, &[inner], &|_| None);
            part.parts = found.iter().map(|block| self.retained(block)).collect();
            return Ok(part);
        }
        let inside = self.text[block.inside.clone()].trim_end_matches('\n');
        (part.text, part.chars) = fitted(inside, self.chars);
        part.entry = attribute(block.attributes, "entry").and_then(|id| self.ids.get(id).copied());
        Ok(part)
    }

    /// One of several texts that are kept word for word.
    fn retained(&self, block: &Block) -> Part {
        let whole = &self.text[block.inside.clone()];
        let (text, chars) = fitted(whole.strip_suffix('\n').unwrap_or(whole), self.chars);
        let value = |name| attribute(block.attributes, name);
        let what = match (value("path"), value("what"), value("label")) {
            (Some(path), ..) => Some(path.to_owned()),
            (None, Some(what), Some(label)) => Some(format!("{what} ({label})")),
            _ => None,
        };
        Part {
            name: "retained",
            tokens: quarter_tokens(whole).div_ceil(4),
            text,
            chars,
            entry: value("entry").and_then(|id| self.ids.get(id).copied()),
            what,
            ..Part::default()
        }
    }

    /// A span line by line; `false` where it does not hold the lines of a known compaction.
    fn span(
        &self,
        block: &Block,
        spans: &mut Spans,
        part: &mut Part,
        figures: &mut Figures,
    ) -> Result<bool> {
        let Some(numbers) = contents::numbers(block) else { return Ok(false) };
        if contents::is_emptied(self.text, block) {
            return self.emptied(numbers, spans, part, figures);
        }
        let number = *numbers.end();
        let Some(of) = self.compaction(number) else { return Ok(false) };
        let items = spans.of(of)?;
        let Some(left) = contents::of_span(self.text, block, items) else { return Ok(false) };
        part.of = Some(of + 1);
        let mut held = Quarters::default();
        for (at, (item, left)) in items.iter().zip(&left).enumerate() {
            let whole = quarter_tokens(&item.text);
            let stands = match left {
                Left::Whole => whole,
                Left::Cut(stub) => {
                    part.cut.push((at, fitted(stub, self.chars).0));
                    quarter_tokens(stub)
                }
                Left::Gone => {
                    part.gone.push(at);
                    0
                }
            };
            held.stands[filling(item) as usize] += stands;
            held.trimmed[filling(item) as usize] += whole.saturating_sub(stands);
        }
        let stands = Sizes::of_quarters(&held.stands);
        figures.holds.add(&stands);
        figures.trimmed.add(&Sizes::of_quarters(&held.trimmed));
        figures.gone += part.gone.len();
        figures.cut += part.cut.len();
        if number == self.own {
            figures.stands = stands;
        }
        Ok(true)
    }

    /// The compaction that took a span of this checkpoint: each took one.
    fn compaction(&self, number: usize) -> Option<usize> {
        self.number.checked_sub(self.own.checked_sub(number)?)
    }

    /// Spans without a line left. Their placeholder is shown as it stands.
    fn emptied(
        &self,
        numbers: RangeInclusive<usize>,
        spans: &mut Spans,
        part: &mut Part,
        figures: &mut Figures,
    ) -> Result<bool> {
        part.name = "emptied";
        for of in numbers.filter_map(|number| self.compaction(number)) {
            let mut quarters = [0; Sizes::KINDS];
            let items = spans.of(of)?;
            for item in items {
                quarters[filling(item) as usize] += quarter_tokens(&item.text);
            }
            figures.gone += items.len();
            figures.trimmed.add(&Sizes::of_quarters(&quarters));
        }
        Ok(false)
    }
}

#[derive(Default)]
struct Quarters {
    stands: [u64; Sizes::KINDS],
    trimmed: [u64; Sizes::KINDS],
}

/// The kind that an item counts as.
fn filling(item: &Item) -> Filling {
    match item.kind {
        ItemKind::User => Filling::User,
        ItemKind::Assistant | ItemKind::Ended => Filling::Assistant,
        ItemKind::Calls => Filling::Calls,
        ItemKind::Bash => Filling::Output,
        ItemKind::Custom | ItemKind::BranchSummary => Filling::Other,
    }
}
