//! What of a branch a model sees: the latest compaction's summary, the entries it kept, all that
//! follows, with context edits applied. The rules are Pi's (`buildSessionProjection`).

use std::collections::HashMap;

use super::{Block, Body, Branch, Compaction, Detail, Entry, EntryNo, Kind, Role};
use crate::error::Result;

pub struct Projection<'b, 's, 'a> {
    pub branch: &'b Branch<'s, 'a>,
    /// Position of the latest compaction.
    pub compaction: Option<usize>,
    /// Position of the first entry that is part of the context besides the compaction.
    pub start: usize,
    /// Position after the last one.
    pub end: usize,
    edits: Edits,
}

/// The position from which on a compaction at `position` kept the entries before it; the one after
/// it where it kept none (its boundary is missing, unknown, or not on this branch).
pub fn kept_from(branch: &Branch, position: usize, compaction: &Compaction) -> usize {
    let session = branch.session;
    let kept = match (&compaction.first_kept, compaction.first_kept_line) {
        (Some(id), _) => {
            branch.iter().take(position).find(|(_, e)| session.id(*e) == id).map(|(p, _)| p)
        }
        (None, Some(line)) => {
            session.at_line(line).and_then(|e| branch.position_of(e)).filter(|p| *p < position)
        }
        (None, None) => None,
    };
    kept.unwrap_or(position + 1)
}

/// Content edits by entry; `None` omits it. The latest one of an entry counts.
pub type Edits = HashMap<EntryNo, Option<Vec<Block>>>;

/// The edits among the positions from `start` to `end`.
pub fn edits(branch: &Branch, start: usize, end: usize) -> Result<Edits> {
    let mut edits = Edits::new();
    for (_, entry) in branch.iter().take(end).skip(start) {
        if branch.session.kind(entry) == Kind::ContextEdit
            && let Body::ContextEdit(edit) = branch.session.read(entry, Detail::Kept)?.body
            && let Some(target) = branch.position(&edit.target).and_then(|p| branch.get(p))
        {
            edits.insert(target, edit.replacement);
        }
    }
    Ok(edits)
}

impl<'b, 's, 'a> Projection<'b, 's, 'a> {
    /// The context when the branch was `end` entries long.
    pub fn at(branch: &'b Branch<'s, 'a>, end: usize) -> Result<Projection<'b, 's, 'a>> {
        let session = branch.session;
        let mut compaction = None;
        let mut start = 0;
        let latest = branch
            .iter()
            .take(end)
            .rev()
            .find(|(_, entry)| session.kind(*entry) == Kind::Compaction);
        if let Some((position, entry)) = latest
            && let Body::Compaction(found) = session.read(entry, Detail::Kept)?.body
        {
            start = kept_from(branch, position, &found);
            compaction = Some(position);
        }
        let edits = edits(branch, start, end)?;
        Ok(Projection { branch, compaction, start, end, edits })
    }

    /// The context of the whole branch.
    pub fn of(branch: &'b Branch<'s, 'a>) -> Result<Projection<'b, 's, 'a>> {
        Projection::at(branch, branch.len())
    }

    /// Whether the entry at a position is there for the model: a message that no edit omitted.
    pub fn is_visible(&self, position: usize) -> bool {
        let Some(entry) = self.branch.get(position) else {
            return false;
        };
        let session = self.branch.session;
        let by_nature = match session.kind(entry) {
            // Prompt state that was kept is replaced by the compaction's own copy.
            Kind::Message => {
                session.role(entry) != Role::System || self.compaction.is_none_or(|c| position > c)
            }
            Kind::CustomMessage | Kind::BranchSummary => true,
            _ => false,
        };
        by_nature && !self.is_omitted(entry)
    }

    /// An edit took the entry out of the context.
    pub fn is_omitted(&self, entry: EntryNo) -> bool {
        matches!(self.edits.get(&entry), Some(None))
    }

    pub fn is_replaced(&self, entry: EntryNo) -> bool {
        matches!(self.edits.get(&entry), Some(Some(_)))
    }

    /// The entry as the model sees it, `None` if it does not.
    pub fn read(&self, position: usize, detail: Detail) -> Result<Option<Entry>> {
        let Some(entry) = self.branch.get(position).filter(|_| self.is_visible(position)) else {
            return Ok(None);
        };
        let mut read = self.branch.session.read(entry, detail)?;
        match &mut read.body {
            Body::BranchSummary { summary } if summary.is_empty() => return Ok(None),
            Body::User(content) | Body::Custom { content, .. } => self.replace(entry, content),
            Body::Assistant(message) => self.replace(entry, &mut message.content),
            Body::ToolResult(result) if detail == Detail::All => {
                self.replace(entry, &mut result.content);
            }
            _ => {}
        }
        Ok(Some(read))
    }

    fn replace(&self, entry: EntryNo, content: &mut Vec<Block>) {
        if let Some(Some(replacement)) = self.edits.get(&entry) {
            content.clone_from(replacement);
        }
    }
}
