//! What an earlier compaction carried, so that the next one can carry it on.

use serde_json::{Value, json};

use super::collect;
use super::line::{Kind, Line};
use super::{DETAILS_KIND, VERBATIM_KIND};
use crate::error::Result;
use crate::json::{self, Fields, Raw};
use crate::session::ids;
use crate::session::projection::{self, Projection, kept_from};
use crate::session::{Body, Branch, Compaction, Detail, Kind as EntryKind, Role};
use crate::text::one_line;

/// Of a summary that another method left, so much is carried.
const STATE_CHARS: usize = 500;

/// The lines that stand for everything before the context's first entry.
///
/// Errors: the session changed while it was read.
pub fn earlier(branch: &Branch, context: &Projection) -> Result<Vec<Line>> {
    let Some(mut end) = context.compaction else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    let mut from = 0;
    // A verbatim checkpoint carries nothing that the raw entries do not have; look behind it.
    while let Some((position, compaction)) = compaction_before(branch, end + 1)? {
        let details = compaction.details.as_deref().and_then(Fields::parse);
        let kind = details.as_ref().and_then(|details| details.string("kind"));
        match (kind.as_deref(), details) {
            (Some(VERBATIM_KIND), _) => {}
            (Some(DETAILS_KIND), Some(details)) if details.raw("carry").is_some() => {
                lines =
                    details.array("carry").into_iter().filter_map(|raw| read(raw.get())).collect();
                from = kept_from(branch, position, &compaction);
                break;
            }
            _ => {
                let id = branch.get(position).map_or("", |entry| branch.session.id(entry));
                let text = one_line(&compaction.summary, STATE_CHARS);
                lines.push(Line::new(Kind::State, id, text));
                break;
            }
        }
        if position == 0 {
            break;
        }
        end = position - 1;
    }
    lines.extend(asks(branch, from, context.start.min(branch.len()))?);
    Ok(lines)
}

fn compaction_before(branch: &Branch, end: usize) -> Result<Option<(usize, Compaction)>> {
    let session = branch.session;
    let found = branch
        .iter()
        .take(end)
        .rev()
        .find(|(_, entry)| session.kind(*entry) == EntryKind::Compaction);
    let Some((position, entry)) = found else {
        return Ok(None);
    };
    match session.read(entry, Detail::Kept)?.body {
        Body::Compaction(compaction) => Ok(Some((position, compaction))),
        _ => Ok(None),
    }
}

/// What the user asked between two positions, straight from the raw entries.
fn asks(branch: &Branch, from: usize, to: usize) -> Result<Vec<Line>> {
    let session = branch.session;
    let edits = projection::edits(branch, from, branch.len())?;
    let mut lines = Vec::new();
    for (_, entry) in branch.iter().take(to).skip(from) {
        if session.role(entry) != Role::User || matches!(edits.get(&entry), Some(None)) {
            continue;
        }
        if let Body::User(content) = session.read(entry, Detail::Kept)?.body {
            let text = collect::ask(&content, session.id(entry));
            if !text.trim().is_empty() && !collect::is_injected(&text) {
                lines.push(Line::new(Kind::Ask, session.id(entry), text));
            }
        }
    }
    Ok(lines)
}

/// Lines as details hold them: kind, entry, text, and for a range its last entry and its count.
pub fn stored(lines: &[Line]) -> Value {
    let line = |line: &Line| match (&line.until, line.outcome) {
        (Some((last, count)), _) => json!([line.kind.name(), line.entry, "", last, count]),
        (None, Some(outcome)) => json!([line.kind.name(), line.entry, line.text, outcome.label()]),
        (None, None) => json!([line.kind.name(), line.entry, line.text]),
    };
    lines.iter().map(line).collect()
}

fn read(text: &str) -> Option<Line> {
    let parts = json::elements(Raw::parse(text)?);
    let mut line = Line::new(
        Kind::of_name(&json::string(*parts.first()?)?)?,
        &ids::plain(&json::string(*parts.get(1)?)?),
        json::string(*parts.get(2)?)?,
    );
    match (parts.get(3), parts.get(4)) {
        (Some(last), Some(count)) => {
            let last = ids::plain(&json::string(*last)?).into_owned();
            line.until = Some((last, count.get().parse().ok()?));
        }
        (Some(outcome), None) => line.outcome = super::outcome_of(&json::string(*outcome)?),
        _ => {}
    }
    Some(line)
}
