//! `before_agent_start`: a run begins; the first one after a compaction gets the re-orientation.

use serde_json::json;

use super::call::Call;
use crate::error::Result;
use crate::orientation::{self, Due};
use crate::protocol::reply::{CustomMessage, Reply};

pub fn handle(call: &Call) -> Result<Reply> {
    let session = call.session_end(Due::is_told_by)?;
    let branch = call.branch(&session)?;
    match Due::of(&branch)? {
        Some(due) if due.saved()?.is_none() => {
            let message = message(due.compaction_id());
            Ok(Reply::of_result(&json!({ "message": message })))
        }
        _ => Ok(Reply::default()),
    }
}

/// The re-orientation for a compaction.
pub fn message(compaction_id: &str) -> CustomMessage {
    CustomMessage {
        custom_type: orientation::CUSTOM_TYPE.to_owned(),
        content: orientation::TEXT.to_owned(),
        // One line on the screen: nothing is said to the model behind the person's back.
        display: true,
        details: json!({ orientation::COMPACTION_ID: compaction_id }),
    }
}
