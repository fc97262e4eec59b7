//! The lines of many entries, read together where they lie together.

use std::ops::ControlFlow;

use super::source::Source;
use super::{EntryNo, Session};
use crate::error::Result;

/// Bytes read at a time.
const WINDOW: u64 = 1 << 20;

impl Session<'_> {
    /// Hands over the line of each entry, in the order given. Entries that lie behind one another
    /// backwards, as those of a branch from its leaf do, cost one read together.
    ///
    /// Errors: the file changed; what `look` returns.
    pub fn each_line(
        &self,
        entries: impl IntoIterator<Item = EntryNo>,
        mut look: impl FnMut(EntryNo, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        let mut group: Vec<EntryNo> = Vec::new();
        let mut begin = 0;
        for entry in entries {
            let place = self.index.place(entry);
            let joins = group.first().is_some_and(|first| {
                let first = self.index.place(*first);
                place.offset + place.len <= begin
                    && first.offset + first.len - place.offset <= WINDOW
            });
            if !joins && self.hand_over(&group, &mut buffer, &mut look)?.is_break() {
                return Ok(());
            }
            if !joins {
                group.clear();
            }
            group.push(entry);
            begin = place.offset;
        }
        self.hand_over(&group, &mut buffer, &mut look).map(|_| ())
    }

    /// The entries of a group lie backwards.
    fn hand_over(
        &self,
        group: &[EntryNo],
        buffer: &mut Vec<u8>,
        look: &mut impl FnMut(EntryNo, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let (first, begin) = (self.index.place(*first), self.index.place(*last).offset);
        let len = usize::try_from(first.offset + first.len - begin).unwrap_or(usize::MAX);
        let bytes = match &self.source {
            Source::Memory(bytes) => {
                let start = usize::try_from(begin).unwrap_or(usize::MAX);
                bytes.get(start..start.saturating_add(len)).unwrap_or_default()
            }
            Source::File { .. } => {
                // What one long line needed is not held on to.
                if buffer.len() < len || buffer.len() > len.max(WINDOW as usize) {
                    *buffer = vec![0; len.max(WINDOW as usize)];
                }
                self.source.read_at(begin, &mut buffer[..len])?;
                &buffer[..len]
            }
        };
        for entry in group {
            let place = self.index.place(*entry);
            let at = usize::try_from(place.offset - begin).unwrap_or(usize::MAX);
            let line = bytes.get(at..at.saturating_add(place.len as usize)).unwrap_or_default();
            if look(*entry, line)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
