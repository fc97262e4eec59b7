//! `session_start` and `session_tree`: another branch is active; say what holds on it.

use super::call::Call;
use super::checkpoint;
use crate::error::Result;
use crate::protocol::reply::{Effect, Level, Reply};
use crate::settings::Method;
use crate::verbatim::{history, wording};

pub fn handle(call: &Call) -> Result<Reply> {
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    let mut reply = describe_compact(Reply::default(), settings.method);
    reply.effects.push(checkpoint::switches(&settings));
    if call.envelope.event == "session_start" {
        for problem in &settings.problems {
            reply = reply.notify(Level::Warning, problem);
        }
        if settings.method == Method::Verbatim && history::outline(&branch, call.cwd())?.is_mixed()
        {
            reply = reply.notify(Level::Warning, wording::MIXED_CONTEXT_NOTICE);
        }
    }
    Ok(reply)
}

/// `/compact` says what it does on this branch.
pub fn describe_compact(mut reply: Reply, method: Method) -> Reply {
    let text = match method {
        Method::Verbatim => "Compact word for word, without a model (pi-stet)",
        Method::Checkpoint => {
            "Compact from the model's checkpoint and a digest, without a model (pi-stet)"
        }
        Method::Summary => "Compact with a summary that a model writes",
    };
    reply.effects.push(Effect::DescribeCommand { command: "compact".into(), text: text.into() });
    reply
}
