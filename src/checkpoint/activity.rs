//! The file that people can read: the model's checkpoint, and what happened since.

use super::collect::{self, collect};
use super::digest::{Budget, Digest};
use super::file::{Frame, compose};
use super::line::Kind;
use super::{Checkpoint, TEXT_CHARS};
use crate::error::Result;
use crate::session::projection::Projection;
use crate::session::{Body, Branch, Detail, Role};
use crate::text::one_line;

/// Of what happened, so much is listed; the checkpoint goes before it.
const CHARS: usize = 1500;
/// Less room than this is not worth a list.
const FEWEST_CHARS: usize = 200;
/// How far back it looks: the file is made anew after every turn.
const ENTRIES: usize = 200;
const GOAL_CHARS: usize = 400;

/// The file's text; `None` where nothing has happened yet.
///
/// Errors: the session changed while it was read.
pub fn file_text(
    branch: &Branch,
    checkpoint: Option<&Checkpoint>,
    session: &str,
    cwd: &str,
    at: &str,
) -> Result<Option<String>> {
    let context = Projection::of(branch)?;
    let end = branch.len();
    let from = checkpoint.map_or(0, |c| c.end).max(end.saturating_sub(ENTRIES)).min(end);
    let recent = collect(&context, from..end, cwd)?;
    if checkpoint.is_none() && recent.lines.is_empty() {
        return Ok(None);
    }
    let goal = match checkpoint {
        Some(_) => String::new(),
        None => goal(branch, &recent.lines)?,
    };
    let taken = checkpoint.map_or(goal.chars().count(), |c| c.text.chars().count());
    let room = (TEXT_CHARS - taken.min(TEXT_CHARS)).min(CHARS);
    let activity = if room < FEWEST_CHARS || recent.lines.is_empty() {
        String::new()
    } else {
        let digest = Digest::of(&recent.lines, Budget::of(room));
        format!("{}\n{}", digest.counts(), digest.render(None))
    };
    let through = branch.last().map_or("", |entry| branch.session.id(entry));
    Ok(Some(compose(checkpoint, &goal, &activity, &Frame { session, cwd, at, through })))
}

/// What the user wants, as long as the model has not said it: the newest request, and the first.
fn goal(branch: &Branch, recent: &[super::line::Line]) -> Result<String> {
    let mut out = String::from("## Goal\n");
    let newest = recent.iter().rev().find(|line| line.kind == Kind::Ask);
    if let Some(newest) = newest {
        let text = one_line(&newest.text, GOAL_CHARS);
        out.push_str(&format!("Newest request [{}]: {text}\n", newest.entry));
    }
    let session = branch.session;
    let first = branch.iter().find(|(_, entry)| session.role(*entry) == Role::User);
    if let Some((_, entry)) = first
        && newest.is_none_or(|newest| newest.entry != session.id(entry))
        && let Body::User(content) = session.read(entry, Detail::Kept)?.body
    {
        let text = one_line(&collect::ask(&content, session.id(entry)), GOAL_CHARS);
        out.push_str(&format!("First request [{}]: {text}\n", session.id(entry)));
    }
    Ok(out.trim_end().to_owned())
}
