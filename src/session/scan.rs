//! One pass over the lines of a session: where each entry lies and who its parent is. Bodies are
//! not kept; a line longer than the window is passed over in pieces.

use std::ops::Range;

use memchr::memmem::Finder;
use once_cell::sync::Lazy;

use super::head::{self, Head, Header, Line};
use super::index::{Index, Place};
use super::source::Source;
use crate::error::{Error, Result};

/// How damaged lines are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As Pi reads its file: a line that is not one JSON object does not exist. For compaction,
    /// which must follow the branch that Pi has.
    AsPi,
    /// Whole objects inside damaged lines are entries too. For recovery and the command line.
    Recover,
}

/// Bytes read at a time. A line up to this size is looked at whole.
const WINDOW: usize = 256 << 10;
/// The first and last bytes of a longer line that are kept to read its head from.
const EDGE: usize = 4096;
/// A longer line fits no string of JavaScript, so Pi has no such entry; it is not even held to be
/// looked at.
const LONGEST_LINE: u64 = 1 << 29;
/// A damaged line is searched for at most so many objects, so that a hostile one costs no time.
const MAX_OBJECTS_PER_LINE: usize = 64;

/// What the pass finds besides the entries.
#[derive(Debug, Default)]
pub struct Findings {
    pub header: Option<Header>,
    /// Lines that are not one JSON object.
    pub malformed_lines: u64,
    /// Objects that are no session entries.
    pub strangers: u64,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Above this size two threads share the pass.
const WORTH_A_THREAD: u64 = 8 << 20;

/// Passes over a whole source. The index it gives is not linked yet.
///
/// Errors: the file changed since it was opened, or cannot be read.
pub fn scan(source: &Source, reading: Reading) -> Result<(Index, Findings)> {
    let len = source.len();
    if len > WORTH_A_THREAD
        && let Some(middle) = line_after(source, len / 2)?
    {
        let second = || pass(source, middle..len, reading);
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(second);
            let first = pass(source, 0..middle, reading);
            (first, second.join())
        });
        let (mut index, mut findings) = first?;
        // A panic is a defect of ours; it goes on in this thread.
        let (rest, more) = second.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if index.append(rest) {
            findings.malformed_lines += more.malformed_lines;
            findings.strangers += more.strangers;
            return Ok((index, findings));
        }
    }
    pass(source, 0..len, reading)
}

/// Passes over the lines that begin behind `from`; `None` if the first one of them is far away.
///
/// Errors: the file changed since it was opened, or cannot be read.
pub fn scan_end(source: &Source, from: u64) -> Result<Option<Index>> {
    match line_after(source, from)? {
        Some(start) => Ok(Some(pass(source, start..source.len(), Reading::AsPi)?.0)),
        None => Ok(None),
    }
}

/// The header of a source, if it is a session whose first line says so and is not long.
///
/// Errors: the file changed since it was opened, or cannot be read.
pub fn header(source: &Source) -> Result<Option<Header>> {
    let room = usize::try_from(source.len()).unwrap_or(usize::MAX).min(EDGE);
    let mut beginning = vec![0u8; room];
    source.read_at(0, &mut beginning)?;
    let Some(end) = memchr::memchr(b'\n', &beginning) else { return Ok(None) };
    let line = beginning[..end].strip_prefix(BYTE_ORDER_MARK).unwrap_or(&beginning[..end]);
    Ok(match head::full(line.trim_ascii()) {
        Some(Line::Header(header)) => Some(header),
        _ => None,
    })
}

/// Where the first line begins that starts behind `offset`; `None` if it is far away.
fn line_after(source: &Source, offset: u64) -> Result<Option<u64>> {
    let mut piece = vec![0u8; WINDOW];
    let room = usize::try_from(source.len() - offset).unwrap_or(usize::MAX).min(WINDOW);
    source.read_at(offset, &mut piece[..room])?;
    Ok(memchr::memchr(b'\n', &piece[..room]).map(|newline| offset + newline as u64 + 1))
}

/// Passes over the lines of a part of a source, which begins and ends at a line.
fn pass(source: &Source, part: Range<u64>, reading: Reading) -> Result<(Index, Findings)> {
    let mut index = Index::default();
    let first = part.start == 0;
    let mut scan =
        Scan { source, reading, index: &mut index, findings: Findings::default(), first };
    let size = usize::try_from(part.end - part.start).unwrap_or(WINDOW);
    let mut buffer = vec![0u8; WINDOW.min(size).max(1)];
    // `buffer[..held]` is the unfinished line that starts at `line_start`.
    let (mut line_start, mut held) = (part.start, 0usize);
    while line_start + (held as u64) < part.end {
        if held == buffer.len() {
            let next = scan.long_line(line_start, &buffer)?;
            (line_start, held) = (next, 0);
            continue;
        }
        let at = line_start + held as u64;
        let left = usize::try_from(part.end - at).unwrap_or(usize::MAX);
        let room = (buffer.len() - held).min(left);
        source.read_at(at, &mut buffer[held..held + room])?;
        let filled = held + room;
        let mut begin = 0;
        while let Some(newline) = memchr::memchr(b'\n', &buffer[begin..filled]) {
            let line = &buffer[begin..begin + newline];
            scan.line(Place { offset: line_start + begin as u64, len: line.len() as u64 }, line)?;
            begin += newline + 1;
        }
        buffer.copy_within(begin..filled, 0);
        line_start += begin as u64;
        held = filled - begin;
    }
    if held > 0 {
        scan.last_line(Place { offset: line_start, len: held as u64 }, &buffer[..held])?;
    }
    let findings = scan.findings;
    Ok((index, findings))
}

/// The same for entries that are already apart (the inline form of an envelope).
///
/// Errors: there are more entries than an index holds.
pub fn scan_parts(
    parts: &[Place],
    bytes: &[u8],
    reading: Reading,
    index: &mut Index,
) -> Result<Findings> {
    let source = Source::Memory(bytes);
    let mut scan =
        Scan { source: &source, reading, index, findings: Findings::default(), first: false };
    for place in parts {
        let start = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(place.len).unwrap_or(usize::MAX));
        if let Some(line) = bytes.get(start..end) {
            scan.line(*place, line)?;
        }
    }
    Ok(scan.findings)
}

struct Scan<'s, 'i> {
    source: &'s Source<'s>,
    reading: Reading,
    index: &'i mut Index,
    findings: Findings,
    /// No line has been looked at yet.
    first: bool,
}

impl Scan<'_, '_> {
    fn line(&mut self, place: Place, line: &[u8]) -> Result<()> {
        let (place, line) = self.trimmed(place, line);
        if line.is_empty() {
            return Ok(());
        }
        if line.len() as u64 > LONGEST_LINE {
            self.findings.malformed_lines += 1;
            return Ok(());
        }
        match head::quick(line, &line[line.len().saturating_sub(EDGE)..]) {
            Some(head) if !is_doubtful(line) => self.index.push(place, &head),
            _ => self.whole(place, line),
        }
    }

    /// The last line may have been cut by a crash: only a full parse tells.
    fn last_line(&mut self, place: Place, line: &[u8]) -> Result<()> {
        let (place, line) = self.trimmed(place, line);
        if line.is_empty() { Ok(()) } else { self.whole(place, line) }
    }

    /// Without the byte order mark of the first line and white space at the ends (CRLF).
    fn trimmed<'l>(&mut self, place: Place, line: &'l [u8]) -> (Place, &'l [u8]) {
        let mut inner = line;
        if std::mem::take(&mut self.first) {
            inner = inner.strip_prefix(BYTE_ORDER_MARK).unwrap_or(inner);
        }
        inner = inner.trim_ascii_start();
        let skipped = (line.len() - inner.len()) as u64;
        let inner = inner.trim_ascii_end();
        (Place { offset: place.offset + skipped, len: inner.len() as u64 }, inner)
    }

    fn whole(&mut self, place: Place, line: &[u8]) -> Result<()> {
        match head::full(line) {
            Some(found) => self.found(place, found),
            None => {
                self.findings.malformed_lines += 1;
                if self.reading == Reading::Recover {
                    self.objects_within(place, line)?;
                }
                Ok(())
            }
        }
    }

    fn found(&mut self, place: Place, line: Line) -> Result<()> {
        match line {
            Line::Entry(head) => return self.index.push(place, &head),
            Line::Header(header) if self.findings.header.is_none() => {
                self.findings.header = Some(header);
                self.index.note_header();
            }
            Line::Header(_) => {}
            Line::Stranger => {
                self.findings.strangers += 1;
                self.index.note_stranger();
            }
        }
        Ok(())
    }

    /// pi#8345: two entries in one line, or one behind debris; each whole object counts.
    fn objects_within(&mut self, place: Place, line: &[u8]) -> Result<()> {
        let mut at = 0;
        for _ in 0..MAX_OBJECTS_PER_LINE {
            let Some(skip) = memchr::memmem::find(&line[at..], b"{\"type\":\"") else {
                break;
            };
            at += skip;
            let mut objects = serde_json::Deserializer::from_slice(&line[at..])
                .into_iter::<serde::de::IgnoredAny>();
            if !matches!(objects.next(), Some(Ok(_))) {
                at += 1;
                continue;
            }
            let len = objects.byte_offset();
            let object = &line[at..at + len];
            if let Some(Line::Entry(head)) = head::full(object)
                && is_surely_an_entry(&head)
            {
                let place = Place { offset: place.offset + at as u64, len: len as u64 };
                self.index.push(place, &head)?;
                at += len;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// A line that does not fit the window; `window` holds its beginning. Returns where the next
    /// line starts. The head comes from the edges; in any other order the line is read as a stream.
    fn long_line(&mut self, start: u64, window: &[u8]) -> Result<u64> {
        let len = self.source.len();
        let mut piece = vec![0u8; WINDOW];
        let mut at = start + window.len() as u64;
        let mut tail = window[window.len().saturating_sub(EDGE)..].to_vec();
        let mut doubts = Doubts::default();
        doubts.look_at(window);
        let mut end = len;
        while at < len {
            let room = piece.len().min(usize::try_from(len - at).unwrap_or(usize::MAX));
            self.source.read_at(at, &mut piece[..room])?;
            let stop = memchr::memchr(b'\n', &piece[..room]);
            let part = &piece[..stop.unwrap_or(room)];
            doubts.look_at(part);
            tail.extend_from_slice(&part[part.len().saturating_sub(EDGE)..]);
            tail.drain(..tail.len().saturating_sub(EDGE));
            if let Some(newline) = stop {
                end = at + newline as u64;
                break;
            }
            at += room as u64;
        }
        let tail = tail.trim_ascii_end();
        let place = Place { offset: start, len: end - start };
        if place.len > LONGEST_LINE {
            self.findings.malformed_lines += 1;
            return Ok((end + 1).min(len));
        }
        match head::quick(&window[..EDGE.min(window.len())], tail) {
            Some(head) if !doubts.any() => self.index.push(place, &head)?,
            _ => {
                // Only damaged lines and those in a foreign order come here, so the copy is the
                // exception.
                let mut whole = vec![0u8; usize::try_from(place.len).map_err(|_| too_long())?];
                self.source.read_at(start, &mut whole)?;
                self.line_of_any_order(place, &whole)?;
            }
        }
        Ok((end + 1).min(len))
    }

    fn line_of_any_order(&mut self, place: Place, line: &[u8]) -> Result<()> {
        let (place, line) = self.trimmed(place, line);
        self.whole(place, line)
    }
}

/// Made once: a session has many lines.
static PARENT: Lazy<Finder> = Lazy::new(|| Finder::new(Doubts::KEY));

/// What makes a line doubtful whose edges look well: a second parent (two lines became one; inside
/// a string the key's quotes are escaped), or zeros (a block of the disk was never written).
#[derive(Default)]
struct Doubts {
    parents: usize,
    zeros: bool,
    /// The end of the part before: a key may lie across.
    seam: Vec<u8>,
}

/// [`Doubts`] of a line that is there whole.
fn is_doubtful(line: &[u8]) -> bool {
    let second = || {
        let at = PARENT.find(line)? + Doubts::KEY.len();
        PARENT.find(&line[at..])
    };
    memchr::memchr(0, line).is_some() || second().is_some()
}

impl Doubts {
    const KEY: &'static [u8] = b"\"parentId\":";

    /// A whole line.
    fn about(line: &[u8]) -> Doubts {
        let parents = PARENT.find_iter(line).take(2).count();
        Doubts { parents, zeros: memchr::memchr(0, line).is_some(), seam: Vec::new() }
    }

    /// A line in parts.
    fn look_at(&mut self, part: &[u8]) {
        let short_of_a_key = Self::KEY.len() - 1;
        self.seam.extend_from_slice(&part[..part.len().min(short_of_a_key)]);
        let part_alone = Doubts::about(part);
        self.parents += part_alone.parents + Doubts::about(&self.seam).parents;
        self.zeros |= part_alone.zeros;
        self.seam.clear();
        self.seam.extend_from_slice(&part[part.len().saturating_sub(short_of_a_key)..]);
    }

    fn any(&self) -> bool {
        self.zeros || self.parents > 1
    }
}

fn too_long() -> Error {
    Error::SessionChanged("a line is longer than this machine can address".into())
}

/// A content block also has a `type` and may have an `id`; an entry has a place in the tree.
fn is_surely_an_entry(head: &Head) -> bool {
    !head.id.is_empty() && !matches!(head.parent, head::Parent::Absent)
}
