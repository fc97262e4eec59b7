//! `turn_end`: a turn ended; the checkpoint's file follows. Subscribed only where a checkpoint is
//! kept.

use super::call::Call;
use super::checkpoint;
use crate::checkpoint::written;
use crate::error::Result;
use crate::protocol::reply::Reply;

pub fn handle(call: &Call) -> Result<Reply> {
    // A session without a file gets none of ours either; nothing has to be read to know that. (A
    // recording is inline as well, and has to end as it did.)
    if !call.is_by_reference() && !call.envelope.dry_run {
        return Ok(Reply::default());
    }
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    if settings.keeps_checkpoint() {
        checkpoint::save(call, &branch, &settings, written::newest(&branch)?)?;
    }
    Ok(Reply::default())
}
