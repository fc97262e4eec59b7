//! Checkpoint files: `<agent folder>/checkpoints/<session id>.md`, for the owner's eyes alone.
//!
//! Everything happens relative to the open folder and never through a symbolic link. A file is
//! replaced as a whole (temporary file, flush, rename), so a reader sees the old or the new one
//! whatever happens; a lock on the folder lets one writer after the other.

#[cfg_attr(unix, path = "store/unix.rs")]
#[cfg_attr(not(unix), path = "store/elsewhere.rs")]
mod system;

use std::io;
use std::path::{Path, PathBuf};

use super::source::Found;

/// A checkpoint is a few kilobytes; what is larger is not one.
const MAX_BYTES: u64 = 256 * 1024;
/// The file that any session may have written, in the older extension's way.
pub const SHARED: &str = "active";

pub struct Store {
    agent_dir: PathBuf,
}

impl Store {
    pub fn of(agent_dir: &str) -> Store {
        Store { agent_dir: Path::new(agent_dir).to_owned() }
    }

    /// Where the file of that name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.agent_dir.join(FOLDER).join(format!("{name}.md"))
    }

    /// The file of that name, `None` where there is none that may be read.
    pub fn read(&self, name: &str) -> Option<Found> {
        if !is_safe(name) {
            return None;
        }
        system::Folder::open(&self.agent_dir, FOLDER).ok()??.read(name).ok()?
    }

    /// Replaces the file of that name by what `text` makes of the one that is there; `None` leaves
    /// it alone.
    ///
    /// Errors: the name is not a session id, something else lies in the file's place, the disk is
    /// full or refuses. The file is then as it was.
    pub fn update(
        &self,
        name: &str,
        text: impl FnOnce(Option<Found>) -> Option<String>,
    ) -> io::Result<()> {
        if !is_safe(name) {
            let text = format!("{name:?} is no session id that Pi would give");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let folder = system::Folder::make(&self.agent_dir, FOLDER)?;
        let lock = folder.lock();
        match text(folder.read(name)?) {
            Some(text) => lock.replace(name, &text),
            None => Ok(()),
        }
    }
}

const FOLDER: &str = "checkpoints";

/// Pi's rule for session ids. It holds it only for ids that are given on its command line; a
/// session file's header can say anything.
pub fn is_safe(name: &str) -> bool {
    let bytes = name.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.len() <= 200
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The session that a session file's name is made for: `<time>_<id>.jsonl`.
pub fn session_of(file: &str) -> Option<&str> {
    let stem = Path::new(file).file_stem()?.to_str()?;
    stem.split_once('_').map(|(_, id)| id).filter(|id| is_safe(id))
}

#[cfg(test)]
mod tests;
