//! Where Pi would cut: the rule of `prepareCompaction`, for the command line, which has no Pi to
//! ask.

use super::estimate::pi_tokens;
use super::projection::Projection;
use super::{Body, Branch, Detail, Kind, Role};
use crate::error::{Error, Result};
use crate::text::grouped;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Position of the first kept entry.
    pub first_kept: usize,
    pub is_split_turn: bool,
    /// Pi's estimate of the context before the compaction.
    pub tokens_before: u64,
}

/// Errors: [`Error::NothingToCompact`] where Pi would not compact either.
pub fn find(branch: &Branch, keep_recent_tokens: u64) -> Result<Cut> {
    if branch.last().is_some_and(|entry| branch.session.kind(entry) == Kind::Compaction) {
        return Err(Error::NothingToCompact("the branch already ends in a compaction".into()));
    }
    let context = Projection::of(branch)?;
    let tokens_before = context_tokens(&context)?;
    let (first_kept, is_split_turn) = cut_point(&context, keep_recent_tokens)?;
    if !(context.start..first_kept).any(|position| is_conversation(&context, position)) {
        return Err(Error::NothingToCompact(format!(
            "all of the conversation (about {} tokens) is recent",
            grouped(tokens_before)
        )));
    }
    Ok(Cut { first_kept, is_split_turn, tokens_before })
}

/// A visible message other than prompt state.
fn is_conversation(context: &Projection, position: usize) -> bool {
    let role = context.branch.get(position).map(|entry| context.branch.session.role(entry));
    context.is_visible(position) && role != Some(Role::System)
}

fn is_cut_point(context: &Projection, position: usize) -> bool {
    let Some(entry) = context.branch.get(position).filter(|_| context.is_visible(position)) else {
        return false;
    };
    match context.branch.session.kind(entry) {
        Kind::Message => matches!(
            context.branch.session.role(entry),
            Role::User | Role::Assistant | Role::BashExecution | Role::Custom
        ),
        Kind::CustomMessage | Kind::BranchSummary => true,
        _ => false,
    }
}

fn starts_turn(context: &Projection, position: usize) -> bool {
    is_cut_point(context, position)
        && context
            .branch
            .get(position)
            .is_some_and(|e| context.branch.session.role(e) != Role::Assistant)
}

fn cut_point(context: &Projection, keep_recent_tokens: u64) -> Result<(usize, bool)> {
    let points: Vec<usize> =
        (context.start..context.end).filter(|p| is_cut_point(context, *p)).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Ok((context.start, false));
    };
    let mut cut = *first;
    let mut kept = 0;
    for position in (context.start..context.end).rev() {
        let Some(entry) = context.read(position, Detail::All)? else {
            continue;
        };
        kept += pi_tokens(&entry.body);
        if kept > 0 && kept >= keep_recent_tokens {
            cut = points.iter().copied().find(|point| *point >= position).unwrap_or(*last);
            if ends_in_omitted_attempt(context, cut)? {
                cut += 1;
            }
            break;
        }
    }
    // Entries that no model sees belong to what follows them.
    while cut > context.start && !is_seen(context, cut - 1) {
        cut -= 1;
    }
    let split = !starts_turn(context, cut)
        && (context.start..=cut).rev().any(|position| starts_turn(context, position));
    Ok((cut, split))
}

fn is_seen(context: &Projection, position: usize) -> bool {
    let kind = context.branch.get(position).map(|entry| context.branch.session.kind(entry));
    kind == Some(Kind::Compaction) || context.is_visible(position)
}

/// After an overflow Pi omits the failed attempt; everything behind the last input is then
/// invisible, and the cut may pass that input.
fn ends_in_omitted_attempt(context: &Projection, cut: usize) -> Result<bool> {
    let session = context.branch.session;
    let (mut has_attempt, mut omitted, mut replaced) = (false, Vec::new(), Vec::new());
    for position in cut + 1..context.end {
        let Some(entry) = context.branch.get(position) else {
            continue;
        };
        match session.kind(entry) {
            Kind::Compaction => return Ok(false),
            Kind::Message | Kind::CustomMessage | Kind::BranchSummary => {
                if context.is_visible(position) {
                    return Ok(false);
                }
                omitted.push(session.id(entry).to_owned());
                has_attempt |= session.role(entry) == Role::Assistant;
            }
            Kind::ContextEdit => {
                if let Body::ContextEdit(edit) = session.read(entry, Detail::Kept)?.body
                    && edit.replacement.is_some()
                {
                    replaced.push(edit.target);
                }
            }
            _ => {}
        }
    }
    Ok(has_attempt && replaced.iter().all(|target| omitted.contains(target)))
}

/// Pi's estimate of the context: the usage that the provider last reported plus what came after,
/// or, where an edit or a compaction is newer than that, the size of everything.
///
/// Errors: the session changed while it was read.
pub fn context_tokens(context: &Projection) -> Result<u64> {
    let session = context.branch.session;
    let mut after = 0;
    let mut unreliable = false;
    for position in (context.start..context.end).rev() {
        let Some(entry) = context.branch.get(position) else {
            continue;
        };
        unreliable |= matches!(session.kind(entry), Kind::ContextEdit | Kind::Compaction);
        let Some(entry) = context.read(position, Detail::All)? else {
            continue;
        };
        if let Body::Assistant(message) = &entry.body
            && let Some(tokens) = message.usage_tokens
            && !matches!(message.stop_reason.as_deref(), Some("aborted" | "error"))
            && !unreliable
        {
            return Ok(tokens as u64 + after);
        }
        after += pi_tokens(&entry.body);
    }
    if let Some(entry) = context.compaction.and_then(|position| context.branch.get(position)) {
        after += pi_tokens(&session.read(entry, Detail::All)?.body);
    }
    Ok(after)
}
