//! Sessions of the checkpoint method, and what its compactions say, read the way a person would.

use serde_json::{Value, json};

use super::call::Call;
use super::session::Session;

impl Session {
    /// The model notes the state of its work.
    pub fn note(self, text: &str) -> Session {
        self.call("checkpoint_update", json!({ "text": text })).newest_ok("Checkpoint kept.")
    }

    /// A turn: a request, a command, an answer.
    pub fn turn(self, request: &str, command: &str, answer: &str) -> Session {
        self.user(request)
            .call("bash", json!({ "command": command }))
            .ok("output")
            .assistant(answer)
    }

    /// A compaction of the checkpoint method.
    pub fn noted(self, kept: &str) -> Session {
        self.compacted_with(kept, by_note)
    }
}

/// The call is answered by the checkpoint method.
pub fn by_note(call: Call) -> Call {
    call.with("settings", json!({ "method": "checkpoint" }))
}

/// The summary of a compaction of the checkpoint method.
pub fn summary(session: &Session, kept: &str) -> String {
    by_note(Call::compact(session, kept)).summary()
}

pub fn tier(reply: &Value) -> &Value {
    &reply["result"]["compaction"]["details"]["tier"]
}

/// What stands between the tags of a section, with its opening line's attributes.
pub fn section<'s>(summary: &'s str, name: &str) -> Option<(&'s str, &'s str)> {
    let open = summary.find(&format!("\n<{name}"))? + 1;
    let (tag, rest) = summary[open + 1..].split_once(">\n")?;
    let (tag, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let end = rest.find(&format!("\n</{tag}>"))?;
    Some((attributes, &rest[..end]))
}

/// The entries of asks that the summary names by their id alone.
pub fn by_id(summary: &str) -> Vec<&str> {
    let lines =
        summary.lines().filter_map(|l| l.strip_prefix("[USER] by id, whole in the session: "));
    lines.flat_map(|ids| ids.split(", ")).collect()
}

/// The ranges of asks that are known by their ends: first, last, how many.
pub fn ranges(summary: &str) -> Vec<(&str, &str, usize)> {
    let range = |line: &'_ str| -> Option<(usize, usize, usize)> {
        let rest = line.strip_prefix("[USER] ")?;
        let (count, rest) = rest.split_once(" known by their range only, entries ")?;
        let (first, last) = rest.split_once(" to ")?;
        let count = count.split(' ').next()?.replace(',', "").parse().ok()?;
        let at = |part: &str| part.as_ptr() as usize - line.as_ptr() as usize;
        Some((at(first), at(last), count))
    };
    summary
        .lines()
        .filter_map(|line| {
            let (first, last, count) = range(line)?;
            Some((line[first..].split(' ').next()?, &line[last..], count))
        })
        .collect()
}

/// Whether the summary holds an ask, whole or by its id.
pub fn holds(summary: &str, id: &str, text: &str) -> bool {
    summary.contains(&format!("[USER {id}] {text}\n"))
        || (text.chars().count() > 1000 && summary.contains(&format!("[USER {id}] (")))
        || by_id(summary).contains(&id)
}
