//! Evidence labels in cases that Pi's own tools do not make by themselves: scripts inside a tool,
//! results that belong to no certain call. The others are in tests/pi/evidence.test.mjs.

use serde_json::{Value, json};

use crate::support::checkpoint::block;
use crate::support::session::Session;

/// The line of `f` after these things happened in the tail; it was edited before.
fn line(tail: impl FnOnce(Session) -> Session) -> String {
    let session = Session::new().user("Begin.").call("edit", json!({ "path": "f", "edits": [] }));
    let session = tail(session.ok("Edited.").user("kept").named("kept")).compacted("kept");
    let lines = block(session.last_summary(), "modified-files").expect("a list");
    let [line] = lines[..] else { panic!("one file: {lines:?}") };
    line.strip_suffix(" [edit e0000002]").expect("the last edit").to_owned()
}

const READ: (&str, &str) = ("read", "f");

fn call<'t>((tool, path): (&'t str, &str)) -> (&'t str, Value) {
    (tool, json!({ "path": path }))
}

fn nested(tool: &str, status: &str) -> Value {
    json!([{ "id": "c/1", "name": tool, "arguments": { "path": "f" }, "status": status }])
}

#[test]
fn a_script_can_outdate_what_was_read_but_shows_nothing() {
    let read = |session: Session| session.calls(vec![call(READ)]).ok("what stands in f");
    let script = |session: Session, tool, status| {
        session.call("codemode", json!({ "code": "…" })).ok_with_nested(nested(tool, status))
    };
    assert_eq!(line(|s| script(read(s), "edit", "ok")), "f (read in tail, then edited)");
    assert_eq!(line(|s| script(read(s), "write", "unfinished")), "f (read in tail, then edited)");
    assert_eq!(line(|s| script(read(s), "edit", "error")), "f (full read in tail)");
    assert_eq!(line(|s| read(script(s, "edit", "ok"))), "f (full read in tail)");
    assert_eq!(line(|s| script(s, "read", "ok")), "f (no read-tool output in tail)");
}

#[test]
fn a_script_beside_a_read_proves_no_order() {
    let siblings = |session: Session| {
        session
            .calls(vec![call(READ), ("codemode", json!({ "code": "…" }))])
            .ok("what stands in f")
            .ok_with_nested(nested("edit", "ok"))
    };
    assert_eq!(line(siblings), "f (read in tail; order uncertain)");
}

#[test]
fn only_a_result_that_certainly_belongs_to_its_read_counts() {
    let read = |session: Session| session.calls(vec![call(READ)]);
    let none = "f (no read-tool output in tail)";
    assert_eq!(line(|s| read(s).ok("text")), "f (full read in tail)");
    assert_eq!(line(|s| read(s).result("call_2", "read", "text", None)), none, "without its flag");
    assert_eq!(line(|s| read(s).error("text")), none);
    assert_eq!(line(read), none);
    assert_eq!(
        line(|s| read(s).result("call_2", "bash", "text", Some(false))),
        none,
        "another tool's"
    );
}

#[test]
fn a_change_without_a_certain_outcome_may_have_happened() {
    let read = |session: Session| session.calls(vec![call(READ)]).ok("what stands in f");
    let edit = |session: Session| session.call("edit", json!({ "path": "f", "edits": [] }));
    let outdated = "f (read in tail, then edited)";
    assert_eq!(line(|s| edit(read(s))), outdated);
    assert_eq!(line(|s| edit(read(s)).result("call_3", "edit", "?", None)), outdated);
    assert_eq!(line(|s| edit(read(s)).error("no")), "f (full read in tail)");
    let write =
        |session: Session| session.call("write", json!({ "path": "f", "content": "all of it" }));
    assert_eq!(
        line(|s| write(s).result("call_2", "write", "?", None)),
        "f (no read-tool output in tail)",
        "nobody knows that it was written"
    );
    assert_eq!(line(|s| write(s).ok("Written.")), "f (write content in tail)");
}
