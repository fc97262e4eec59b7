//! `context_with_system`: a request is about to be sent. The re-orientation goes to its place in it.

use serde_json::{Value, json};

use super::before_agent_start::message;
use super::call::Call;
use crate::error::Result;
use crate::orientation::{self, Due, Item, Seen};
use crate::protocol::envelope::{ContextWithSystem, Skeleton};
use crate::protocol::reply::Reply;
use crate::session::ids;

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: ContextWithSystem = call.payload()?;
    let session = call.session_end(Due::is_told_by)?;
    let branch = call.branch(&session)?;
    let due = Due::of(&branch)?;
    let transcript: Vec<Seen> = payload.messages.iter().map(seen).collect();
    let Some(items) = orientation::arrange(due.as_ref(), &transcript)? else {
        return Ok(Reply::default());
    };
    let new = due.map(|due| json!(message(due.compaction_id()))).unwrap_or_default();
    let messages: Vec<Value> = items
        .iter()
        .map(|item| match item {
            Item::Old(index) => json!(index),
            Item::New => new.clone(),
        })
        .collect();
    Ok(Reply::of_result(&json!({ "messages": messages })))
}

fn seen(skeleton: &Skeleton) -> Seen {
    match (skeleton.role.as_str(), skeleton.custom_type.as_deref()) {
        ("assistant", _) => Seen::Assistant { time: skeleton.timestamp },
        ("custom", Some(orientation::CUSTOM_TYPE)) => Seen::Ours {
            compaction_id: skeleton
                .details
                .as_ref()
                .and_then(|details| details.get(orientation::COMPACTION_ID)?.as_str())
                .map(|id| ids::plain(id).into_owned()),
        },
        _ => Seen::Other,
    }
}
