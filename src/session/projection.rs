//! What of a branch a model sees: the latest compaction's summary, the entries it kept, all that
//! follows, with context edits applied. The rules are Pi's (`buildSessionProjection`).

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use super::shared_work;
use super::{Block, Body, Branch, Compaction, Detail, Entry, EntryNo, Kind, Role, Window};
use crate::error::Result;

/// Entries that one thread takes at a time.
const CHUNK: usize = 128;

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
///
/// Errors: the session changed while it was read.
pub fn edits(branch: &Branch, start: usize, end: usize) -> Result<Edits> {
    let mut by_target = HashMap::new();
    for (_, entry) in branch.iter().take(end).skip(start) {
        if branch.session.kind(entry) == Kind::ContextEdit
            && let Body::ContextEdit(edit) = branch.session.read(entry, Detail::Kept)?.body
        {
            by_target.insert(edit.target, edit.replacement);
        }
    }
    let mut edits = Edits::with_capacity(by_target.len());
    for (_, entry) in branch.iter() {
        if by_target.is_empty() {
            break;
        }
        if let Some(replacement) = by_target.remove(branch.session.id(entry)) {
            edits.insert(entry, replacement);
        }
    }
    Ok(edits)
}

impl<'b, 's, 'a> Projection<'b, 's, 'a> {
    /// The context when the branch was `end` entries long.
    ///
    /// Errors: the session changed while it was read.
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
            && let Body::Compaction(found) = session.read_outline(entry)?.body
        {
            start = kept_from(branch, position, &found);
            compaction = Some(position);
        }
        let edits = edits(branch, start, end)?;
        Ok(Projection { branch, compaction, start, end, edits })
    }

    /// The context of the whole branch.
    ///
    /// Errors: the session changed while it was read.
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
    ///
    /// Errors: the session changed while it was read.
    pub fn read(&self, position: usize, detail: Detail) -> Result<Option<Entry>> {
        let Some(entry) = self.branch.get(position).filter(|_| self.is_visible(position)) else {
            return Ok(None);
        };
        Ok(self.seen(entry, self.branch.session.read(entry, detail)?, detail))
    }

    /// Hands over what `digest` makes of the entries of a range as the model sees them, in their
    /// order. Two threads share the work.
    ///
    /// Errors: the session changed while it was read.
    pub fn map<T: Send>(
        &self,
        range: Range<usize>,
        detail: Detail,
        digest: impl Fn(EntryNo, Entry) -> Option<T> + Sync,
        mut take: impl FnMut(&mut T),
    ) -> Result<()> {
        let session = self.branch.session;
        let chunk = |piece: usize| {
            let start = range.start + piece * CHUNK;
            start..range.end.min(start + CHUNK)
        };
        let work = |piece, window: &mut Window| -> Result<Vec<T>> {
            let mut made = Vec::with_capacity(CHUNK);
            for position in chunk(piece).filter(|position| self.is_visible(*position)) {
                let Some(entry) = self.branch.get(position) else { continue };
                let read = session.read_through(window, entry, detail)?;
                made.extend(self.seen(entry, read, detail).and_then(|read| digest(entry, read)));
            }
            Ok(made)
        };
        let count = range.len().div_ceil(CHUNK);
        shared_work::in_order(count, work, |made| {
            made.iter_mut().for_each(&mut take);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// What the model sees of an entry that was read.
    fn seen(&self, entry: EntryNo, mut read: Entry, detail: Detail) -> Option<Entry> {
        match &mut read.body {
            Body::BranchSummary { summary } if summary.is_empty() => return None,
            Body::User(content) | Body::Custom { content, .. } => self.replace(entry, content),
            Body::Assistant(message) => self.replace(entry, &mut message.content),
            Body::ToolResult(result) if detail == Detail::All => {
                self.replace(entry, &mut result.content);
            }
            _ => {}
        }
        Some(read)
    }

    fn replace(&self, entry: EntryNo, content: &mut Vec<Block>) {
        if let Some(Some(replacement)) = self.edits.get(&entry) {
            content.clone_from(replacement);
        }
    }
}
