//! The folder by its path, for systems without calls relative to an open one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Found, MAX_BYTES};

pub struct Folder(PathBuf);

pub struct Lock<'f>(&'f Folder);

impl Folder {
    /// `None` where there is no such folder.
    pub fn open(parent: &Path, name: &str) -> io::Result<Option<Folder>> {
        let path = parent.join(name);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => Ok(Some(Folder(path))),
            Ok(_) => Err(not_a_file(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn make(parent: &Path, name: &str) -> io::Result<Folder> {
        match fs::create_dir(parent.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        Folder::open(parent, name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn lock(&self) -> Lock<'_> {
        Lock(self)
    }

    pub fn read(&self, name: &str) -> io::Result<Option<Found>> {
        let path = self.0.join(format!("{name}.md"));
        let meta = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            meta => meta?,
        };
        if !meta.is_file() {
            return Err(not_a_file(name));
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let since = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mtime_ms = since.as_millis() as f64;
        Ok(Some(Found { text: String::from_utf8_lossy(&bytes).into_owned(), mtime_ms }))
    }
}

impl Lock<'_> {
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = &self.0.0;
        let target = folder.join(format!("{name}.md"));
        match fs::symlink_metadata(&target) {
            Ok(meta) if !meta.is_file() => return Err(not_a_file(name)),
            _ => {}
        }
        let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &target));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

fn not_a_file(name: &str) -> io::Error {
    io::Error::other(format!("{name} is not a plain file or folder"))
}
