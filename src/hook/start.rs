//! `session_start` and `session_tree`: another branch is active; say what holds on it.

use super::call::Call;
use crate::error::Result;
use crate::protocol::reply::{Level, Reply};
use crate::settings::Method;
use crate::verbatim::{BaseKind, history, wording};

pub fn handle(call: &Call) -> Result<Reply> {
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    let mut reply = Reply::default();
    if call.envelope.event == "session_start" {
        for problem in &settings.problems {
            reply = reply.notify(Level::Warning, problem);
        }
        let base = history::read(&branch, call.cwd())?.base;
        if settings.method == Method::Verbatim
            && base.is_some_and(|base| base.kind == BaseKind::ModelSummary)
        {
            reply = reply.notify(Level::Warning, wording::MIXED_CONTEXT_NOTICE);
        }
    }
    Ok(reply)
}
