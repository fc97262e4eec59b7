//! A checkpoint read back: what of a span's items stands in it.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::budget;
use super::item::Item;
use super::tags;
use crate::fence::{Block, attribute};

pub use super::tags::SPAN_TAG;

/// What is left of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left<'t> {
    Whole,
    /// Its marked beginning.
    Cut(&'t str),
    /// The cap took it.
    Gone,
}

/// The numbers of the spans that a block of a checkpoint stands for.
pub fn numbers(block: &Block) -> Option<RangeInclusive<usize>> {
    tags::range(attribute(block.attributes, "n")?)
}

/// Whether a block is the placeholder of spans that have no line left.
pub fn is_emptied(text: &str, block: &Block) -> bool {
    text[block.inside.clone()].starts_with(tags::EMPTIED_NOTE)
}

/// What a block of a checkpoint holds of its span, item by item; `None` where it holds anything
/// else.
pub fn of_span<'t>(text: &'t str, block: &Block, items: &[Item]) -> Option<Vec<Left<'t>>> {
    let inside = &text[block.inside.clone()];
    let note = tags::trimmed_note(items);
    lines(inside.strip_prefix(note.as_str()).unwrap_or(inside), items)
}

/// Whether the lines are items, or marked beginnings of items, in their order, and what of each.
pub fn lines<'t>(lines: &'t str, items: &[Item]) -> Option<Vec<Left<'t>>> {
    first_fit(lines, items).or_else(|| any_fit(lines, items))
}

/// Takes each item where it fits, which is almost always right.
fn first_fit<'t>(mut lines: &'t str, items: &[Item]) -> Option<Vec<Left<'t>>> {
    let mut found = Vec::with_capacity(items.len());
    for item in items {
        let left = begins_with(lines, item);
        lines = &lines[left.as_ref().map_or(0, |(_, len)| *len)..];
        found.push(left.map_or(Left::Gone, |(left, _)| left));
    }
    lines.is_empty().then_some(found)
}

/// An item that is gone may be the beginning of one that is there: every way is looked at.
fn any_fit<'t>(lines: &'t str, items: &[Item]) -> Option<Vec<Left<'t>>> {
    // How far the lines can be explained by the items so far, and by which offset before.
    let mut steps: Vec<HashMap<usize, usize>> = vec![HashMap::from([(0, 0)])];
    for item in items {
        let mut next: HashMap<usize, usize> = steps.last()?.keys().map(|at| (*at, *at)).collect();
        for at in steps.last()?.keys() {
            if let Some((_, len)) = begins_with(&lines[*at..], item) {
                next.insert(at + len, *at);
            }
        }
        steps.push(next);
    }
    let mut at = lines.len();
    let mut found = Vec::with_capacity(items.len());
    for (step, item) in steps[1..].iter().zip(items).rev() {
        let before = *step.get(&at)?;
        let left = begins_with(&lines[before..], item).filter(|_| before != at);
        found.push(left.map_or(Left::Gone, |(left, _)| left));
        at = before;
    }
    found.reverse();
    Some(found)
}

/// What of the item the lines begin with, and its bytes with the line break.
fn begins_with<'t>(lines: &'t str, item: &Item) -> Option<(Left<'t>, usize)> {
    let is_line = |text: &str| lines.strip_prefix(text).is_some_and(|rest| rest.starts_with('\n'));
    if is_line(&item.text) {
        return Some((Left::Whole, item.text.len() + 1));
    }
    let stub = budget::stub(item).filter(|stub| is_line(stub))?;
    Some((Left::Cut(&lines[..stub.len()]), stub.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::super::item::ItemKind;
    use super::*;

    fn said(text: &str) -> Item {
        Item { kind: ItemKind::Assistant, entry: "e".into(), text: text.into() }
    }

    #[test]
    fn an_item_that_is_gone_may_be_the_beginning_of_one_that_is_there() {
        let items = [said("[Assistant]: ok"), said("[Assistant]: ok\nand more"), said("[User]: x")];
        let expected = [Left::Gone, Left::Whole, Left::Whole];
        let text = "[Assistant]: ok\nand more\n[User]: x\n";
        assert_eq!(lines(text, &items).as_deref(), Some(expected.as_slice()));
        assert_eq!(lines("[Assistant]: ok\nand less\n", &items), None);
    }

    #[test]
    fn whole_cut_and_gone_are_told_apart() {
        let long = format!("[User]: {}", "x".repeat(200));
        let items = [said("[Assistant]: a"), said(&long), said("[User]: y")];
        // 120 characters of the item are left, 88 are not.
        let stub = format!("{}… [88 more characters, entry e]", &long[..120]);
        let text = format!("{stub}\n[User]: y\n");
        let expected = [Left::Gone, Left::Cut(&stub), Left::Whole];
        assert_eq!(lines(&text, &items).as_deref(), Some(expected.as_slice()));
    }
}
