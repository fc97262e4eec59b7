//! Files that a person asked for: whole or not at all, for the person's eyes, and never in place of
//! something else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Bytes of a file's beginning by which it is recognised.
const BEGINNING: u64 = 256;

/// Errors: something lies there that is not a file of the same kind.
pub fn check(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> Result<()> {
    let refused = |what: &str| {
        let path = path.display();
        Err(Error::Usage(format!("{path} {what}; name another file, or - for standard output")))
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(unwritable(path, source)),
        Ok(found) if !found.is_file() => refused("is no regular file"),
        Ok(found) if found.len() == 0 => Ok(()),
        Ok(_) => {
            let mut beginning = Vec::new();
            File::open(path)
                .and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning))
                .map_err(|source| unwritable(path, source))?;
            if is_ours(&beginning) { Ok(()) } else { refused("is there already and no report") }
        }
    }
}

/// Puts a file with mode 0600 in the place of the one that [`check`] looked at. It can be made
/// again, so nothing waits for the disk.
///
/// Errors: the folder cannot be written to, or is full. What was there is then as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // Where the path is a link, the file behind it is meant.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = beside(&path);
    let written = new_file(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        fs::rename(&temporary, &path)
    });
    written.map_err(|source| {
        if source.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&temporary);
        }
        unwritable(&path, source)
    })
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.display().to_string(), source }
}
