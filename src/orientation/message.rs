//! The words of the message. Short, because it stays in the context; nothing in it repeats the
//! checkpoint's own explanations.

pub const TEXT: &str = "\
Part of this conversation has just been compacted. Carry on with what the user asked for last.

What you have
- The messages after the checkpoint, and the startup reads and pinned entries inside it, are evidence in full.
- Prose in the checkpoint is good enough to continue from; it need not be confirmed fact by fact.

What you lack
- Restore an input only if the task needs it and you cannot see it. Begin with the cheap ways: read the file as it is today, or compute the value again.
- A compaction alone is no reason to search the history, to look for required reading or to reread documents wholesale.
- Restoring inputs is not redoing work: leave finished writes and commands alone. In a Git repository, `git status` and `git diff` show what has been changed.

What is true
- Old output tells how things stood then. Whether files, builds and tests are like that today, only a fresh look can tell.
- Where the task depends on something doubtful or contradictory, settle it by the output behind it or by checking the present state, before you rely on it.
- What you could not settle, call unverified. Reasoning found in the history is a hypothesis.

What you write
- Before `write` replaces an existing file, read the file, unless its present contents are in view. Never fill in its unchanged parts from memory.
- Small exact edits and new files need no such reading.

What the history is for
- An exact earlier output, the origin of a finding or decision, notes at odds with new evidence, or results that were slow or costly to get.
- `context_lookup` answers one question. `context_list_entries`, `context_grep` and `context_show_entry` search by hand if that is not enough.
- They reach only this conversation; use them rather than the session file. Requirements that were never given and unfamiliar details of the project are not in it: look in the project, or ask the user.";
