//! Where the checkpoint comes from: the branch; for older sessions a file.

use super::TEXT_CHARS;
use super::file::{self, Parsed};
use super::written::{self, Written};
use crate::error::Result;
use crate::session::{Branch, Detail};
use crate::text::{beginning, iso_time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A call of the tool on the branch.
    Call,
    /// This session's file, which names an entry of the branch.
    File,
    /// The file of the session that this one was forked from.
    Parent,
    /// This session's file as the older extension left it.
    Older,
    /// `active.md`, which any session of the project may have written.
    Shared,
}

impl Source {
    const ALL: [Source; 5] =
        [Source::Call, Source::File, Source::Parent, Source::Older, Source::Shared];

    pub fn of_name(name: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.name() == name)
    }

    /// For attributes and details.
    pub fn name(self) -> &'static str {
        match self {
            Source::Call => "call",
            Source::File => "file",
            Source::Parent => "file of the parent session",
            Source::Older => "file of the older extension",
            Source::Shared => "active.md, shared between sessions",
        }
    }
}

/// The state of the work in the model's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Word for word, at most [`TEXT_CHARS`] characters of it.
    pub text: String,
    /// How many characters it had.
    pub chars: usize,
    pub source: Source,
    /// When it was written, ISO 8601.
    pub at: String,
    /// The entry up to which it knows.
    pub entry: Option<String>,
    /// The first position of the branch that it does not cover; 0 where nobody knows.
    pub end: usize,
}

impl Checkpoint {
    /// The model is known to have written it; a file alone can be anybody's.
    pub fn is_models(&self) -> bool {
        matches!(self.source, Source::Call | Source::File | Source::Parent)
    }
}

/// A file as it was read.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub text: String,
    /// When the file was last written, in milliseconds since 1970.
    pub mtime_ms: f64,
}

/// The files of a session, as far as they exist.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub own: Option<Found>,
    pub parent: Option<Found>,
    pub shared: Option<Found>,
}

/// What a file without an entry may be off by, in milliseconds: file systems and clocks differ.
const TOLERANCE_MS: f64 = 60_000.0;

/// The checkpoint of a branch. `files` is asked only when the branch has none itself.
///
/// Errors: the session changed while it was read.
pub fn find(
    branch: &Branch,
    cwd: &str,
    max_age_seconds: u64,
    files: impl FnOnce() -> Files,
) -> Result<Option<Checkpoint>> {
    if let Some(written) = written::newest(branch)? {
        return Ok(Some(written.into()));
    }
    let files = files();
    let clock = Clock { branch, max_age_ms: max_age_seconds as f64 * 1000.0 };
    if let Some(found) = files.own
        && let Some(checkpoint) = own(&clock, found)?
    {
        return Ok(Some(checkpoint));
    }
    if let Some(found) = files.parent
        && let Some(checkpoint) = covering(branch, file::parse(&found.text), Source::Parent)
    {
        return Ok(Some(checkpoint));
    }
    match files.shared {
        Some(found) => shared(&clock, found, cwd),
        None => Ok(None),
    }
}

impl From<Written> for Checkpoint {
    fn from(written: Written) -> Checkpoint {
        let Written { text, chars, entry, at, end } = written;
        Checkpoint { text, chars, source: Source::Call, at, entry: Some(entry), end }
    }
}

fn own(clock: &Clock, found: Found) -> Result<Option<Checkpoint>> {
    let parsed = file::parse(&found.text);
    if parsed.text.is_empty() {
        return Ok(None);
    }
    if parsed.covered.is_some() {
        // Of another branch of this session, unless its entry is here.
        return Ok(covering(clock.branch, parsed, Source::File));
    }
    let written = parsed.at.as_deref().and_then(epoch_ms).unwrap_or(found.mtime_ms);
    if clock.is_too_old(written)? {
        return Ok(None);
    }
    let end = if parsed.rewritten { 0 } else { clock.end_at(written)? };
    Ok(Some(Checkpoint {
        at: parsed.at.clone().or_else(|| iso_time(written as i64)).unwrap_or_default(),
        end,
        ..anchor(&parsed, Source::Older)
    }))
}

/// A checkpoint whose covered entry is on the branch.
fn covering(branch: &Branch, parsed: Parsed, source: Source) -> Option<Checkpoint> {
    let covered = parsed.covered.as_deref()?;
    let position = branch.position(covered).filter(|_| !parsed.text.is_empty())?;
    Some(Checkpoint {
        at: parsed.at.clone().unwrap_or_default(),
        entry: Some(covered.to_owned()),
        end: written::end_of_step(branch, position),
        ..anchor(&parsed, source)
    })
}

/// The shared file: only what names this project, and never as if it were fresh.
fn shared(clock: &Clock, found: Found, cwd: &str) -> Result<Option<Checkpoint>> {
    let parsed = file::parse(&found.text);
    let is_ours = !cwd.is_empty() && parsed.cwd.as_deref() == Some(cwd);
    if parsed.text.is_empty() || !is_ours || clock.is_too_old(found.mtime_ms)? {
        return Ok(None);
    }
    let at = parsed.at.clone().or_else(|| iso_time(found.mtime_ms as i64)).unwrap_or_default();
    Ok(Some(Checkpoint { at, ..anchor(&parsed, Source::Shared) }))
}

fn anchor(parsed: &Parsed, source: Source) -> Checkpoint {
    Checkpoint {
        text: beginning(&parsed.text, TEXT_CHARS).to_owned(),
        chars: parsed.text.chars().count(),
        source,
        at: String::new(),
        entry: None,
        end: 0,
    }
}

/// Time as the session tells it: a file's age is measured against its last entry, so that a
/// session that is resumed next week still has its state.
struct Clock<'c, 's, 'a> {
    branch: &'c Branch<'s, 'a>,
    max_age_ms: f64,
}

impl Clock<'_, '_, '_> {
    fn is_too_old(&self, written: f64) -> Result<bool> {
        let last = self.branch.len().checked_sub(1).map(|at| self.time(at)).transpose()?.flatten();
        Ok(last.is_some_and(|last| last - written > self.max_age_ms))
    }

    /// The position behind the last entry that was there when a file was written; 0 where the file
    /// is younger than the whole branch, which says nothing about what it knows.
    fn end_at(&self, written: f64) -> Result<usize> {
        let mut end = self.branch.len();
        while end > 0 {
            match self.time(end - 1)? {
                Some(time) if time <= written + TOLERANCE_MS => break,
                _ => end -= 1,
            }
        }
        let last = end.checked_sub(1).map(|at| self.time(at)).transpose()?.flatten();
        let is_of_now =
            end < self.branch.len() || last.is_some_and(|t| written <= t + TOLERANCE_MS);
        Ok(if is_of_now { end } else { 0 })
    }

    fn time(&self, position: usize) -> Result<Option<f64>> {
        let Some(entry) = self.branch.get(position) else {
            return Ok(None);
        };
        let read = self.branch.session.read(entry, Detail::Kept)?;
        Ok(read.timestamp.as_deref().and_then(epoch_ms))
    }
}

fn epoch_ms(iso: &str) -> Option<f64> {
    iso.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond() as f64)
}
