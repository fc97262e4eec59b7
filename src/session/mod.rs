//! Pi's sessions: entries, the branch that leads to a leaf, and what of it a model sees.

mod branch;
pub mod cut;
mod end;
mod entry;
pub mod estimate;
pub mod file_lists;
pub mod files;
mod head;
pub mod ids;
mod index;
mod labels;
mod lines;
pub mod pairing;
pub mod paths;
pub mod projection;
mod result_texts;
mod scan;
mod shared_work;
mod source;
mod typed;
mod window;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use branch::{Branch, Leaf};
pub use entry::{
    Assistant, Bash, Block, Body, Compaction, ContextEdit, Detail, Entry, NestedCall, ToolCall,
    ToolResult, text_of,
};
pub use head::{Header, Kind, Role, SETTING_PREFIX as OWN_PREFIX};
pub use index::EntryNo;
pub use result_texts::ResultTexts;
pub use scan::Reading;

use crate::error::{Error, Result};
use crate::json::Fields;
use index::{Index, Place};
use serde_json::value::RawValue;
use source::Source;
pub use window::Window;

/// The newest session format that is understood, and the first one whose entries name their parents.
const NEWEST_VERSION: f64 = 3.0;
const CHAINED_VERSION: f64 = 2.0;
/// Of a longer tool result only the edges are read: its output is not kept.
const SHORT_LINE: u64 = 2048;
const RESULT_EDGES: [usize; 3] = [512, 4 << 10, 64 << 10];
/// The last bytes of a compaction in which its details are looked for.
const OUTLINE_EDGES: [u64; 4] = [32 << 10, 128 << 10, 512 << 10, 4 << 20];

/// A session: where its entries lie. Bodies are read when asked for.
pub struct Session<'a> {
    source: Source<'a>,
    index: Index,
    reading: Reading,
    /// For readers that have none of their own.
    window: Mutex<Window>,
    /// For the inline form, the header is what the envelope says.
    pub header: Header,
    /// Labels of an inline session; they win over label entries.
    given_labels: Option<HashMap<String, String>>,
    /// Lines that are not one JSON object, which Pi skips as well.
    pub malformed_lines: u64,
    /// Only the end of the file was read: entries before it are not missing.
    is_end: bool,
}

impl<'a> Session<'a> {
    /// Opens a session file.
    ///
    /// Errors: unreadable, not a session, or of a format that is not known.
    pub fn open(path: &Path, reading: Reading) -> Result<Session<'a>> {
        Session::from_source(Source::open(path)?, reading)
    }

    /// A whole session file in memory (standard input of the command line).
    ///
    /// Errors: not a session, or of a format that is not known.
    pub fn from_jsonl(bytes: &'a [u8], reading: Reading) -> Result<Session<'a>> {
        Session::from_source(Source::Memory(bytes), reading)
    }

    fn from_source(source: Source<'a>, reading: Reading) -> Result<Session<'a>> {
        let (mut index, findings) = scan::scan(&source, reading)?;
        let not =
            |why: &str| Error::NotASession { path: source.name().to_owned(), why: why.into() };
        let Some(header) = findings.header else {
            return Err(not(match (findings.strangers, index.is_empty(), source.len()) {
                (_, _, 0) => "it is empty",
                (0, true, _) => "no line of it is a JSON object",
                _ => "it has no header line (\"type\":\"session\")",
            }));
        };
        // A version that is no number is not a known one either.
        if header.version.is_nan() || header.version > NEWEST_VERSION {
            return Err(Error::UnknownFormat(format!("{}", header.version)));
        }
        if header.version < CHAINED_VERSION {
            index.chain()
        } else {
            index.link()
        }
        Ok(Session {
            source,
            index,
            reading,
            window: Mutex::default(),
            header,
            given_labels: None,
            malformed_lines: findings.malformed_lines,
            is_end: false,
        })
    }

    /// The inline form: the entries of one branch, root to leaf, as they stand in the envelope.
    ///
    /// Errors: two of them have the same id.
    pub fn from_branch(
        branch: &'a RawValue,
        header: Header,
        labels: HashMap<String, String>,
        reading: Reading,
    ) -> Result<Session<'a>> {
        let bytes = branch.get().as_bytes();
        let elements = crate::json::elements(branch.into());
        let places: Vec<Place> = elements
            .iter()
            .map(|raw| Place {
                // Each element is a part of `branch`, so the difference is its offset.
                offset: (raw.get().as_ptr() as usize - bytes.as_ptr() as usize) as u64,
                len: raw.get().len() as u64,
            })
            .collect();
        let mut index = Index::default();
        let findings = scan::scan_parts(&places, bytes, reading, &mut index)?;
        if let Some(id) = index.twin() {
            let text = format!("two entries of `session.branch` have the id {id:?}");
            return Err(Error::Envelope(text));
        }
        index.chain();
        let labels = labels.into_iter().map(|(id, label)| (ids::plain(&id).into_owned(), label));
        Ok(Session {
            source: Source::Memory(bytes),
            index,
            reading,
            window: Mutex::default(),
            header,
            given_labels: Some(labels.collect()),
            malformed_lines: findings.malformed_lines,
            is_end: false,
        })
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Bytes of the file, or of the inline branch.
    pub fn bytes(&self) -> u64 {
        self.source.len()
    }

    /// Bytes of an entry's line.
    pub fn line_bytes(&self, entry: EntryNo) -> u64 {
        self.index.place(entry).len
    }

    /// What the entry is called (see [`ids::plain`]).
    pub fn id(&self, entry: EntryNo) -> &str {
        self.index.id(entry)
    }

    pub fn kind(&self, entry: EntryNo) -> Kind {
        self.index.kind(entry)
    }

    pub fn role(&self, entry: EntryNo) -> Role {
        self.index.role(entry)
    }

    /// A `custom` entry that holds a setting of ours.
    pub fn is_setting(&self, entry: EntryNo) -> bool {
        self.index.is_setting(entry)
    }

    /// Whether a line of at most `limit` bytes holds these; a longer one is not looked at.
    ///
    /// Errors: the file changed since it was opened.
    pub fn mentions(&self, entry: EntryNo, needle: &[u8], limit: u64) -> Result<bool> {
        let place = self.index.place(entry);
        if place.len > limit {
            return Ok(false);
        }
        Ok(memchr::memmem::find(self.line(place, &mut self.window())?, needle).is_some())
    }

    pub fn find(&self, id: &str) -> Option<EntryNo> {
        self.index.find(&ids::plain(id))
    }

    /// The id as it stands in the file.
    ///
    /// Errors: the file changed since it was opened.
    pub fn id_in_file(&self, entry: EntryNo) -> Result<String> {
        let mut window = self.window();
        let line = crate::json::mend(self.line(self.index.place(entry), &mut window)?);
        let id = Fields::parse(&line).and_then(|fields| fields.string("id"));
        Ok(id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.id(entry).to_owned()))
    }

    /// All entries of the file in file order, whatever branch they are on.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = EntryNo> + use<> {
        self.index.numbers()
    }

    /// Reads and decodes one entry.
    ///
    /// Errors: the file changed since it was opened.
    pub fn read(&self, entry: EntryNo, detail: Detail) -> Result<Entry> {
        self.read_through(&mut self.window(), entry, detail)
    }

    /// The same through a window of the caller's, who reads many beside others that do.
    ///
    /// Errors: the file changed since it was opened.
    pub fn read_through(
        &self,
        window: &mut Window,
        entry: EntryNo,
        detail: Detail,
    ) -> Result<Entry> {
        let place = self.index.place(entry);
        if detail == Detail::Kept
            && self.role(entry) == Role::ToolResult
            && place.len > SHORT_LINE
            && let Some(result) = self.long_result(place, window)?
        {
            return Ok(result);
        }
        self.decode(entry, self.line(place, window)?, detail)
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes the line of an entry.
    ///
    /// Errors: the line is not that of the entry: the file changed since it was opened.
    pub fn decode(&self, entry: EntryNo, line: &[u8], detail: Detail) -> Result<Entry> {
        if let Some(decoded) = Entry::decode(line, detail) {
            return Ok(decoded);
        }
        let id = self.id(entry);
        let is_here = head::quick(line, line).is_some_and(|head| ids::is_name_of(id, &head.id));
        match self.reading {
            Reading::Recover if is_here => Ok(Entry::new(None, Body::Damaged)),
            // The host has the entry in memory.
            Reading::AsPi if is_here => {
                Err(Error::SessionStale(format!("entry {id} is damaged in the file")))
            }
            _ => Err(Error::SessionChanged(format!("entry {id} is no longer where it was"))),
        }
    }

    /// The bytes of one line.
    fn line<'l>(&'l self, place: Place, window: &'l mut Window) -> Result<&'l [u8]> {
        let len = usize::try_from(place.len).unwrap_or(usize::MAX);
        window.get(&self.source, place.offset, len)
    }

    /// A compaction without its summary, which may be millions of bytes long; any other entry as
    /// [`Session::read`] gives it.
    ///
    /// Errors: the file changed since it was opened.
    pub fn read_outline(&self, entry: EntryNo) -> Result<Entry> {
        let place = self.index.place(entry);
        for edge in OUTLINE_EDGES.into_iter().filter(|edge| *edge < place.len) {
            let mut start = [0u8; RESULT_EDGES[0]];
            let mut end = vec![0u8; usize::try_from(edge).unwrap_or(usize::MAX)];
            self.source.read_at(place.offset, &mut start)?;
            self.source.read_at(place.offset + place.len - edge, &mut end)?;
            if let Some(outline) = head::compaction_outline(&start, &end) {
                return Ok(outline);
            }
        }
        self.read(entry, Detail::Kept)
    }

    /// A large tool result without its output: the call's id and name stand in its first bytes, the
    /// error flag in its last.
    fn long_result(&self, place: Place, window: &mut Window) -> Result<Option<Entry>> {
        let start = window.get(&self.source, place.offset, RESULT_EDGES[0])?;
        let Ok(start) = <[u8; RESULT_EDGES[0]]>::try_from(start) else { return Ok(None) };
        for edge in RESULT_EDGES.into_iter().filter(|edge| (*edge as u64) < place.len) {
            let end = place.offset + place.len - edge as u64;
            let result = head::long_result(&start, window.get(&self.source, end, edge)?);
            if result.is_some() {
                return Ok(result);
            }
        }
        Ok(None)
    }

    /// The line number a v1 compaction names as its first kept one.
    pub(crate) fn at_line(&self, line: usize) -> Option<EntryNo> {
        self.index.at_line(line)
    }

    pub(crate) fn parent(
        &self,
        entry: EntryNo,
    ) -> std::result::Result<Option<EntryNo>, &'static str> {
        match self.index.parent(entry) {
            Err(_) if self.is_end => Ok(None),
            parent => parent,
        }
    }
}
