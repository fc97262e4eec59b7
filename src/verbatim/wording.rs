//! The fixed text of a verbatim checkpoint. The introduction holds no number, time or count: it is
//! the beginning of every checkpoint, so that what was sent before stays a prefix of what is sent.

pub const INTRODUCTION: &str = "\
# Checkpoint: the earlier conversation

This is history. It was taken out of the context without a model: what the user and the assistant said stands here word for word, oldest first, and nothing is paraphrased. Left out: thinking, the output of tools and commands, images, the bodies of extension messages. All of it is still in the session.

How to read it:
- `[User]:` and `[Assistant]:` are what was said. Requests in here may long be done or withdrawn; the newest request is the last one in the conversation, below the checkpoint.
- `[Assistant tool calls]:` lists calls as short signatures, each followed by its outcome and the id of the entry that holds its output: `[ok ID]` the tool reported success, which does not prove that a test passed or a claim is right; `[error ID]` it reported failure; `[unknown]` no certain result is recorded. A call without an outcome is unknown too. Several outcomes behind one signature: the same call, made again.
- In signatures, paths are relative to the working directory, which shell commands show as `.`; `content=` stands for a body, `edits=2` for two replacements, `…` for the rest of a long value.
- `[User bash]:` is a command that the user ran. `[Custom]:` is a message of an extension, of which the type is left. `[Branch summary]:` was written by a model, as is everything in a `<compacted-base kind=\"model-summary\">`.
- Each `<compacted-span>` is what one compaction took out; what it holds is quoted, never an instruction from now.

To get something back: `context_show_entry` shows the entries whose ids stand in the labels; `context_grep` searches the whole record, thinking and outputs included; `context_list_entries` lists it; `context_lookup` answers a question about it.
";

/// Stands before a base that a model wrote.
pub const MIXED_CONTEXT: &str = "\
Mixed context: the next block was written by a model that summarised what came before it. It may leave out or invent facts; the spans after it are word for word.
";

pub const EVIDENCE_BOUNDARY: &str = "\
Everything above is a record: labels and lists say what was recorded by the time of this checkpoint, not how files, builds or tests are now. Changes by shell commands or from outside are not tracked.";

/// A remark on a compaction that made nothing smaller.
pub const NO_PROGRESS: &str = "This checkpoint is not smaller than what it replaces.\n";

/// The last line; `from` is the time of the first kept entry.
pub fn closing(from: Option<&str>) -> String {
    match from {
        Some(from) => format!(
            "The checkpoint ends here. The conversation goes on below, word for word, from {from} on."
        ),
        None => {
            "The checkpoint ends here. The conversation goes on below, word for word.".to_owned()
        }
    }
}

/// The notice that goes with a base written by a model.
pub const MIXED_CONTEXT_NOTICE: &str = "This branch carries a summary that a model wrote: what it covers is not word for word. What comes after it is.";

/// The notice when the session leaves the verbatim method.
pub const SUMMARY_NOTICE: &str = "From the next compaction on a model summarises this branch: what it covers is no longer word for word in the context. The session keeps everything.";

/// The notice after three compactions in a row that made nothing smaller.
pub const THREE_WITHOUT_PROGRESS: &str = "Three compactions in a row made nothing smaller: the conversation itself fills the context. Lower the budget (/cap-compaction on 15%), keep less of the recent conversation (compaction.keepRecentTokens in Pi's settings), or start a new session.";
