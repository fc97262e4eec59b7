//! The checkpoint of a call's session: where it is looked for, and its file.

use super::call::Call;
use crate::checkpoint::store::{self, SHARED, Store};
use crate::checkpoint::{Checkpoint, Files, Found, Written, activity, source};
use crate::error::{Error, Result};
use crate::manifest;
use crate::protocol::envelope::File;
use crate::protocol::reply::Effect;
use crate::session::Branch;
use crate::settings::Settings;

/// What files are to a call, in recordings.
const OWN: &str = "checkpoint";
const PARENT: &str = "parentCheckpoint";
const SHARED_ROLE: &str = "sharedCheckpoint";
/// A write that failed; the text says why.
const NOT_WRITTEN: &str = "checkpointNotWritten";

/// The checkpoint of the branch.
///
/// Errors: the session changed while it was read.
pub fn find(call: &Call, branch: &Branch, settings: &Settings) -> Result<Option<Checkpoint>> {
    source::find(branch, call.cwd(), settings.checkpoint_max_age_seconds, || Files {
        own: file(call, OWN, Some(call.session_id())),
        parent: file(call, PARENT, parent(branch)),
        shared: file(call, SHARED_ROLE, Some(SHARED)),
    })
}

fn parent<'b>(branch: &'b Branch) -> Option<&'b str> {
    branch.session.header.parent_session.as_deref().and_then(store::session_of)
}

/// A file as the recording has it; else, unless this is a replay, as it is.
fn file(call: &Call, role: &str, name: Option<&str>) -> Option<Found> {
    if let Some(file) = call.envelope.files.iter().find(|file| file.role == role) {
        return Some(Found { text: file.text.clone(), mtime_ms: file.mtime_ms });
    }
    let (store, name) = (store(call)?, name?);
    let found = store.read(name)?;
    call.note_file(File {
        role: role.to_owned(),
        path: store.path(name).display().to_string(),
        mtime_ms: found.mtime_ms,
        text: found.text.clone(),
    });
    Some(found)
}

/// The folder of checkpoint files; none in a dry run, which touches no disk.
fn store(call: &Call) -> Option<Store> {
    let agent_dir = call.envelope.host.agent_dir.as_deref().filter(|dir| !dir.is_empty());
    agent_dir.filter(|_| !call.envelope.dry_run).map(Store::of)
}

/// Where the session's own file is, if a host has a folder for it.
pub fn path(call: &Call) -> Option<String> {
    let agent_dir = call.envelope.host.agent_dir.as_deref().filter(|dir| !dir.is_empty())?;
    let id = Some(call.session_id()).filter(|id| store::is_safe(id))?;
    Some(Store::of(agent_dir).path(id).display().to_string())
}

/// Writes the session's file anew from what the branch has. A session that lives in memory has
/// none.
///
/// Errors: it cannot be written, or the session changed while it was read.
pub fn save(
    call: &Call,
    branch: &Branch,
    settings: &Settings,
    written: Option<Written>,
) -> Result<()> {
    let name = call.session_id();
    let path = || path(call).unwrap_or_else(|| format!("the checkpoint of session {name:?}"));
    let recorded = call.envelope.files.iter().find(|file| file.role == NOT_WRITTEN);
    if let Some(why) = recorded {
        return Err(Error::Write { path: path(), source: std::io::Error::other(why.text.clone()) });
    }
    let Some(store) = store(call).filter(|_| call.is_by_reference()) else {
        return Ok(());
    };
    let parent = file(call, PARENT, parent(branch).filter(|_| written.is_none()));
    let mut unread = None;
    let done = store.update(name, |own| {
        let text = || {
            let checkpoint = match written {
                Some(written) => Some(written.into()),
                None => {
                    let files = Files { own, parent, shared: None };
                    source::find(branch, call.cwd(), settings.checkpoint_max_age_seconds, || files)?
                }
            };
            activity::file_text(branch, checkpoint.as_ref(), name, call.cwd(), &call.now())
        };
        text().unwrap_or_else(|error| {
            unread = Some(error);
            None
        })
    });
    match (unread, done) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(source)) => {
            call.note_file(File {
                role: NOT_WRITTEN.to_owned(),
                path: path(),
                mtime_ms: 0.0,
                text: source.to_string(),
            });
            Err(Error::Write { path: path(), source })
        }
    }
}

/// What is switched on for these settings. Pi restores tools by itself when it opens a session or
/// moves in its tree, so this is always the whole of it.
pub fn switches(settings: &Settings) -> Effect {
    let ours = manifest::CHECKPOINT_PARTS.map(str::to_owned).to_vec();
    match settings.keeps_checkpoint() {
        true => Effect::SetActive { enable: ours, disable: Vec::new() },
        false => Effect::SetActive { enable: Vec::new(), disable: ours },
    }
}
