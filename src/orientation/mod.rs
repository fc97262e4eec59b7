//! Re-orientation: one message after a compaction of ours that tells the model what it has in view
//! and how to get at the rest. It is saved in the session, so that it stays where the model first
//! met it; which of the saved ones counts, and where it stands in a request, is decided here.

mod message;
mod place;

pub use message::TEXT;
use place::place;
pub use place::{Item, Seen};

use crate::error::Result;
use crate::json::Fields;
use crate::session::projection::Projection;
use crate::session::{Body, Branch, Detail, Kind, Role, ids};

/// The custom type of the message. It is told by this type and by the compaction that its details
/// name, never by its text.
pub const CUSTOM_TYPE: &str = "stet.reorientation";
/// The field of the details that names the compaction.
pub const COMPACTION_ID: &str = "compactionId";

/// The kinds of compaction that are ours. A summary by anyone else says what it wants to say.
const OUR_KINDS: &str = "stet.";

/// The compaction of a branch that its re-orientation belongs to.
pub struct Due<'b, 's, 'a> {
    projection: Projection<'b, 's, 'a>,
    /// Its position.
    compaction: usize,
}

impl<'b, 's, 'a> Due<'b, 's, 'a> {
    /// Whether a branch that is only the end of one tells as much as the whole: it has the latest
    /// compaction and what that one kept.
    ///
    /// Errors: the session changed while it was read.
    pub fn is_told_by(branch: &Branch) -> Result<bool> {
        let session = branch.session;
        let latest =
            branch.iter().rev().find(|(_, entry)| session.kind(*entry) == Kind::Compaction);
        let Some((_, entry)) = latest else { return Ok(false) };
        let Body::Compaction(compaction) = session.read_outline(entry)?.body else {
            return Ok(false);
        };
        let kept = compaction.first_kept;
        Ok(kept.is_none_or(|id| branch.position(&id).is_some()))
    }

    /// `None` where the latest compaction is not ours, or there is none.
    ///
    /// Errors: the session changed while it was read.
    pub fn of(branch: &'b Branch<'s, 'a>) -> Result<Option<Due<'b, 's, 'a>>> {
        let projection = Projection::of(branch)?;
        let Some(compaction) = projection.compaction else {
            return Ok(None);
        };
        let due = Due { projection, compaction };
        Ok(due.is_ours()?.then_some(due))
    }

    fn is_ours(&self) -> Result<bool> {
        let branch = self.projection.branch;
        let Some(entry) = branch.get(self.compaction) else {
            return Ok(false);
        };
        let Body::Compaction(compaction) = branch.session.read_outline(entry)?.body else {
            return Ok(false);
        };
        Ok(kind_of(compaction.details.as_deref()).is_some_and(|kind| kind.starts_with(OUR_KINDS)))
    }

    /// The entry of the compaction that the message is about.
    pub fn compaction_id(&self) -> &'s str {
        let branch = self.projection.branch;
        branch.get(self.compaction).map_or("", |entry| branch.session.id(entry))
    }

    /// The position of the message for this compaction, if the branch has one.
    ///
    /// Errors: the session changed while it was read.
    pub fn saved(&self) -> Result<Option<usize>> {
        let branch = self.projection.branch;
        let session = branch.session;
        for (position, entry) in branch.iter().skip(self.compaction + 1) {
            if (session.kind(entry) == Kind::CustomMessage || session.role(entry) == Role::Custom)
                && let Body::Custom { custom_type, details, .. } =
                    session.read(entry, Detail::Kept)?.body
                && custom_type == CUSTOM_TYPE
                && compaction_id_of(details.as_deref()).as_deref() == Some(self.compaction_id())
            {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    /// The index of the first answer that the model gave after the compaction. Transcripts carry no
    /// ids, and the kept tail has answers from before; so the answers of the branch are found in
    /// the transcript one after the other, by their times.
    fn first_answer(&self, transcript: &[Seen]) -> Result<Option<usize>> {
        let Projection { branch, start, end, .. } = self.projection;
        let mut from = 0;
        for (position, entry) in branch.iter().take(end).skip(start) {
            if branch.session.role(entry) != Role::Assistant
                || !self.projection.is_visible(position)
            {
                continue;
            }
            let Body::Assistant(answer) = branch.session.read(entry, Detail::Kept)?.body else {
                continue;
            };
            let is_it = |seen: &Seen| *seen == Seen::Assistant { time: answer.time };
            // Another extension may have taken it out of the transcript.
            let Some(found) = transcript.iter().skip(from).position(is_it) else {
                continue;
            };
            if position > self.compaction {
                return Ok(Some(from + found));
            }
            from += found + 1;
        }
        Ok(None)
    }

    /// The message as the request gets it: the first copy in the transcript, which the model has seen
    /// if it saw any, or a new one; none where somebody took the saved one out of the context.
    fn copy(&self, transcript: &[Seen]) -> Result<Option<Item>> {
        let id = Some(self.compaction_id());
        let is_current = |seen: &Seen| matches!(seen, Seen::Ours { compaction_id } if compaction_id.as_deref() == id);
        if let Some(index) = transcript.iter().position(is_current) {
            return Ok(Some(Item::Old(index)));
        }
        let omitted = self.saved()?.is_some_and(|position| !self.projection.is_visible(position));
        Ok((!omitted).then_some(Item::New))
    }
}

/// The transcript with the message that is due at its place, and no other one of ours; `None` where
/// it is so already.
///
/// Errors: the session changed while it was read.
pub fn arrange(due: Option<&Due>, transcript: &[Seen]) -> Result<Option<Vec<Item>>> {
    let items = match due {
        None => place(transcript, None, None),
        Some(due) => place(transcript, due.copy(transcript)?, due.first_answer(transcript)?),
    };
    Ok((!items.iter().copied().eq((0..transcript.len()).map(Item::Old))).then_some(items))
}

fn kind_of(details: Option<&str>) -> Option<String> {
    Fields::parse(details?)?.string("kind")
}

fn compaction_id_of(details: Option<&str>) -> Option<String> {
    let id = Fields::parse(details?)?.string(COMPACTION_ID)?;
    Some(ids::plain(&id).into_owned())
}
