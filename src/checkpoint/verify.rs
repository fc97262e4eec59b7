//! A compaction of this method is made again from the raw entries and compared with what it says.

use serde_json::Value;

use super::source::{Checkpoint, Source};
use super::{Request, compact, written};
use crate::error::Result;
use crate::json::Fields;
use crate::session::projection::kept_from;
use crate::session::{Branch, Compaction, ids};
use crate::text::{clip, escape_metadata};

/// What does not hold in a compaction; `branch` ends before it.
///
/// Errors: the session changed while it was read.
pub fn check(branch: &Branch, compaction: &Compaction, details: &Fields) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let checkpoint = recorded(branch, compaction, details, &mut problems)?;
    let text = |key: &str| details.string(key).unwrap_or_default();
    let request = Request {
        first_kept: kept_from(branch, branch.len(), compaction).min(branch.len()),
        is_split_turn: details.bool("splitTurn").unwrap_or(false),
        tokens_before: details.number("tokensBefore").unwrap_or(0.0),
        trigger: &text("trigger"),
        at: &text("at"),
        cwd: &text("cwd"),
    };
    let Some(made) = compact(branch, checkpoint.as_ref(), &request)? else {
        problems.push("there is nothing that it could be made of".to_owned());
        return Ok(problems);
    };
    if made.summary != compaction.summary {
        problems.push(difference(&compaction.summary, &made.summary));
    }
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (stored, expected) =
        (parsed(compaction.details.as_deref().unwrap_or_default()), parsed(made.details.get()));
    let keys = expected.as_object().into_iter().flat_map(|details| details.keys());
    for key in keys.filter(|key| stored.get(key) != expected.get(key)) {
        problems.push(format!("its {key} in the details is not what the entries give"));
    }
    Ok(problems)
}

/// The checkpoint that it was made of: a call is found again, the text of a file stands in the
/// summary alone.
fn recorded(
    branch: &Branch,
    compaction: &Compaction,
    details: &Fields,
    problems: &mut Vec<String>,
) -> Result<Option<Checkpoint>> {
    let newest = written::newest(branch)?;
    let Some(stored) = details.object("checkpoint") else {
        if newest.is_some() {
            problems.push("it was made without the checkpoint that the branch has".to_owned());
        }
        return Ok(newest.map(Checkpoint::from));
    };
    let source = stored.string("source").unwrap_or_default();
    let Some(source) = Source::of_name(&source).filter(|source| *source != Source::Call) else {
        if newest.is_none() {
            problems.push("the branch has no call that wrote its checkpoint".to_owned());
        }
        return Ok(newest.map(Checkpoint::from));
    };
    if newest.is_some() {
        problems.push("it was made of a file although the branch has a checkpoint".to_owned());
    }
    let Some(text) = shown(&compaction.summary) else {
        problems.push("it does not show the checkpoint that it was made of".to_owned());
        return Ok(None);
    };
    let entry = stored.string("entry").map(|id| ids::plain(&id).into_owned());
    let end = stored.number("end").unwrap_or(0.0) as usize;
    if let Some(entry) = &entry {
        let known = branch.position(entry).map(|position| written::end_of_step(branch, position));
        if known != Some(end) {
            problems.push(format!("its checkpoint does not end with entry {entry}"));
        }
    }
    Ok(Some(Checkpoint {
        text: text.to_owned(),
        chars: stored.number("chars").unwrap_or(0.0) as usize,
        source,
        at: stored.string("at").unwrap_or_default(),
        entry,
        end: end.min(branch.len()),
    }))
}

/// The text of the checkpoint between its tags.
fn shown(summary: &str) -> Option<&str> {
    let (_, body) = summary.split_once("\n<checkpoint")?;
    let (opened, inside) = body.split_once(">\n")?;
    let suffix = opened.split(' ').next()?;
    let end = inside.find(&format!("\n</checkpoint{suffix}>\n"))?;
    Some(&inside[..end])
}

/// The first line in which two texts differ.
fn difference(summary: &str, expected: &str) -> String {
    let (mut has, mut wants) = (summary.lines(), expected.lines());
    loop {
        let (line, other) = (has.next(), wants.next());
        if line != other || line.is_none() {
            let shown = |line: Option<&str>| {
                line.map_or_else(
                    || "it ends".to_owned(),
                    |line| format!("\"{}\"", escape_metadata(&clip(line, 80))),
                )
            };
            return format!("it says {}, the entries give {}", shown(line), shown(other));
        }
    }
}
