//! What each compaction of the branch took out, as the lines a verbatim checkpoint has of it.

use super::context::Step;
use crate::error::Result;
use crate::session::Branch;
use crate::session::projection::Projection;
use crate::verbatim::item::Item;
use crate::verbatim::span;

pub struct Spans<'s> {
    branch: &'s Branch<'s, 's>,
    steps: &'s [Step],
    items: Vec<Option<Vec<Item>>>,
}

impl<'s> Spans<'s> {
    pub fn new(branch: &'s Branch<'_, '_>, steps: &'s [Step]) -> Spans<'s> {
        Spans { branch, steps, items: vec![None; steps.len()] }
    }

    /// What a compaction itself says it took.
    pub fn store(&mut self, number: usize, items: Vec<Item>) {
        self.items[number] = Some(items);
    }

    /// The lines of a compaction. Those of another method are derived from the raw entries, as the
    /// next verbatim compaction did.
    ///
    /// Errors: the session changed while it was read.
    pub fn of(&mut self, number: usize) -> Result<&[Item]> {
        if self.items[number].is_none() {
            let step = &self.steps[number];
            let context = Projection::at(self.branch, step.at)?;
            let cwd = &self.branch.session.header.cwd;
            let span = span::derive(&context, step.range.clone(), cwd)?;
            self.items[number] = Some(span.items);
        }
        Ok(self.items[number].as_deref().unwrap_or_default())
    }

    /// The lines of each compaction; none where no checkpoint has them.
    pub fn into_items(self) -> Vec<Vec<Item>> {
        self.items.into_iter().map(Option::unwrap_or_default).collect()
    }
}
