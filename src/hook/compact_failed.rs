//! `session_compact_failed`: nothing was saved. Pi says why; we say what it means for the context.

use super::call::Call;
use crate::error::Result;
use crate::protocol::envelope::CompactFailed;
use crate::protocol::reply::{Level, Reply};

/// What Pi answers to a `/compact` that has nothing to do.
const NOTHING_TO_DO: [&str; 2] = ["Nothing to compact", "Already compacted"];

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: CompactFailed = call.payload()?;
    match payload.error_message {
        Some(message)
            if !payload.aborted && !NOTHING_TO_DO.iter().any(|text| message.contains(text)) =>
        {
            Ok(Reply::default().notify(
                Level::Warning,
                "The compaction failed; the context and the session are as they were.",
            ))
        }
        _ => Ok(Reply::default()),
    }
}
