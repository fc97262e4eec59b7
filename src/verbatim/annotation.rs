//! What a file list says about the content of a file.

use super::evidence::Evidence;
use super::startup::StartupRead;
use crate::session::Branch;
use crate::session::file_lists::ListedFile;

pub struct Annotations<'a> {
    pub evidence: &'a Evidence,
    /// The startup reads that the checkpoint holds.
    pub retained: &'a [StartupRead],
    pub branch: &'a Branch<'a, 'a>,
}

impl Annotations<'_> {
    pub fn of(&self, file: &ListedFile, modified: bool) -> Option<String> {
        if let Some(label) = self.evidence.label(&file.path) {
            return Some(label.to_owned());
        }
        let position = |entry: &str| self.branch.position(entry);
        let reads = self.retained.iter().filter(|read| read.path == file.path);
        let read_at = reads.filter_map(|read| position(&read.entry)).max();
        match read_at {
            Some(read_at) => {
                let edited = self.evidence.is_changed(&file.path)
                    || file.edit.as_deref().and_then(position).is_some_and(|edit| edit > read_at);
                Some(
                    if edited {
                        "startup read retained, then edited"
                    } else {
                        "startup read retained"
                    }
                    .into(),
                )
            }
            None => modified.then(|| "no read-tool output in tail".to_owned()),
        }
    }
}
