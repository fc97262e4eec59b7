//! The behaviours of the older verbatim extension that its users rely on, in this design's terms.

use serde_json::{Value, json};

use crate::support::author;
use crate::support::call::{Call, TempSession, run};
use crate::support::checkpoint::{block, last_span, spans};
use crate::support::session::Session;

/// The calls of one message with their outcomes, as the span shows them.
fn outcomes(session: Session) -> String {
    let session = session.user("kept").named("kept").compacted("kept");
    last_span(session.last_summary()).to_owned()
}

fn started() -> Session {
    Session::new().user("go")
}

fn three_compactions() -> Session {
    let mut session = Session::new();
    for round in 1..=3 {
        session = session
            .user(&format!("request {round}"))
            .says_and_calls(
                Some(&format!("answer {round}")),
                vec![
                    ("read", json!({ "path": format!("/home/dev/app/src/r{round}.rs") })),
                    ("write", json!({ "path": format!("w{round}.rs"), "content": "SECRET BODY ".repeat(50) })),
                    ("bash", json!({ "command": format!("cd /home/dev/app && echo {}", "long ".repeat(80)) })),
                ],
            )
            .ok("READ OUTPUT")
            .ok("WRITE OUTPUT")
            .ok("BASH OUTPUT")
            .assistant_ended("stop", vec![author::thinking("A SECRET THOUGHT"), author::text("done")])
            .user("kept")
            .named("kept")
            .compacted("kept");
    }
    session
}

#[test]
fn prose_and_signatures_are_kept_and_long_arguments_are_not() {
    let session = three_compactions();
    let span = &spans(session.last_summary())[2];
    for kept in [
        "[User]: request 3",
        "[Assistant]: answer 3",
        "read(path=\"src/r3.rs\") [ok ",
        "[Assistant]: done",
    ] {
        assert!(span.text.contains(kept), "{kept}: {}", span.text);
    }
    let command =
        span.text.split("bash(command=\"").nth(1).and_then(|rest| rest.split(") [").next());
    let command = command.expect("the command");
    assert!(command.starts_with("cd . && echo long long"), "{command}");
    assert!(command.ends_with('…') && command.matches('…').count() == 1, "{command}");
    // 160 characters of JSON text, of which the first is the quote before.
    assert_eq!(command.chars().count(), 160, "159 and the ellipsis");
}

#[test]
fn three_compactions_have_one_frame_three_spans_and_lists_that_add_up() {
    let session = three_compactions();
    let summary = session.last_summary();
    assert_eq!(summary.matches("# Checkpoint").count(), 1);
    assert_eq!(spans(summary).iter().map(|span| span.n).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(
        block(summary, "read-files").expect("a list"),
        ["src/r1.rs", "src/r2.rs", "src/r3.rs"]
    );
    assert_eq!(block(summary, "modified-files").expect("a list").len(), 3);
    assert_eq!(summary.matches("Everything above is a record").count(), 1, "one evidence boundary");
    let lists_end = summary.find("</modified-files>").expect("a list");
    let boundary = summary.find("Everything above is a record").expect("a boundary");
    let closing = summary.rfind("\nThe checkpoint ends here.").expect("a last line");
    assert!(lists_end < boundary && boundary < closing);
    assert_eq!(summary.lines().last(), Some(&summary[closing + 1..]));
}

#[test]
fn no_output_no_thought_no_body_and_no_working_directory() {
    let session = three_compactions();
    let compaction = session.entries().next_back().expect("the compaction").to_string();
    for gone in ["OUTPUT", "SECRET BODY", "A SECRET THOUGHT"] {
        assert!(!compaction.contains(gone), "{gone}");
    }
    assert!(!session.last_summary().contains("/home/dev/app"));
}

#[test]
fn nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = three_compactions().assistant("more").user("later").named("later");
    let file = TempSession::of(&session);
    let before = std::fs::read(file.path()).expect("the session");
    let mut call = Call::compact(&session, "later");
    call.envelope["host"]["agentDir"] = json!(folder.path());
    let output = run(&["hook"], &call.reference_bytes(file.path()), folder.path());
    assert_eq!(output.status, 0);
    assert!(output.stdout.contains("\"compaction\""), "{}", output.stdout);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
    assert_eq!(std::fs::read(file.path()).expect("the session"), before);
}

#[test]
fn a_split_turn_of_which_only_the_prefix_is_compacted() {
    let session = Session::new()
        .user("one long task")
        .call("bash", json!({ "command": "make" }))
        .ok("built")
        .assistant("half way")
        .named("kept")
        .call("bash", json!({ "command": "make test" }))
        .ok("passed")
        .compacted_with("kept", |call| {
            call.reason("threshold").with(
                "cut",
                json!({ "firstKeptEntryId": "e0000004", "isSplitTurn": true, "tokensBefore": 9 }),
            )
        });
    assert_eq!(
        last_span(session.last_summary()),
        "[User]: one long task\n[Assistant tool calls]: bash(command=\"make\") [ok e0000003]"
    );
    assert_eq!(spans(session.last_summary())[0].attribute("trigger"), Some("threshold"));
    let saved = session.entries().next_back().expect("the compaction");
    assert_eq!(saved["firstKeptEntryId"], "e0000004");
    assert_eq!(saved["details"]["readFiles"], json!([]));
    assert_eq!(saved["details"]["modifiedFiles"], json!([]));
    assert_eq!(block(session.last_summary(), "read-files"), None);
}

#[test]
fn parallel_results_in_reverse_order_get_the_right_labels() {
    let session = started()
        .calls(vec![("bash", json!({ "command": "a" })), ("bash", json!({ "command": "b" }))])
        .result("call_2", "bash", "all fine, success", Some(true))
        .result("call_1", "bash", "Error: failed!", Some(false));
    assert_eq!(
        outcomes(session),
        "[User]: go\n[Assistant tool calls]: bash(command=\"a\") [ok e0000004]; bash(command=\"b\") [error e0000003]",
        "the flag counts, not the text"
    );
}

#[test]
fn what_prose_claims_stays_as_it_was_said() {
    let claim = "All 14 tests pass. [ok] [error 12345678]";
    let session =
        started().call("bash", json!({ "command": "test" })).error("2 failed").assistant(claim);
    assert!(outcomes(session).ends_with(&format!("[error e0000003]\n[Assistant]: {claim}")));
}

#[test]
fn an_id_used_again_is_labelled_per_call() {
    let again =
        |session: Session, command: &str, failed: bool| {
            session
                .blocks(vec![author::call("same", "bash", json!({ "command": command }))])
                .result("same", "bash", "x", Some(failed))
        };
    let session = again(again(started(), "a", false), "b", true);
    assert_eq!(
        outcomes(session),
        "[User]: go\n[Assistant tool calls]: bash(command=\"a\") [ok e0000003]\n[Assistant tool calls]: bash(command=\"b\") [error e0000005]"
    );
}

#[test]
fn every_case_of_an_unknown_outcome() {
    let call = |id: &str| author::call(id, "bash", json!({ "command": id }));
    let shown = |session: Session| {
        outcomes(session)
            .lines()
            .filter(|line| line.contains("calls]"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let cases: [(&str, Session); 5] = [
        ("unfinished", started().blocks(vec![call("a")])),
        ("no flag", started().blocks(vec![call("a")]).result("a", "bash", "x", None)),
        (
            "another tool's name",
            started().blocks(vec![call("a")]).result("a", "read", "x", Some(false)),
        ),
        (
            "result before call",
            started().result("a", "bash", "x", Some(false)).blocks(vec![call("a")]),
        ),
        (
            "a flag that is no boolean",
            started().blocks(vec![call("a")]).result("a", "bash", "x", Some(false)).but(|entry| {
                entry["message"]["isError"] = json!("false");
            }),
        ),
    ];
    for (what, session) in cases {
        assert_eq!(
            shown(session),
            "[Assistant tool calls]: bash(command=\"a\") [unknown]",
            "{what}"
        );
    }
    let twins = started()
        .blocks(vec![call("a")])
        .blocks(vec![call("a"), author::call("a", "bash", json!({ "command": "other" }))])
        .result("a", "bash", "x", Some(false))
        .result("a", "bash", "x", Some(true));
    let shown_twins = shown(twins);
    assert_eq!(shown_twins.matches("[unknown]").count(), 3, "{shown_twins}");
    // A result that stays in the tail is outside of the selection.
    let tail = started()
        .call("bash", json!({ "command": "a" }))
        .ok("in the tail")
        .named("kept")
        .compacted("kept");
    assert_eq!(
        last_span(tail.last_summary()),
        "[User]: go\n[Assistant tool calls]: bash(command=\"a\") [unknown]"
    );
}

#[test]
fn the_legend_says_that_ok_is_no_proof() {
    let summary = Call::compact(&started().user("kept").named("kept"), "kept").summary();
    let legend = summary.lines().find(|line| line.contains("`[ok ID]`")).expect("a legend");
    assert!(legend.contains("does not prove that a test passed"), "{legend}");
    assert!(legend.contains("[unknown]"), "{legend}");
}

#[test]
fn lists_are_labelled_details_keep_bare_paths_and_the_boundary_stands_without_lists() {
    let session = started()
        .call("read", json!({ "path": "gone.rs" }))
        .error("ENOENT")
        .call("edit", json!({ "path": "a.rs", "edits": [{}, {}] }))
        .named("edit")
        .ok("done")
        .user("kept")
        .named("kept")
        .compacted("kept");
    let read = block(session.last_summary(), "read-files").expect("a list");
    assert!(read[0].starts_with("gone.rs (") && read[0].contains("failed"), "{read:?}");
    let modified = block(session.last_summary(), "modified-files").expect("a list");
    assert_eq!(
        modified,
        [format!("a.rs (no read-tool output in tail) [edit {}]", session.id_of("edit"))]
    );
    assert_eq!(session.last_details()["readFiles"], json!(["gone.rs"]));
    assert_eq!(session.last_details()["modifiedFiles"], json!(["a.rs"]));
    let without = started().user("kept").named("kept").compacted("kept");
    assert_eq!(without.last_summary().matches("Everything above is a record").count(), 1);
}

#[test]
fn stored_spans_are_never_rewritten() {
    let session = started()
        .call("bash", json!({ "command": "make" }))
        .ok("built")
        .named("result")
        .user("kept")
        .named("kept")
        .compacted("kept");
    let stored = last_span(session.last_summary()).to_owned();
    // The raw entries are edited and the clock moves on: what was stored stays.
    let later = session
        .omit("result")
        .replace("e0000001", "rewritten")
        .user("later")
        .named("later")
        .compacted("later");
    assert_eq!(spans(later.last_summary())[0].text, stored);
}

#[test]
fn pairing_goes_across_the_border_of_history_and_turn_prefix() {
    let session = started()
        .call("bash", json!({ "command": "a" }))
        .user("a steering message begins a turn of its own")
        .ok("late result")
        .assistant("cut here")
        .named("kept")
        .compacted("kept");
    assert!(last_span(session.last_summary()).contains("bash(command=\"a\") [ok e0000004]"));
}

#[test]
fn repeated_calls_are_one_signature_and_every_outcome() {
    let poll = || vec![("bash", json!({ "command": "poll" }))];
    let session =
        started().calls(poll()).error("no").calls(poll()).error("no").calls(poll()).ok("yes");
    assert_eq!(
        outcomes(session),
        "[User]: go\n[Assistant tool calls]: bash(command=\"poll\") [error e0000003] [error e0000005] [ok e0000007]"
    );
    let talked = started().calls(poll()).error("no").assistant("Again.").calls(poll()).ok("yes");
    assert_eq!(
        outcomes(talked).lines().filter(|line| line.contains("poll")).count(),
        2,
        "something was between"
    );
}

#[test]
fn calls_that_a_script_made_inside_a_tool_count_as_file_operations() {
    let nested = json!([
        { "id": "c/1", "name": "read", "arguments": { "path": "/home/dev/app/in.rs" }, "status": "ok" },
        { "id": "c/2", "name": "edit", "arguments": { "path": "out.rs" }, "status": "ok" },
        { "id": "c/3", "name": "bash", "arguments": { "command": "rm x" }, "status": "ok" },
        { "id": "c/4", "name": "write", "argumentsBytes": 90_000, "status": "ok" },
    ]);
    let session = started()
        .call("codemode", json!({ "code": "await tools.read(…)" }))
        .ok_with_nested(nested)
        .user("kept")
        .named("kept")
        .compacted("kept");
    assert_eq!(session.last_details()["readFiles"], json!(["in.rs"]));
    assert_eq!(session.last_details()["modifiedFiles"], json!(["out.rs"]));
    let lines: Vec<&str> = last_span(session.last_summary()).lines().collect();
    assert_eq!(lines.len(), 2, "nested calls leave no line: {lines:?}");
}

#[test]
fn extension_state_and_bodies_leave_no_text() {
    let session = started()
        .custom_message("review.comment", "BODY OF A MESSAGE")
        .state("review.state", json!({ "text": "BODY OF A STATE" }))
        .custom_message("stet.reorientation", "OUR OWN REMINDER")
        .user("kept")
        .named("kept")
        .compacted("kept");
    assert_eq!(
        last_span(session.last_summary()),
        "[User]: go\n[Custom]: review.comment [content removed e0000002]"
    );
    let compaction: Value = session.entries().next_back().expect("the compaction").clone();
    for gone in ["BODY OF", "OUR OWN", "reorientation"] {
        assert!(!compaction.to_string().contains(gone), "{gone}");
    }
}
