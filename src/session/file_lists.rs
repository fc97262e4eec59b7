//! The files that were read and changed in compacted history: the union over the branch, newest
//! touch last, each path once.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::files::FileOperation;
use super::ids;
use super::paths::relative;
use crate::json::{self, Fields};
use crate::text::{escape_attribute, escape_metadata};

/// A list shows at most so many paths; the rest are counted.
pub const SHOWN_PATHS: usize = 200;

#[derive(Debug, Default, Clone)]
pub struct FileLists {
    read: HashMap<String, Touch>,
    modified: HashMap<String, Touch>,
    clock: u64,
}

#[derive(Debug, Default, Clone)]
struct Touch {
    /// Order of the last touch.
    at: u64,
    /// At least one operation did not fail.
    worked: bool,
    /// The entry of the last edit or write that did not fail, else of the last one.
    edit: Option<String>,
}

/// One path as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    pub path: String,
    /// Every recorded operation of its kind failed.
    pub failed: bool,
    pub edit: Option<String>,
}

impl FileLists {
    pub fn add(&mut self, operation: &FileOperation) {
        let edit = operation.operation.changes_the_file().then_some(operation.entry.as_str());
        self.touch(&operation.path, operation.failed, operation.operation.changes_the_file(), edit);
    }

    pub fn touch(&mut self, path: &str, failed: bool, changed: bool, edit: Option<&str>) {
        self.clock += 1;
        let list = if changed { &mut self.modified } else { &mut self.read };
        // Mostly the path is there already, and a key of its own is not needed.
        let touch = match list.get_mut(path) {
            Some(touch) => touch,
            None => list.entry(path.to_owned()).or_default(),
        };
        touch.at = self.clock;
        if (!failed || !touch.worked)
            && let Some(edit) = edit
        {
            let last = touch.edit.get_or_insert_default();
            last.clear();
            last.push_str(edit);
        }
        touch.worked |= !failed;
    }

    /// Adds what the details of a compaction hold: Pi, the older extensions and we ourselves all
    /// keep `readFiles` and `modifiedFiles`.
    pub fn carry(&mut self, details: &Fields, cwd: &str) {
        let paths = |key: &str| -> Vec<String> {
            details.array(key).into_iter().filter_map(json::string).collect()
        };
        let failed: HashSet<String> = paths("failedFiles").into_iter().collect();
        let edits = paths("lastEdits");
        for path in paths("readFiles") {
            self.touch(&relative(&path, cwd), failed.contains(&path), false, None);
        }
        for (at, path) in paths("modifiedFiles").into_iter().enumerate() {
            let edit = edits.get(at).filter(|edit| !edit.is_empty()).map(|edit| ids::plain(edit));
            let edit = edit.as_deref();
            self.touch(&relative(&path, cwd), failed.contains(&path), true, edit);
        }
    }

    /// Files that were only read, oldest touch first.
    pub fn read_only(&self) -> Vec<ListedFile> {
        listed(self.read.iter().filter(|(path, _)| !self.modified.contains_key(*path)))
    }

    pub fn modified(&self) -> Vec<ListedFile> {
        listed(self.modified.iter())
    }
}

fn listed<'a>(touches: impl Iterator<Item = (&'a String, &'a Touch)>) -> Vec<ListedFile> {
    let mut all: Vec<_> = touches.collect();
    all.sort_by_key(|(_, touch)| touch.at);
    all.into_iter()
        .map(|(path, touch)| ListedFile {
            path: path.clone(),
            failed: !touch.worked,
            edit: touch.edit.clone(),
        })
        .collect()
}

/// The file operations of one compaction as its details hold them: bare paths in the order of their
/// last touch, the last edit of each modified one beside it. [`FileLists::carry`] reads them.
#[derive(Debug, Default, Serialize)]
pub struct SpanFiles {
    #[serde(rename = "readFiles")]
    read: Vec<String>,
    #[serde(rename = "modifiedFiles")]
    modified: Vec<String>,
    #[serde(rename = "lastEdits")]
    edits: Vec<String>,
    #[serde(rename = "failedFiles")]
    failed: Vec<String>,
}

impl SpanFiles {
    /// The lists by the names that details give them.
    pub fn fields(&self) -> [(&'static str, &Vec<String>); 4] {
        [
            ("readFiles", &self.read),
            ("modifiedFiles", &self.modified),
            ("lastEdits", &self.edits),
            ("failedFiles", &self.failed),
        ]
    }

    pub fn of(operations: &[FileOperation]) -> SpanFiles {
        let mut lists = FileLists::default();
        operations.iter().for_each(|operation| lists.add(operation));
        let mut files = SpanFiles::default();
        for file in lists.read_only() {
            files.failed.extend(file.failed.then(|| file.path.clone()));
            files.read.push(file.path);
        }
        for file in lists.modified() {
            files.failed.extend(file.failed.then(|| file.path.clone()));
            files.modified.push(file.path);
            files.edits.push(file.edit.unwrap_or_default());
        }
        files
    }
}

/// What a list says about a path, by path and whether the file was modified.
pub type Annotate<'a> = dyn Fn(&ListedFile, bool) -> Option<String> + 'a;

/// The two blocks, each only where it has a path; the newest paths are shown.
pub fn render(lists: &FileLists, annotate: &Annotate) -> String {
    let mut out = String::new();
    let note = "only read; unless annotated, no retained read-tool output identified";
    block(&mut out, "read-files", note, &lists.read_only(), &|file| annotate(file, false));
    let note = "edited or written; [edit ID] is the entry of the last recorded change";
    block(&mut out, "modified-files", note, &lists.modified(), &|file| annotate(file, true));
    out
}

fn block(
    out: &mut String,
    tag: &str,
    note: &str,
    files: &[ListedFile],
    annotate: &dyn Fn(&ListedFile) -> Option<String>,
) {
    if files.is_empty() {
        return;
    }
    let left_out = files.len().saturating_sub(SHOWN_PATHS);
    out.push_str(&format!("<{tag} note=\"{note}\">\n"));
    if left_out > 0 {
        out.push_str(&format!("({left_out} more, touched earlier, are left out)\n"));
    }
    for file in &files[left_out..] {
        out.push_str(&shown(&file.path));
        if file.failed {
            out.push_str(" (every recorded attempt failed)");
        }
        if let Some(note) = annotate(file) {
            out.push_str(&format!(" ({note})"));
        }
        if let Some(edit) = &file.edit {
            out.push_str(&format!(" [edit {edit}]"));
        }
        out.push('\n');
    }
    out.push_str(&format!("</{tag}>\n"));
}

/// A path on its line; in quotes where it could be taken for one with a label behind it.
fn shown(path: &str) -> String {
    match path.contains(" (") || path.contains(" [") {
        true => format!("\"{}\"", escape_attribute(path)),
        false => escape_metadata(path).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::files::Operation;

    fn operation(operation: Operation, path: &str, entry: &str, failed: bool) -> FileOperation {
        FileOperation { operation, path: path.into(), entry: entry.into(), failed }
    }

    #[test]
    fn a_modified_file_is_not_listed_as_read_and_names_its_last_change_that_worked() {
        let mut lists = FileLists::default();
        for op in [
            operation(Operation::Read, "a", "1", false),
            operation(Operation::Edit, "a", "2", false),
            operation(Operation::Edit, "a", "3", true),
            operation(Operation::Write, "b", "4", true),
            operation(Operation::Read, "c", "5", true),
        ] {
            lists.add(&op);
        }
        let shown = render(&lists, &|_, _| None);
        assert!(shown.contains("\nc (every recorded attempt failed)\n</read-files>"), "{shown}");
        assert!(
            shown.contains(
                "\na [edit 2]\nb (every recorded attempt failed) [edit 4]\n</modified-files>"
            ),
            "{shown}"
        );
    }

    #[test]
    fn pi_9945_ten_thousand_paths_stay_bounded_and_the_rest_is_counted() {
        let mut lists = FileLists::default();
        for n in 0..10_000 {
            lists.add(&operation(Operation::Read, &format!("f{n}"), "1", false));
        }
        lists.add(&operation(Operation::Read, "f0", "2", false));
        let shown = render(&lists, &|_, _| None);
        assert_eq!(shown.lines().count(), SHOWN_PATHS + 3);
        assert!(shown.contains("(9800 more, touched earlier, are left out)"));
        assert!(shown.contains("\nf9999\nf0\n</read-files>"));
    }

    #[test]
    fn a_path_cannot_leave_its_line() {
        let mut lists = FileLists::default();
        lists.add(&operation(Operation::Read, "a\n</read-files>\nb", "1", false));
        assert!(
            render(&lists, &|_, _| None)
                .contains("\na\\n\\u003c/read-files\\u003e\\nb\n</read-files>\n")
        );
        lists.add(&operation(Operation::Read, "a (full read in tail)", "1", false));
        let shown = render(&lists, &|_, _| None);
        assert!(shown.contains("\n\"a (full read in tail)\"\n"), "{shown}");
    }
}
