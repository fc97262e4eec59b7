//! `session_compact`: a compaction was saved. One notice says what it did, and the re-orientation
//! goes into the work that continues by itself.

use super::before_agent_start::message;
use super::call::Call;
use crate::checkpoint;
use crate::error::Result;
use crate::orientation::Due;
use crate::protocol::envelope::Compacted;
use crate::protocol::reply::{DeliverAs, Effect, Level, Reply};
use crate::session::{Body, Branch, Detail, Kind, ids, projection::Projection};
use crate::text::grouped;
use crate::verbatim::{details, history, wording};
use crate::{json::Fields, session::estimate};

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: Compacted = call.payload()?;
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let mut reply = report(call, &payload, &branch)?;
    reply.effects.extend(re_orientation(call, &payload, &branch)?);
    Ok(reply)
}

fn report(call: &Call, payload: &Compacted, branch: &Branch) -> Result<Reply> {
    let session = branch.session;
    let Some(entry) =
        session.find(&payload.compaction_id).filter(|e| session.kind(*e) == Kind::Compaction)
    else {
        return Ok(Reply::default());
    };
    let Body::Compaction(compaction) = session.read(entry, Detail::Kept)?.body else {
        return Ok(Reply::default());
    };
    let details = compaction.details.as_deref().and_then(Fields::parse);
    let Some(how) = details.as_ref().and_then(how) else {
        return Ok(Reply::default());
    };
    let history = history::outline(branch, call.cwd())?;
    let after = estimate::context_tokens(&Projection::of(branch)?)?;
    let before = compaction.tokens_before.unwrap_or(0.0).max(0.0) as u64;
    let mut reply = Reply::default().notify(
        Level::Info,
        format!(
            "Compacted {how}: {} → about {} tokens in {} ms, no model call.{}",
            grouped(before),
            grouped(after),
            payload.elapsed_ms.max(0.0).round() as u64,
            if history.without_progress > 0 {
                " It is not smaller than what it replaces."
            } else {
                ""
            },
        ),
    );
    if history.without_progress == 3 {
        reply = reply.notify(Level::Warning, wording::THREE_WITHOUT_PROGRESS);
    }
    if let Some(text) = fit_warning(call, after) {
        reply = reply.notify(Level::Warning, text);
    }
    Ok(reply)
}

/// What a compaction of ours was made of; `None` for any other.
fn how(details: &Fields) -> Option<&'static str> {
    match details.string("kind")?.as_str() {
        details::KIND => Some("verbatim"),
        checkpoint::DETAILS_KIND => {
            Some(match (details.number("tier"), details.raw("checkpoint")) {
                (Some(1.0), _) => "from the model's checkpoint",
                (_, Some(_)) => "from the model's checkpoint and a digest of what came after it",
                (_, None) => "to a digest (there was no checkpoint)",
            })
        }
        _ => None,
    }
}

/// Pi compacts again at once when what is left still exceeds its threshold; a person should know
/// why, and what helps.
fn fit_warning(call: &Call, after: u64) -> Option<String> {
    let window = call.envelope.model.as_ref()?.context_window? as u64;
    let settings = call.envelope.host.compaction?;
    let threshold = window.saturating_sub(settings.reserve_tokens as u64);
    (after > threshold).then(|| {
        format!(
            "About {} tokens are left, and Pi compacts above {} (a window of {} less a reserve of {}). Two knobs make it fit: /cap-compaction (a lower budget), and compaction.keepRecentTokens in Pi's settings (now {}).",
            grouped(after),
            grouped(threshold),
            grouped(window),
            grouped(settings.reserve_tokens as u64),
            grouped(settings.keep_recent_tokens as u64),
        )
    })
}

/// The API of models that only choose another model for each request.
const VIRTUAL_API: &str = "pi-virtual";

/// The message for a run that goes on, or none: what waits for a person gets it when the next run
/// begins.
fn re_orientation(call: &Call, payload: &Compacted, branch: &Branch) -> Result<Option<Effect>> {
    let host = &call.envelope.host;
    let goes_on = host.in_run || payload.will_retry || host.pending_messages;
    // `/compact` ends the run; what is queued then waits for the next one.
    if !goes_on || payload.reason == "manual" {
        return Ok(None);
    }
    let id = ids::plain(&payload.compaction_id);
    let due = Due::of(branch)?.filter(|due| due.compaction_id() == id);
    let virtual_model =
        call.envelope.model.as_ref().is_some_and(|m| m.api.as_deref() == Some(VIRTUAL_API));
    // Pi takes one queued message at a time, and for a virtual model it compacts after it has looked
    // into the queue. A steered message then comes one request late, and would even start a request
    // of its own; so it is only saved, and every request gets it at its place.
    let steers = !host.pending_messages && !virtual_model;
    Ok(due.map(|due| Effect::SendMessage {
        message: message(due.compaction_id()),
        deliver_as: steers.then_some(DeliverAs::Steer),
        trigger_turn: (!steers).then_some(false),
    }))
}
