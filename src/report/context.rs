//! What the context held, entry by entry along the branch. The rules are those of
//! [`crate::session::projection`]; here they are followed step by step, so that the whole history
//! costs one pass.

use std::collections::HashMap;
use std::ops::Range;

use super::sizes::{Filling, Sizes};
use crate::error::Result;
use crate::session::projection::kept_from;
use crate::session::{Body, Branch, ContextEdit, EntryNo, Kind, Role};

/// So many points of the history are kept.
const SAMPLES: usize = 240;

/// What the walk needs of the entries, by their number.
pub struct Read<'r> {
    pub sizes: &'r [Sizes],
    pub edits: &'r HashMap<usize, ContextEdit>,
}

/// How a compaction changed the context.
pub struct Step {
    /// Its position.
    pub at: usize,
    /// The positions that it took out.
    pub range: Range<usize>,
    pub before: Sizes,
    pub took: Sizes,
    pub stayed: Sizes,
    pub after: Sizes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    Omitted,
    Replaced,
}

#[derive(Default)]
pub struct History {
    /// Positions, and what the context held after them.
    pub samples: Vec<(usize, Sizes)>,
    pub steps: Vec<Step>,
    /// What the context holds at the end of the branch.
    pub now: Sizes,
    pub start: usize,
    /// The edits that hold, by position.
    pub edited: HashMap<usize, Edited>,
}

/// Walks the branch.
///
/// Errors: the session changed while it was read.
pub fn walk(branch: &Branch, read: &Read) -> Result<History> {
    let session = branch.session;
    let ids: HashMap<&str, usize> =
        branch.iter().map(|(position, entry)| (session.id(entry), position)).collect();
    let mut history = History::default();
    // What each position adds to the context now.
    let mut here: Vec<Sizes> = Vec::with_capacity(branch.len());
    let stride = branch.len().div_ceil(SAMPLES).max(1);
    for (position, entry) in branch.iter() {
        let kind = session.kind(entry);
        here.push(own(kind, &read.sizes[entry.index()]));
        if kind == Kind::Compaction {
            compact(branch, &mut history, &mut here, position, entry, read)?;
        } else {
            history.now.add(&here[position]);
        }
        if let Some(edit) = read.edits.get(&entry.index()) {
            let target = ids.get(edit.target.as_str()).filter(|target| **target < position);
            if let Some(target) = target.copied() {
                let edited = apply(branch, &mut here, target, edit, &mut history);
                history.edited.insert(target, edited);
            }
        }
        let next = branch.get(position + 1).map(|next| session.kind(next));
        let is_point = (position + 1).is_multiple_of(stride)
            || kind == Kind::Compaction
            || matches!(next, None | Some(Kind::Compaction));
        if is_point {
            history.samples.push((position, history.now));
        }
    }
    Ok(history)
}

/// What an entry adds by its nature.
fn own(kind: Kind, sizes: &Sizes) -> Sizes {
    match kind {
        Kind::Message | Kind::CustomMessage | Kind::BranchSummary => *sizes,
        _ => Sizes::default(),
    }
}

fn compact(
    branch: &Branch,
    history: &mut History,
    here: &mut [Sizes],
    position: usize,
    entry: EntryNo,
    read: &Read,
) -> Result<()> {
    let session = branch.session;
    let Body::Compaction(compaction) = session.read_outline(entry)?.body else { return Ok(()) };
    let before = history.now;
    let kept = kept_from(branch, position, &compaction);
    // What was kept before an earlier boundary is not there to be kept again.
    let end = kept.min(position).max(history.start);
    let range = history.start..end;
    // The compaction brings its own copy of the prompt.
    for (at, _) in branch.iter().take(position).filter(|(_, e)| session.role(*e) == Role::System) {
        here[at] = Sizes::default();
    }
    let sum = |range: Range<usize>| {
        let mut sum = Sizes::default();
        here[range].iter().for_each(|sizes| sum.add(sizes));
        sum
    };
    let (took, stayed) = (sum(range.clone()), sum(kept.min(position)..position));
    let mut after = read.sizes[entry.index()];
    after.add(&stayed);
    history.steps.push(Step { at: position, range, before, took, stayed, after });
    history.now = after;
    history.start = kept;
    Ok(())
}

fn apply(
    branch: &Branch,
    here: &mut [Sizes],
    target: usize,
    edit: &ContextEdit,
    history: &mut History,
) -> Edited {
    let session = branch.session;
    let (kind, role) = branch
        .get(target)
        .map_or((Kind::Other, Role::None), |entry| (session.kind(entry), session.role(entry)));
    let (edited, sizes) = match &edit.replacement {
        None => (Edited::Omitted, Sizes::default()),
        Some(content) => {
            let sizes = Sizes::of_replacement(content, kind, role);
            (Edited::Replaced, sizes.unwrap_or(here[target]))
        }
    };
    if target >= history.start {
        history.now.take(&here[target]);
        history.now.add(&sizes);
    }
    here[target] = sizes;
    edited
}

impl Step {
    /// Estimated tokens of the summary.
    pub fn summary(&self) -> u64 {
        self.after.get(Filling::Summary)
    }
}
