//! The lines of a span: one item for each part of a message that a checkpoint keeps.

use super::details::SpanMeta;

/// What an item is; `name` is how details call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    User,
    Assistant,
    Calls,
    Bash,
    Custom,
    BranchSummary,
    /// The mark behind a message that did not end by itself.
    Ended,
}

const NAMES: [(ItemKind, &str); 7] = [
    (ItemKind::User, "user"),
    (ItemKind::Assistant, "assistant"),
    (ItemKind::Calls, "calls"),
    (ItemKind::Bash, "bash"),
    (ItemKind::Custom, "custom"),
    (ItemKind::BranchSummary, "branch"),
    (ItemKind::Ended, "ended"),
];

impl ItemKind {
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub fn of_name(name: &str) -> Option<ItemKind> {
        NAMES.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind)
    }
}

/// One item as it stands in the checkpoint; it may be several lines long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub kind: ItemKind,
    /// The entry it comes from. Empty in spans of the older extension, which did not record it.
    pub entry: String,
    pub text: String,
}

/// A span with its items, as it was stored or derived.
pub type SpanRef<'a> = (&'a SpanMeta, &'a [Item]);

/// Items are separated by one line break.
pub fn join(items: &[Item]) -> String {
    let mut out = String::with_capacity(items.iter().map(|item| item.text.len() + 1).sum());
    for item in items {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&item.text);
    }
    out
}
