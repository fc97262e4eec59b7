//! The newest checkpoint up to the end of its last span is the beginning of the next one. Where the
//! cap left it whole, those bytes are taken over as they stand, and no older compaction has to be
//! read: the eighth compaction costs what the first did.

use serde_json::{Value, json};

use super::startup::Selection;
use super::{details, wording};
use crate::error::Result;
use crate::json::Fields;
use crate::session::{Body, Branch, Detail, Kind};
use crate::settings::Measure;
use crate::text::estimate_tokens;

/// The sizes of a conversation section, in one measure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionSize {
    /// The base.
    pub fixed: u64,
    /// Tags, notes, blank lines.
    pub tags: u64,
    pub lines: u64,
}

/// The beginning of the next checkpoint.
#[derive(Debug, Clone)]
pub struct Carried {
    /// From the introduction to the end of the last span.
    pub text: String,
    /// How many spans it holds.
    pub spans: usize,
    chars: SectionSize,
    quarters: SectionSize,
}

impl Carried {
    pub fn size(&self, measure: Measure) -> SectionSize {
        match measure {
            Measure::Chars => self.chars,
            Measure::QuarterTokens => self.quarters,
        }
    }
}

/// What the newest checkpoint hands on.
pub struct Newest {
    pub carried: Carried,
    pub startup: Option<Selection>,
    /// Estimated tokens of its summary.
    pub tokens: u64,
}

/// What `details` say about a section that the next checkpoint can carry on.
pub fn to_json(end: usize, spans: usize, size: impl Fn(Measure) -> SectionSize) -> Value {
    let sizes = |measure| {
        let size = size(measure);
        json!([size.fixed, size.tags, size.lines])
    };
    json!({
        "end": end,
        "spans": spans,
        "chars": sizes(Measure::Chars),
        "quarterTokens": sizes(Measure::QuarterTokens),
    })
}

/// The newest compaction's section; `None` where it is not ours, was trimmed, begins with another
/// introduction, or is about to be rebuilt.
///
/// Errors: the session changed while it was read.
pub fn newest(branch: &Branch, rebuilding: bool) -> Result<Option<Newest>> {
    let session = branch.session;
    let newest = branch.iter().rev().find(|(_, entry)| session.kind(*entry) == Kind::Compaction);
    let Some((_, entry)) = newest.filter(|_| !rebuilding) else { return Ok(None) };
    let Body::Compaction(compaction) = session.read(entry, Detail::Kept)?.body else {
        return Ok(None);
    };
    let raw = compaction.details.unwrap_or_default();
    let details =
        Fields::parse(&raw).filter(|d| d.string("kind").as_deref() == Some(details::KIND));
    Ok(details.and_then(|details| carried(&details, compaction.summary)))
}

fn carried(details: &Fields, mut summary: String) -> Option<Newest> {
    let section = details.object("section")?;
    let startup = details::read_startup(details, &summary);
    let tokens = estimate_tokens(&summary);
    let end = section.number("end")? as usize;
    if !summary.starts_with(wording::INTRODUCTION) || !summary.is_char_boundary(end) {
        return None;
    }
    summary.truncate(end);
    let sizes = |key: &str| {
        let all: Option<Vec<u64>> =
            section.array(key).into_iter().map(|raw| raw.get().parse().ok()).collect();
        match all?.as_slice() {
            [fixed, tags, lines] => Some(SectionSize { fixed: *fixed, tags: *tags, lines: *lines }),
            _ => None,
        }
    };
    let carried = Carried {
        text: summary,
        spans: section.number("spans")? as usize,
        chars: sizes("chars")?,
        quarters: sizes("quarterTokens")?,
    };
    Some(Newest { carried, startup, tokens })
}
