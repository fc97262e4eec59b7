//! The folder as an open handle: whatever happens to its path meanwhile, we stay in it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{Found, MAX_BYTES};

/// How long a writer waits for another one. A lock goes when its holder ends, so this is for file
/// systems on which locks hang.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

const OWNER_ONLY: Mode = Mode::RWXU;
const READ_DIR: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub struct Folder(OwnedFd);

/// Held while a file is looked at and replaced.
pub struct Lock<'f> {
    folder: &'f Folder,
    /// Nobody else writes meanwhile.
    is_held: bool,
}

impl Folder {
    /// `None` where there is no such folder.
    pub fn open(parent: &Path, name: &str) -> io::Result<Option<Folder>> {
        let open = || fs::openat(parent_dir(parent)?, name, READ_DIR, Mode::empty());
        match open() {
            Ok(folder) => Ok(Some(Folder(folder))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub fn make(parent: &Path, name: &str) -> io::Result<Folder> {
        let parent = parent_dir(parent)?;
        match fs::mkdirat(&parent, name, OWNER_ONLY) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = fs::openat(&parent, name, READ_DIR, Mode::empty())?;
        // The older extension left its folder open to everybody.
        if fs::fstat(&folder)?.st_mode & 0o077 != 0 {
            fs::fchmod(&folder, OWNER_ONLY)?;
        }
        Ok(Folder(folder))
    }

    pub fn lock(&self) -> Lock<'_> {
        let mut waited = Duration::ZERO;
        loop {
            match fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Lock { folder: self, is_held: true },
                Err(Errno::WOULDBLOCK | Errno::INTR) if waited < PATIENCE => {
                    std::thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                // Whole files are safe without it; only the order of writers is not.
                Err(_) => return Lock { folder: self, is_held: false },
            }
        }
    }

    pub fn read(&self, name: &str) -> io::Result<Option<Found>> {
        // Without NONBLOCK the open of a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat(&self.0, format!("{name}.md"), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(not_a_file(name)),
            Err(error) => return Err(error.into()),
        };
        let stat = fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_a_file(name));
        }
        let mut bytes = Vec::new();
        File::from(file).take(MAX_BYTES).read_to_end(&mut bytes)?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        let mtime_ms = stat.st_mtime as f64 * 1000.0 + (stat.st_mtime_nsec as f64 / 1e6).floor();
        Ok(Some(Found { text: String::from_utf8_lossy(&bytes).into_owned(), mtime_ms }))
    }
}

impl Lock<'_> {
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = &self.folder.0;
        let target = format!("{name}.md");
        let temporary = match self.is_held {
            true => format!(".{name}.tmp"),
            false => format!(".{name}.{}.tmp", std::process::id()),
        };
        match fs::statat(folder, &target, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                return Err(not_a_file(name));
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        // What lies there was left by a writer that was killed.
        match fs::unlinkat(folder, &temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(fs::renameat(folder, &temporary, folder, &target)?));
        if let Err(error) = written {
            let _ = fs::unlinkat(folder, &temporary, AtFlags::empty());
            return Err(error);
        }
        // The new name must survive a power cut as well; where a folder cannot be flushed, it is
        // the system's to keep.
        let _ = fs::fsync(folder);
        Ok(())
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let _ = fs::flock(&self.folder.0, FlockOperation::Unlock);
    }
}

/// The agent folder itself may be a link: where people put it is their choice.
fn parent_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(fs::CWD, path, flags, Mode::empty())
}

fn not_a_file(name: &str) -> io::Error {
    io::Error::other(format!("{name}.md is not a plain file"))
}
