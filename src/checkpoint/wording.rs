//! The fixed text of the checkpoint method.

pub const INTRODUCTION: &str = "\
# Checkpoint: where the work stands

The conversation before this point was taken out of the context without asking a model to summarise it. In its place stand notes, and this is history, not a request from now:
- `<checkpoint>` is what the model itself noted about its work with `checkpoint_update`, word for word. It knows nothing of what came after it.
- `<digest>` lists mechanically what the checkpoint does not know, `<carried>` what was asked before: `[USER ID]` a request, word for word; `by id` a request of which only the entry id stands here; `[ASSISTANT]` the beginning of what was said; `[TOOL]` a call with its main argument, `[ok ID]` or `[error ID]` naming the entry that holds its output; `[TOOL-ERROR]` what a failed call reported; `[STATE-CARRIED]` the beginning of an earlier summary, which a model may have written.
- What is not listed is not gone: the whole conversation is in the session. `context_show_entry` shows entries by id, `context_grep` searches everything, `context_list_entries` lists it, `context_lookup` answers a question about it. Look up a request that stands here by id before you act against it.
";

/// Attributes of the sections that are not the model's.
pub const CARRIED: &str = "note=\"what was asked and carried before\"";
pub const SINCE_CHECKPOINT: &str = "note=\"after the checkpoint; made mechanically\"";
pub const NO_CHECKPOINT: &str = "note=\"there is no checkpoint; made mechanically\"";

/// A remark on a compaction that made nothing smaller.
pub const NO_PROGRESS: &str = "This is not smaller than what it replaces.\n";

/// The last line; `from` is the time of the first kept entry.
pub fn closing(from: Option<&str>) -> String {
    let from = from.map_or_else(String::new, |from| format!(", from {from} on"));
    format!("The checkpoint ends here. The conversation goes on below, word for word{from}.")
}

/// The prompt section, and its tag.
pub const SECTION: &str = "stet_checkpoint";
pub const INSTRUCTION: &str = "\
This session keeps a checkpoint: your own note on the state of the work. When the context is compacted, the note takes the place of the conversation it covers. Call `checkpoint_update` whenever something is finished, decided or changed, and before a long stretch of work: the goal in the user's words, standing instructions and limits, what is done (with paths and results), what is open, what comes next. Each call replaces the note, so write all of it, at most 6,000 characters.";

/// The notice when a session leaves the verbatim method for this one.
pub const NOTICE: &str = "From the next compaction on the context holds the model's own checkpoint and a digest of what it does not cover: less than the words themselves. The session keeps everything, and /compaction-method verbatim brings the words back at the next compaction.";

/// The notice when this method takes over a branch that carries a model's summary.
pub const MIXED_NOTICE: &str = "This branch carries a summary that a model wrote; of it the beginning is carried on, marked as such. Its entry keeps the whole.";

/// The notice when the verbatim method takes over again.
pub const BACK_NOTICE: &str = "The next compaction puts back word for word what the checkpoint method had left out; it may ask about the cap.";

/// The notice when a compaction is left to a model.
pub const INSTRUCTIONS_NOTICE: &str = "/compact with instructions: a model writes this summary.";
