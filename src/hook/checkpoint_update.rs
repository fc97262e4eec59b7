//! The tool `checkpoint_update`: the model writes down where its work stands. The call itself is
//! what counts; it is in the session.

use serde_json::{Value, json};

use super::call::Call;
use super::checkpoint;
use super::tool::result;
use crate::checkpoint::{TEXT_CHARS, TOOL, written};
use crate::error::{Error, Result};
use crate::protocol::envelope::ToolCall;
use crate::protocol::reply::Reply;
use crate::text::grouped;

pub fn handle(call: &Call, payload: &ToolCall) -> Result<Reply> {
    let refused = |text: &str| Ok(result(text, json!({}), true, None));
    let text = payload.params.get("text").and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return refused("`text` is empty; the checkpoint is as it was.");
    }
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    let Some(written) = written::in_flight(&branch, &payload.tool_call_id)? else {
        // A call from inside a script is not in the session, so nothing would find it again.
        return refused(&format!("Not kept: call {TOOL} directly, not from another tool."));
    };
    let mut answer = format!(
        "Checkpoint kept: {} characters. It stands for the conversation up to this call.",
        grouped(written.text.chars().count() as u64)
    );
    if written.chars > TEXT_CHARS {
        answer.push_str(&format!(
            " It had {}; what is beyond {} is not carried. Write it shorter if that matters.",
            grouped(written.chars as u64),
            grouped(TEXT_CHARS as u64)
        ));
    }
    let details = json!({ "entry": written.entry, "chars": written.chars });
    match checkpoint::save(call, &branch, &settings, Some(written)) {
        Err(error @ Error::Write { .. }) => {
            answer.push_str(&format!(
                " Its file could not be written ({error}); the session has it."
            ));
        }
        saved => saved?,
    }
    Ok(result(&answer, details, false, None))
}
