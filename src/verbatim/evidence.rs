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

#[derive(Debug, Default)]
struct FileEvidence {
    /// The best piece since the last change, and whether its order against a change is certain.
    current: Option<Shown>,
    /// The best piece from before the last change.
    outdated: Option<Shown>,
    order_uncertain: bool,
}

/// The evidence in the kept tail, by path.
#[derive(Debug, Default)]
pub struct Evidence(HashMap<String, FileEvidence>);

#[derive(Default)]
struct Siblings {
    changed: bool,
    showed: bool,
}

/// One thing that happened to a file, in the order of the calls' results.
enum Event {
    Saw(Shown),
    Changed,
    /// Changed, and the new content is in view.
    Wrote,
}

struct Operated {
    path: String,
    operation: Operation,
    /// The message that holds the call; siblings may have run at the same time.
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
        let mut pairing: Pairing<(usize, Option<Shown>)> = Pairing::default();
        let mut operated: Vec<Operated> = Vec::new();
        let mut events: Vec<(usize, usize, String, Event)> = Vec::new();
        for position in first_kept..context.end {
            let Some(entry) = branch.get(position) else {
                continue;
            };
            let visible = context.is_visible(position);
            match branch.session.read(entry, Detail::All)?.body {
                Body::Assistant(message) => {
                    // A replaced message shows the replacement; the calls were made all the same.
                    let replaced = edits.contains_key(&entry);
                    for block in &message.content {
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
                                message: position,
                                from_start: offset.is_none_or(|offset| offset <= 1.0),
                                payload_in_view: visible && !replaced && has_content,
                                call: number,
                            });
                        }
                    }
                }
                Body::ToolResult(result) => {
                    let shown = visible.then(|| shown_by(&result, edits.contains_key(&entry)));
                    pairing.result(
                        &result.call_id,
                        &result.tool_name,
                        result.is_error,
                        (position, shown),
                    );
                    for call in &result.nested_calls {
                        if let Some((operation, path)) = files::of_nested_call(call, cwd)
                            && operation.changes_the_file()
                            && !call.failed
                        {
                            events.push((position, position, path, Event::Changed));
                        }
                    }
                }
                _ => {}
            }
        }
        for operation in operated {
            events.extend(event_of(operation, &pairing));
        }
        events.sort_by_key(|(at, ..)| *at);
        Ok(Evidence::of_events(events))
    }

    fn of_events(events: Vec<(usize, usize, String, Event)>) -> Evidence {
        let mut files: HashMap<String, FileEvidence> = HashMap::new();
        // What each message did to a path so far: its calls may have run at the same time.
        let mut siblings: HashMap<(String, usize), Siblings> = HashMap::new();
        for (_, message, path, event) in events {
            let sibling = siblings.entry((path.clone(), message)).or_default();
            let file = files.entry(path).or_default();
            match event {
                Event::Saw(shown) => {
                    file.order_uncertain |= sibling.changed;
                    sibling.showed = true;
                    file.current = file.current.max(Some(shown));
                }
                Event::Changed | Event::Wrote => {
                    // A sibling may have run before or after: nothing is proven either way.
                    let wrote = matches!(event, Event::Wrote);
                    if sibling.showed || (wrote && sibling.changed) {
                        file.order_uncertain = true;
                    } else {
                        file.outdated = file.outdated.max(file.current.take());
                        file.order_uncertain = false;
                    }
                    sibling.changed = true;
                    if wrote {
                        sibling.showed = true;
                        file.current = file.current.max(Some(Shown::Written));
                    }
                }
            }
        }
        Evidence(files)
    }

    /// The label of a file, `None` where the tail has nothing of it.
    pub fn label(&self, path: &str) -> Option<&'static str> {
        let file = self.0.get(path)?;
        match (file.current, file.outdated) {
            (Some(Shown::Written), _) if file.order_uncertain => {
                Some("write content in tail; order uncertain")
            }
            (Some(_), _) if file.order_uncertain => Some("read in tail; order uncertain"),
            (Some(Shown::WholeRead), _) => Some("full read in tail"),
            (Some(Shown::Written), _) => Some("write content in tail"),
            (Some(Shown::Read), _) => Some("read output in tail"),
            (Some(Shown::PartOfRead), _) => Some("partial read in tail"),
            (None, Some(Shown::Written)) => Some("write content in tail, then edited"),
            (None, Some(_)) => Some("read in tail, then edited"),
            (None, None) => None,
        }
    }
}

/// When and what a call did, `None` where it certainly showed and changed nothing.
fn event_of(
    operated: Operated,
    pairing: &Pairing<(usize, Option<Shown>)>,
) -> Option<(usize, usize, String, Event)> {
    let pair = pairing.pair(operated.call);
    let at = pair.map_or(operated.message, |(_, (position, _))| *position);
    let outcome = pairing.outcome(operated.call);
    let event = match operated.operation {
        Operation::Read => {
            let (Outcome::Ok, (_, Some(shown))) = pair? else {
                return None;
            };
            Event::Saw(if operated.from_start { *shown } else { Shown::PartOfRead.min(*shown) })
        }
        // What failed changed nothing; what is not certain may have.
        Operation::Write | Operation::Edit if outcome == Outcome::Error => return None,
        Operation::Write if outcome == Outcome::Ok && operated.payload_in_view => Event::Wrote,
        Operation::Write | Operation::Edit => Event::Changed,
    };
    Some((at, operated.message, operated.path, event))
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

    fn label(events: Vec<(usize, usize, Event)>) -> Option<&'static str> {
        let events = events
            .into_iter()
            .map(|(at, message, event)| (at, message, "f".to_owned(), event))
            .collect();
        Evidence::of_events(events).label("f")
    }

    use Event::{Changed, Saw, Wrote};
    use Shown::{PartOfRead, Read, WholeRead};

    #[test]
    fn a_later_partial_read_does_not_hide_a_whole_one() {
        assert_eq!(
            label(vec![(1, 0, Saw(WholeRead)), (3, 2, Saw(PartOfRead))]),
            Some("full read in tail")
        );
        assert_eq!(label(vec![(1, 0, Saw(Read))]), Some("read output in tail"));
    }

    #[test]
    fn a_change_outdates_what_was_read_before_it() {
        assert_eq!(
            label(vec![(1, 0, Saw(WholeRead)), (3, 2, Changed)]),
            Some("read in tail, then edited")
        );
        assert_eq!(
            label(vec![(1, 0, Saw(WholeRead)), (3, 2, Changed), (5, 4, Saw(PartOfRead))]),
            Some("partial read in tail")
        );
        assert_eq!(label(vec![(1, 0, Changed)]), None);
    }

    #[test]
    fn siblings_prove_no_order() {
        for events in [
            vec![(1, 0, Saw(WholeRead)), (2, 0, Changed)],
            vec![(1, 0, Changed), (2, 0, Saw(WholeRead))],
        ] {
            assert_eq!(label(events), Some("read in tail; order uncertain"));
        }
    }

    #[test]
    fn what_was_written_is_in_view_until_it_is_changed() {
        assert_eq!(
            label(vec![(1, 0, Saw(WholeRead)), (3, 2, Wrote)]),
            Some("write content in tail")
        );
        assert_eq!(
            label(vec![(1, 0, Wrote), (3, 2, Changed)]),
            Some("write content in tail, then edited")
        );
        for events in [vec![(1, 0, Wrote), (2, 0, Changed)], vec![(1, 0, Changed), (2, 0, Wrote)]] {
            assert_eq!(label(events), Some("write content in tail; order uncertain"));
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
