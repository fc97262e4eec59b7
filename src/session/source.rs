//! Where the bytes of a session come from: a file that Pi may be appending to, or memory.
//!
//! The file is read at offsets and never mapped: a file that shrinks under a map ends the process
//! with a signal, a short read ends in an error.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};

pub enum Source<'a> {
    File { file: File, len: u64, path: String },
    Memory(&'a [u8]),
}

impl<'a> Source<'a> {
    /// Opens a file that is there; it waits for nobody.
    ///
    /// Errors: unreadable, or no regular file.
    pub fn open(path: &Path) -> Result<Source<'a>> {
        let name = path.display().to_string();
        let read = |source: io::Error| Error::Read { path: name.clone(), source };
        // Asked before opening: to open a pipe would wait for somebody who writes to it.
        if !std::fs::metadata(path).map_err(read)?.is_file() {
            return Err(Error::NotASession { path: name, why: "not a regular file".into() });
        }
        let file = File::open(path).map_err(read)?;
        let meta = file.metadata().map_err(read)?;
        Ok(Source::File { file, len: meta.len(), path: name })
    }

    /// Bytes at the time of opening; what Pi appends later is not looked at.
    pub fn len(&self) -> u64 {
        match self {
            Source::File { len, .. } => *len,
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        match self {
            Source::File { path, .. } => path,
            Source::Memory(_) => "the session",
        }
    }

    /// Fills `buffer` from `offset`; fewer bytes than asked for mean that the file was cut meanwhile.
    ///
    /// Errors: the file is shorter than it was when it was opened, or cannot be read.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        match self {
            Source::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let part = start.checked_add(buffer.len()).and_then(|end| bytes.get(start..end));
                let part =
                    part.ok_or_else(|| Error::SessionChanged("shorter than before".into()))?;
                buffer.copy_from_slice(part);
                Ok(())
            }
            Source::File { file, path, .. } => {
                let mut done = 0;
                while done < buffer.len() {
                    match read_file_at(file, &mut buffer[done..], offset + done as u64) {
                        Ok(0) => {
                            return Err(Error::SessionChanged(format!("{path} was truncated")));
                        }
                        Ok(n) => done += n,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(source) => {
                            return Err(Error::Read { path: path.clone(), source });
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
