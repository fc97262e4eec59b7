//! The lines of many entries, read together where they lie together.

use std::ops::{ControlFlow, Range};

use super::window::Window;
use super::{EntryNo, Session, shared_work};
use crate::error::Result;

/// Bytes of lines that are read together.
const TOGETHER: u64 = 256 << 10;

impl Session<'_> {
    /// Hands over what `digest` makes of the line of each entry, in the order given, until `take`
    /// has enough. Entries that lie behind one another backwards, as those of a branch from its leaf
    /// do, cost one read together. Two threads share the work.
    ///
    /// Errors: the file changed; what `digest` and `take` return.
    pub fn map_lines<T: Send>(
        &self,
        entries: impl IntoIterator<Item = EntryNo>,
        digest: impl Fn(EntryNo, &[u8]) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let entries: Vec<EntryNo> = entries.into_iter().collect();
        let groups = self.groups(&entries);
        let work = |group: usize, window: &mut Window| -> Result<Vec<T>> {
            self.lines(&entries[groups[group].clone()], window, &digest)
        };
        shared_work::in_order(groups.len(), work, |made| {
            for made in made.drain(..) {
                if take(made)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Which entries lie behind one another backwards, within a window.
    fn groups(&self, entries: &[EntryNo]) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let place = self.index.place(*entry);
            match groups.last_mut() {
                Some(group) => {
                    let first = self.index.place(entries[group.start]);
                    let before = self.index.place(entries[at - 1]);
                    let joins = place.offset + place.len <= before.offset
                        && first.offset + first.len - place.offset <= TOGETHER;
                    if joins {
                        group.end = at + 1;
                    } else {
                        groups.push(at..at + 1);
                    }
                }
                None => groups.push(at..at + 1),
            }
        }
        groups
    }

    fn lines<T>(
        &self,
        group: &[EntryNo],
        window: &mut Window,
        digest: impl Fn(EntryNo, &[u8]) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Ok(Vec::new());
        };
        let (first, begin) = (self.index.place(*first), self.index.place(*last).offset);
        let len = usize::try_from(first.offset + first.len - begin).unwrap_or(usize::MAX);
        let bytes = window.get(&self.source, begin, len)?;
        let line = |entry: &EntryNo| {
            let place = self.index.place(*entry);
            let at = usize::try_from(place.offset - begin).unwrap_or(usize::MAX);
            let line = bytes.get(at..at.saturating_add(place.len as usize)).unwrap_or_default();
            digest(*entry, line)
        };
        group.iter().map(line).collect()
    }
}
