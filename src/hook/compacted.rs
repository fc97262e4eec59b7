//! `session_compact`: a compaction was saved. One notice says what it did.

use super::call::Call;
use crate::error::Result;
use crate::protocol::envelope::Compacted;
use crate::protocol::reply::{Level, Reply};
use crate::session::{Body, Detail, Kind, projection::Projection};
use crate::text::grouped;
use crate::verbatim::details;
use crate::{json::Fields, session::estimate};

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: Compacted = call.payload()?;
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let Some(entry) = session
        .find(&payload.compaction_id)
        .filter(|e| session.kind(*e) == Kind::Compaction)
    else {
        return Ok(Reply::default());
    };
    let Body::Compaction(compaction) = session.read(entry, Detail::Kept)?.body else {
        return Ok(Reply::default());
    };
    let kind = compaction
        .details
        .as_deref()
        .and_then(Fields::parse)
        .and_then(|d| d.string("kind"));
    if kind.as_deref() != Some(details::KIND) {
        return Ok(Reply::default());
    }
    let after = estimate::context_tokens(&Projection::of(&branch)?)?;
    let before = compaction.tokens_before.unwrap_or(0.0).max(0.0) as u64;
    Ok(Reply::default().notify(
        Level::Info,
        format!(
            "Compacted verbatim: {} → about {} tokens in {} ms, no model call.",
            grouped(before),
            grouped(after),
            payload.elapsed_ms.max(0.0).round() as u64
        ),
    ))
}
