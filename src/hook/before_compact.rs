//! `session_before_compact`: Pi is about to compact; we answer with a checkpoint.

use serde_json::json;

use super::call::Call;
use super::cap::{self, Decision};
use crate::error::{Error, Result};
use crate::json;
use crate::protocol::envelope::BeforeCompact;
use crate::protocol::reply::Reply;
use crate::session::Kind;
use crate::settings::Method;
use crate::verbatim::{self, Request};

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: BeforeCompact = call.payload()?;
    let cut = call
        .envelope
        .cut
        .as_ref()
        .ok_or_else(|| Error::Envelope("session_before_compact needs a `cut`".into()))?;
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    if settings.method == Method::Summary {
        return Ok(Reply::default());
    }
    // pinet#1005: what ends in a compaction has nothing new to compact.
    if branch.last().is_none_or(|entry| session.kind(entry) == Kind::Compaction) {
        return Ok(Reply::default());
    }
    let first_kept = branch.position(&cut.first_kept_entry_id).ok_or_else(|| {
        Error::SessionStale(format!(
            "the first kept entry {} is not on the branch",
            cut.first_kept_entry_id
        ))
    })?;
    let words = payload.custom_instructions.as_deref().filter(|words| !words.trim().is_empty());
    let request = Request {
        first_kept,
        tokens_before: cut.tokens_before,
        trigger: &payload.reason,
        words,
        at: &call.now(),
        cwd: call.cwd(),
        instructions: &call.instructions(),
    };
    let Some(mut draft) = verbatim::draft(&branch, &request)? else {
        return Ok(Reply::default());
    };
    let (limit, effects) = match cap::decide(call, &settings, &mut draft, &payload.reason)? {
        Decision::Go { limit, effects } => (limit, effects),
        Decision::Stop(reply) => return Ok(*reply),
    };
    let compacted = draft.finish(limit.map(|limit| (limit, settings.trim_to)))?;
    Ok(Reply {
        result: Some(json!({ "compaction": {
            "summary": compacted.summary,
            "firstKeptEntryId": cut.first_kept_entry_id,
            "tokensBefore": json::number(cut.tokens_before),
            "details": compacted.details,
        }})),
        effects,
        ..Reply::default()
    })
}
