//! The part of a source that was read last. Entries are mostly asked for in the order of the file,
//! so that a read which takes a little more than was asked for saves the next ones.

use super::source::Source;
use crate::error::Result;

/// Bytes read beyond what was asked for: a message behind a long output, and where the next one
/// begins.
const AHEAD: u64 = 8 << 10;
/// What one long line needed is not held on to.
const KEPT: usize = 1 << 20;

#[derive(Default)]
pub struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes from `offset` on; in memory they are not copied.
    ///
    /// Errors: the file is shorter than it was when it was opened, or cannot be read.
    pub fn get<'w>(&'w mut self, source: &'w Source, offset: u64, len: usize) -> Result<&'w [u8]> {
        if let Source::Memory(bytes) = source {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            return Ok(bytes.get(start..start.saturating_add(len)).unwrap_or_default());
        }
        let end = offset.saturating_add(len as u64);
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            let room = end.saturating_add(AHEAD).min(source.len().max(end)) - offset;
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            if self.bytes.capacity() > KEPT.max(room) {
                self.bytes = Vec::new();
            }
            self.start = offset;
            self.bytes.resize(room, 0);
            if let Err(error) = source.read_at(offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        Ok(&self.bytes[at..at + len])
    }
}
