//! What of a file's content is still in view: labels for the file lists, from the tool calls and
//! results of the kept tail. Nothing is read from disk, and nothing is stored; each checkpoint
//! works them out anew.

use std::collections::HashMap;

use crate::error::Result;
use crate::json::Fields;
use crate::session::files::{self, Operation};
use crate::session::pairing::{CallNo, Outcome, Pairing};
use crate::session::projection::{Edits, Projection};
use crate::session::{Block, Body, Detail, ToolResult};

/// How much of a file one piece of evidence shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// Part of it, for certain.
    PartOfRead,
    /// A read whose completeness is not known.
    Read,
    /// What a successful write wrote.
    Written,
    WholeRead,
}

/// What the tail has of one file.
#[derive(Debug, Default)]
struct FileEvidence {
    /// The best piece since the last change.
    current: Option<Shown>,
    /// The best piece of which nobody can tell whether it is from before or after the last change.
    uncertain: Option<Shown>,
    /// The best piece from before the last change.
    outdated: Option<Shown>,
    changed: bool,
}

/// The evidence in the kept tail, by path.
#[derive(Debug, Default)]
pub struct Evidence(HashMap<String, FileEvidence>);

/// One thing that a call did to a file.
struct Event {
    /// Position of the message with the call; calls of one message may run at the same time.
    message: usize,
    path: String,
    changed: bool,
    shown: Option<Shown>,
}

/// A call of a file tool, before its result is known.
struct Operated {
    path: String,
    operation: Operation,
    message: usize,
    /// Arguments with `offset` above 1 show a part for certain.
    from_start: bool,
    /// The written text is in view.
    payload_in_view: bool,
    call: CallNo,
}

impl Evidence {
    /// The evidence from `first_kept` on. `edits` are all of the branch: a change counts although
    /// its message was omitted from the context.
    ///
    /// Errors: the session changed while it was read.
    pub fn of_tail(
        context: &Projection,
        edits: &Edits,
        first_kept: usize,
        cwd: &str,
    ) -> Result<Evidence> {
        let branch = context.branch;
        let mut pairing: Pairing<Option<Shown>> = Pairing::default();
        let mut operated: Vec<Operated> = Vec::new();
        let mut events: Vec<Event> = Vec::new();
        let mut message = first_kept;
        for position in first_kept..context.end {
            let Some(entry) = branch.get(position) else {
                continue;
            };
            let visible = context.is_visible(position);
            // A replaced message shows the replacement; the calls were made all the same.
            let replaced = edits.contains_key(&entry);
            let mut body = branch.session.read(entry, Detail::Kept)?.body;
            // What other tools put out says nothing about a file, and may be large.
            if matches!(&body, Body::ToolResult(result) if Operation::of_tool(&result.tool_name) == Some(Operation::Read))
            {
                body = branch.session.read(entry, Detail::All)?.body;
            }
            match body {
                Body::Assistant(body) => {
                    message = position;
                    for block in &body.content {
                        let Block::ToolCall(call) = block else {
                            continue;
                        };
                        let number = pairing.call(&call.id, &call.name);
                        if let Some((operation, path)) = files::of_call(call, cwd) {
                            let arguments = Fields::parse(&call.arguments);
                            let offset = arguments.as_ref().and_then(|a| a.number("offset"));
                            let has_content =
                                arguments.is_some_and(|a| a.string("content").is_some());
                            operated.push(Operated {
                                path,
                                operation,
                                message,
                                from_start: offset.is_none_or(|offset| offset <= 1.0),
                                payload_in_view: visible && !replaced && has_content,
                                call: number,
                            });
                        }
                    }
                }
                Body::ToolResult(result) => {
                    let shown = visible.then(|| shown_by(&result, replaced));
                    let (id, name) = (&result.call_id, &result.tool_name);
                    pairing.result(id, name, result.is_error, shown);
                    for call in result.nested_calls.iter().filter(|call| !call.failed) {
                        if let Some((operation, path)) = files::of_nested_call(call, cwd)
                            && operation.changes_the_file()
                        {
                            events.push(Event { message, path, changed: true, shown: None });
                        }
                    }
                }
                _ => {}
            }
        }
        events.extend(operated.into_iter().filter_map(|operated| event_of(operated, &pairing)));
        Ok(Evidence::of_events(events))
    }

    fn of_events(mut events: Vec<Event>) -> Evidence {
        let mut files: HashMap<String, FileEvidence> = HashMap::new();
        events.sort_by(|a, b| (a.message, &a.path).cmp(&(b.message, &b.path)));
        for siblings in events.chunk_by(|a, b| a.message == b.message && a.path == b.path) {
            files.entry(siblings[0].path.clone()).or_default().take(siblings);
        }
        Evidence(files)
    }

    /// The label of a file, `None` where the tail has nothing of it.
    pub fn label(&self, path: &str) -> Option<&'static str> {
        let file = self.0.get(path)?;
        Some(match (file.current, file.uncertain, file.outdated) {
            (Some(Shown::WholeRead), ..) => "full read in tail",
            (Some(Shown::Written), ..) => "write content in tail",
            (Some(Shown::Read), ..) => "read output in tail",
            (Some(Shown::PartOfRead), ..) => "partial read in tail",
            (None, Some(Shown::Written), _) => "write content in tail; order uncertain",
            (None, Some(_), _) => "read in tail; order uncertain",
            (None, None, Some(Shown::Written)) => "write content in tail, then edited",
            (None, None, Some(_)) => "read in tail, then edited",
            (None, None, None) => return None,
        })
    }

    /// Whether a call in the tail changed the file, or may have.
    pub fn is_changed(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|file| file.changed)
    }
}

impl FileEvidence {
    /// What the calls of one message did, in an order that is not known.
    fn take(&mut self, siblings: &[Event]) {
        let shown = siblings.iter().filter_map(|event| event.shown).max();
        let changes = siblings.iter().any(|event| event.changed);
        if changes {
            self.changed = true;
            let until_now = self.current.take().max(self.uncertain.take());
            self.outdated = self.outdated.max(until_now);
        }
        let known =
            if changes && siblings.len() > 1 { &mut self.uncertain } else { &mut self.current };
        *known = (*known).max(shown);
    }
}

/// What a call did, `None` where it certainly showed and changed nothing.
fn event_of(operated: Operated, pairing: &Pairing<Option<Shown>>) -> Option<Event> {
    let Operated { path, operation, message, from_start, payload_in_view, call } = operated;
    let outcome = pairing.outcome(call);
    let (changed, shown) = match operation {
        Operation::Read => {
            let (Outcome::Ok, Some(shown)) = pairing.pair(call)? else {
                return None;
            };
            let part = *shown == Shown::WholeRead && !from_start;
            (false, Some(if part { Shown::PartOfRead } else { *shown }))
        }
        // What failed changed nothing; what is not certain may have.
        Operation::Write | Operation::Edit if outcome == Outcome::Error => return None,
        Operation::Write if outcome == Outcome::Ok && payload_in_view => {
            (true, Some(Shown::Written))
        }
        Operation::Write | Operation::Edit => (true, None),
    };
    Some(Event { message, path, changed, shown })
}

/// How much a read's result shows, by what Pi's read tool says about it.
fn shown_by(result: &ToolResult, replaced: bool) -> Shown {
    if replaced {
        return Shown::Read;
    }
    match result.text() {
        None => Shown::Read,
        Some(text) if result.truncated || ends_in_notice(&text) => Shown::PartOfRead,
        Some(_) => Shown::WholeRead,
    }
}

/// The notices that Pi's read tool puts behind what it cut.
fn ends_in_notice(text: &str) -> bool {
    let Some(last) = text.trim_end().rsplit('\n').next() else {
        return false;
    };
    let Some(notice) = last.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    notice.starts_with("Showing lines ")
        || notice.contains(" more lines in file. ")
        || (notice.starts_with("Line ") && notice.contains(" exceeds "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The label of a file after these things, each with the number of its message.
    fn label(events: &[(usize, Did)]) -> Option<&'static str> {
        let event = |(message, did): &(usize, Did)| {
            let (changed, shown) = match did {
                Saw(shown) => (false, Some(*shown)),
                Changed => (true, None),
                Wrote => (true, Some(Shown::Written)),
            };
            Event { message: *message, path: "f".into(), changed, shown }
        };
        Evidence::of_events(events.iter().map(event).collect()).label("f")
    }

    enum Did {
        Saw(Shown),
        Changed,
        Wrote,
    }
    use Did::{Changed, Saw, Wrote};
    use Shown::{PartOfRead, Read, WholeRead};

    #[test]
    fn a_later_partial_read_does_not_hide_a_whole_one() {
        let whole = label(&[(0, Saw(WholeRead)), (1, Saw(PartOfRead))]);
        assert_eq!(whole, Some("full read in tail"));
        assert_eq!(label(&[(0, Saw(Read))]), Some("read output in tail"));
        let siblings = label(&[(0, Saw(PartOfRead)), (0, Saw(WholeRead))]);
        assert_eq!(siblings, Some("full read in tail"));
    }

    #[test]
    fn a_change_outdates_what_was_read_before_it() {
        assert_eq!(label(&[(0, Saw(WholeRead)), (1, Changed)]), Some("read in tail, then edited"));
        assert_eq!(
            label(&[(0, Saw(WholeRead)), (1, Changed), (2, Saw(PartOfRead))]),
            Some("partial read in tail")
        );
        assert_eq!(label(&[(0, Changed)]), None);
    }

    #[test]
    fn siblings_prove_no_order() {
        for siblings in [[(1, Saw(PartOfRead)), (1, Changed)], [(1, Changed), (1, Saw(PartOfRead))]]
        {
            assert_eq!(label(&siblings), Some("read in tail; order uncertain"));
            let [one, other] = siblings;
            // What was whole before them is outdated; what is read after them is not uncertain.
            let with_others = [(0, Saw(WholeRead)), one, other];
            assert_eq!(label(&with_others), Some("read in tail; order uncertain"));
            let [_, one, other] = with_others;
            let then_read = [one, other, (2, Saw(PartOfRead))];
            assert_eq!(label(&then_read), Some("partial read in tail"));
            let [one, other, _] = then_read;
            assert_eq!(label(&[one, other, (2, Changed)]), Some("read in tail, then edited"));
        }
    }

    #[test]
    fn what_was_written_is_in_view_until_it_is_changed() {
        assert_eq!(label(&[(0, Saw(WholeRead)), (1, Wrote)]), Some("write content in tail"));
        assert_eq!(label(&[(0, Wrote), (1, Changed)]), Some("write content in tail, then edited"));
        for events in [[(0, Wrote), (0, Changed)], [(0, Changed), (0, Wrote)]] {
            assert_eq!(label(&events), Some("write content in tail; order uncertain"));
        }
    }

    #[test]
    fn continuation_notices_are_told_from_text() {
        assert!(ends_in_notice(
            "a\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]"
        ));
        assert!(ends_in_notice("a\n\n[7 more lines in file. Use offset=8 to continue.]"));
        assert!(ends_in_notice("[Line 3 is 80.0KB, exceeds 50.0KB limit. Use bash: sed]"));
        assert!(!ends_in_notice("a\n[section]"));
    }
}
