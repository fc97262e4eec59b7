//! What the page is told, as plain data. Entries are named by their number in the file, positions
//! count along the branch; both begin with 0. Tokens are estimates.

use serde::Serialize;

use super::sizes::Sizes;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of pi-stet that made it.
    pub version: &'static str,
    /// When it was made, ISO 8601.
    pub made: String,
    /// The session's path as it was given; absent for standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub session: About,
    pub entries: Vec<Entry>,
    /// The entries of the branch, root to leaf, as runs of neighbours in the file: the first one
    /// and how many.
    pub branch: Vec<[usize; 2]>,
    /// The other branches.
    pub strands: Vec<Strand>,
    pub compactions: Vec<Compaction>,
    /// How full the context was along the branch: position and sizes.
    pub samples: Vec<(usize, Sizes)>,
    /// What the context holds now.
    pub now: Sizes,
    /// The position from which on entries are in the context now.
    pub start: usize,
    /// An output has at most so many characters here, prose so many.
    pub output_chars: usize,
    pub prose_chars: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    pub id: String,
    pub cwd: String,
    pub format: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub bytes: u64,
    /// The branch does not end in the file's last entry because the caller chose another leaf.
    pub leaf_given: bool,
    pub damaged_lines: u64,
    /// Why the branch ends before a root, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// One word: `user`, `assistant`, `result`, `bash`, …
    pub kind: &'static str,
    /// What it is, in words, where the kind does not say it all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    pub tokens: u64,
    /// The tokens of an answer's calls and thinking, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
    /// The branch that it is on; 0 is the one that the page is about.
    #[serde(skip_serializing_if = "is_zero")]
    pub strand: usize,
    /// The number of the compaction that took it out of the context.
    #[serde(skip_serializing_if = "is_zero")]
    pub out: usize,
    /// An edit of the context that holds for it: `omitted` or `replaced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The message that made the call, for a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
}

/// A part of an entry.
#[derive(Debug, Serialize)]
pub struct Text {
    /// As the recovery tools name it: `user`, `assistant`, `thinking`, `toolCall`, …
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// In place of a text: an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The characters of the whole text, where it is cut.
    #[serde(skip_serializing_if = "is_zero")]
    pub chars: usize,
    /// The result of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<usize>,
}

/// A branch beside the one that the page is about, from where it leaves that one or another.
#[derive(Debug, Serialize)]
pub struct Strand {
    /// The entry that it goes on from; absent where it begins at the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    pub first: usize,
    pub last: usize,
    pub entries: usize,
    pub tokens: u64,
}

/// One compaction of the branch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    pub entry: usize,
    /// `verbatim`, `checkpoint`, `older` or `summary`.
    pub method: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trigger: String,
    /// What the person wrote behind `/compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Pi's own figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<f64>,
    /// The positions that it took out: from the first to before the second.
    pub range: [usize; 2],
    /// The context before it, what it took out of the conversation, what stayed as it was, and the
    /// context after it.
    pub before: Sizes,
    pub took: Sizes,
    pub stayed: Sizes,
    pub after: Sizes,
    /// Of what it took out, this stands in its checkpoint: prose word for word, calls as signatures.
    pub stands: Sizes,
    /// The same of all spans of the checkpoint.
    pub holds: Sizes,
    /// What the cap took from the spans of this checkpoint.
    pub trimmed: Sizes,
    /// Lines that the cap took, and lines that it cut.
    pub trimmed_lines: [usize; 2],
    /// The checkpoint, part by part.
    pub parts: Vec<Part>,
    /// What it took out, line by line, where it is one of ours.
    pub lines: Vec<Line>,
}

/// A line of a span: the entry it comes from, its kind, its text.
#[derive(Debug, Serialize)]
pub struct Line(pub Option<usize>, pub &'static str, pub String);

/// A part of a checkpoint.
#[derive(Debug, Default, Serialize)]
pub struct Part {
    pub name: &'static str,
    pub tokens: u64,
    /// Its text, where it has no lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The characters of the whole text, where it is cut.
    #[serde(skip_serializing_if = "is_zero")]
    pub chars: usize,
    /// Of a span: whose lines it holds, as the number of the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    /// Those of the lines that are gone, and those of which the beginning is left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<(usize, String)>,
    /// Of a retained text: its entry, and what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}
