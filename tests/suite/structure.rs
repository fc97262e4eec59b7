//! Field reports: the shape of the tree.

use serde_json::{Value, json};

use crate::support::author::{self, header};
use crate::support::call::{Call, TempSession, answer};
use crate::support::checkpoint::{last_span, spans, stable_part};
use crate::support::session::Session;

/// The compaction of a file that is what it is, not what a builder made.
fn compact_file(file: &[u8], id: &str, leaf: &str, kept: &str) -> Value {
    let call = Call::compact(&Session::new(), kept);
    let file = TempSession::of_bytes(file);
    let reply = answer(&call.bytes_with(json!({
        "id": id, "cwd": "/home/dev/app", "file": file.path(), "leafId": leaf,
    })));
    assert!(reply["result"].is_object(), "no compaction: {reply}");
    reply["result"]["compaction"].clone()
}

fn span_of(compaction: &Value) -> &str {
    last_span(compaction["summary"].as_str().expect("a summary"))
}

#[test]
fn pi_4570_orphan_after_inner_compaction() {
    let session = Session::new()
        .user("one")
        .call("bash", json!({ "command": "make" }))
        .ok("built")
        .named("result")
        // The call goes, its result stays.
        .compacted("result")
        .user("two")
        .named("two")
        // Keeps an entry from before the inner compaction.
        .compaction_of_pi("A model's words.", "result")
        .assistant("three")
        .user("four")
        .named("kept")
        .compacted("kept");
    let spans = spans(session.last_summary());
    assert_eq!(spans.len(), 1, "the inner compaction is behind the base");
    assert_eq!(spans[0].text, "[User]: two\n[Assistant]: three");
    assert!(session.last_summary().contains("A model's words."));
}

#[test]
fn pinet_941_a_result_without_a_call_and_one_below_a_compaction() {
    let session = Session::new()
        .user("one")
        .result("call_nowhere", "bash", "orphan", Some(false))
        .call("bash", json!({ "command": "make" }))
        .named("call")
        .compacted("call")
        .ok("the child of a compaction")
        .assistant("two")
        .user("three")
        .named("kept")
        .compacted("kept");
    let texts: Vec<&str> = spans(session.last_summary()).iter().map(|span| span.text).collect();
    // The second call's result came after the compaction, in the same span as the call.
    assert_eq!(
        texts,
        [
            "[User]: one",
            "[Assistant tool calls]: bash(command=\"make\") [ok e0000005]\n[Assistant]: two"
        ]
    );
}

#[test]
fn fastagent_401_a_boundary_that_is_not_on_the_path_keeps_nothing() {
    let session = Session::new()
        .user("root")
        .named("root")
        .assistant("on the other branch")
        .named("other")
        .at("root")
        .assistant("on this branch")
        .compaction("Spans.", "other", json!({ "details": { "kind": "unknown" } }))
        .user("after")
        .assistant("later")
        .user("kept")
        .named("kept")
        .compacted("kept");
    assert_eq!(last_span(session.last_summary()), "[User]: after\n[Assistant]: later");
}

#[test]
fn pi_8989_a_label_as_boundary() {
    let session = Session::new()
        .user("one")
        .assistant("two")
        .named("two")
        .label("two", Some("here"))
        .named("label")
        .user("three")
        .compacted("label")
        .assistant("four")
        .label("two", Some("there"))
        .named("later")
        .user("five")
        .compacted("later");
    let texts: Vec<&str> = spans(session.last_summary()).iter().map(|span| span.text).collect();
    assert_eq!(texts, ["[User]: one\n[Assistant]: two", "[User]: three\n[Assistant]: four"]);
    // A fork makes labels anew, under other ids: details name message entries only.
    let details = session.last_details();
    let labels = [session.id_of("label"), session.id_of("later")];
    for label in labels {
        assert!(!details.to_string().contains(&label), "{details}");
    }
}

#[test]
fn pi_vcc_28_references_are_entry_ids() {
    let session = Session::new()
        .user_blocks(vec![author::text("look"), author::image("image/jpeg", &"QUJD".repeat(500))])
        .calls(vec![("bash", json!({ "command": "a" })), ("bash", json!({ "command": "b" }))])
        .ok("1")
        .error("2")
        .bash("ls", 0)
        .custom_message("some.type", "body")
        .assistant_ended("length", vec![author::text("cut")])
        .user("kept")
        .named("kept")
        .compacted("kept");
    let expected = "\
[User]: look
[image image/jpeg, 1 KB, entry e0000001]
[Assistant tool calls]: bash(command=\"a\") [ok e0000003]; bash(command=\"b\") [error e0000004]
[User bash]: $ ls [ok e0000005]
[Custom]: some.type [content removed e0000006]
[Assistant]: cut
[Assistant message ended: length e0000007]";
    assert_eq!(last_span(session.last_summary()), expected);
}

#[test]
fn claude_code_94197_and_lossless_claw_282_what_was_sent_stays_a_prefix() {
    let mut session = Session::new();
    for round in 0..5 {
        let before = session.summaries().last().map(|summary| stable_part(summary).to_owned());
        session = session
            .user(&format!("request {round}"))
            .call("edit", json!({ "path": format!("src/f{round}.rs"), "edits": [{}] }))
            .ok("done")
            .user("kept")
            .named("kept")
            .compacted_with("kept", |call| {
                call.reason(["manual", "threshold", "overflow"][round % 3])
            })
            .omit("kept");
        if let Some(before) = before {
            assert!(session.last_summary().starts_with(&before), "round {round}");
        }
    }
    // What changes with every compaction comes behind the last span.
    let summary = session.last_summary();
    let volatile = &summary[stable_part(summary).len()..];
    for needle in ["<modified-files ", "src/f0.rs", "Compaction 5 (threshold"] {
        assert!(volatile.contains(needle), "{needle}: {volatile}");
    }
}

#[test]
fn format_v1_has_no_ids_and_counts_lines() {
    let v1 = [
        r#"{"type":"session","id":"v1-session","timestamp":"2025-12-09T00:00:00.000Z","cwd":"/home/dev/app","provider":"x","modelId":"y","thinkingLevel":"off"}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:01.000Z","message":{"role":"user","content":"line 1","timestamp":1}}"#,
        r#"{"type":"thinking_level_change","timestamp":"2025-12-09T00:00:02.000Z","thinkingLevel":"low"}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"line 3"}],"timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:04.000Z","message":{"role":"user","content":"line 4, kept","timestamp":1}}"#,
        r#"{"type":"compaction","timestamp":"2025-12-09T00:00:05.000Z","summary":"A model's words.","firstKeptEntryIndex":4,"tokensBefore":9}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"line 6"}],"timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:07.000Z","message":{"role":"user","content":"line 7","timestamp":1}}"#,
    ]
    .join("\n");
    let output = crate::support::call::run(
        &["compact", "-", "--keep-recent-tokens", "1"],
        v1.as_bytes(),
        std::path::Path::new("."),
    );
    assert_eq!(output.status, 0, "{}", output.stderr);
    let summary = output.stdout.strip_suffix('\n').expect("a last line break");
    assert_eq!(last_span(summary), "[User]: line 4, kept\n[Assistant]: line 6");
    assert!(summary.contains("A model's words."));
}

#[test]
fn a_parent_may_stand_later_in_the_file_and_several_roots_may_be_there() {
    let line = |id: &str, parent: Option<&str>, text: &str| {
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-05T09:00:00.000Z",
                "message": { "role": "user", "content": [author::text(text)], "timestamp": 1 } })
        .to_string()
    };
    let file = [
        header("s", "/home/dev/app").to_string(),
        line("other", None, "another root"),
        line("c", Some("b"), "third"),
        line("a", None, "first"),
        line("b", Some("a"), "second"),
        line("d", Some("c"), "kept"),
    ]
    .join("\n");
    let compaction = compact_file(file.as_bytes(), "s", "d", "d");
    assert_eq!(span_of(&compaction), "[User]: first\n[User]: second\n[User]: third");
}

/// The compaction of a branch that breaks off in its file. A host that may have more of it in memory
/// is asked for that; here it has what the file has. Where nobody has more, the file counts.
fn compact_broken(session: &Session) -> Value {
    let call = Call::compact(session, session.last_id());
    let by_file = call.by_reference();
    assert_eq!(by_file["effects"][0]["level"], "warning", "{by_file}");
    let warning = by_file["effects"][0]["message"].as_str().expect("a text");
    assert!(warning.starts_with("Earlier entries are out of reach: "), "{warning}");
    let call = call.with("host", json!({ "name": "pi", "hasUI": false, "canInline": true }));
    let stale = call.by_reference();
    assert_eq!(stale["error"]["code"], "session-stale", "{stale}");
    let text = String::from_utf8(session.jsonl()).expect("UTF-8");
    let branch: Vec<Value> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).expect("an entry")).collect();
    let reply = answer(&call.bytes_with(
        json!({ "id": session.id, "cwd": session.cwd, "branch": branch, "labels": {} }),
    ));
    assert_eq!(reply["result"], by_file["result"]);
    reply["result"]["compaction"].clone()
}

#[test]
fn a_missing_parent_and_a_circle_end_the_branch() {
    let missing = Session::new()
        .user("nobody's child")
        .but(|entry| entry["parentId"] = "gone".into())
        .user("kept");
    assert_eq!(span_of(&compact_broken(&missing)), "[User]: nobody's child");

    let circle = Session::new()
        .user("one")
        .but(|entry| entry["parentId"] = "e0000003".into())
        .assistant("two")
        .user("three");
    assert_eq!(span_of(&compact_broken(&circle)), "[User]: one\n[Assistant]: two");

    let itself = Session::new()
        .user("one")
        .but(|entry| entry["parentId"] = entry["id"].clone())
        .user("kept");
    assert_eq!(span_of(&compact_broken(&itself)), "[User]: one");

    // Pi takes an empty id for none.
    let empty = Session::new().user("root").but(|entry| entry["parentId"] = "".into()).user("kept");
    let opened = pi_stet::session::Session::open(
        TempSession::of(&empty).path(),
        pi_stet::session::Reading::AsPi,
    );
    let opened = opened.expect("a session");
    assert_eq!(opened.branch(&pi_stet::session::Leaf::Last).expect("a branch").broken, None);
}

#[test]
fn unknown_types_roles_and_contents_keep_the_chain() {
    let session = Session::new()
        .user("one")
        .entry("future_thing", json!({ "x": { "y": [1] } }))
        .message(json!({ "role": "oracle", "content": "unheard of", "timestamp": 1 }))
        .message(json!({ "role": "user", "content": null, "timestamp": 1 }))
        .message(json!({ "role": "assistant", "timestamp": 1 }))
        .message(json!({ "role": "user", "content": [{ "type": "hologram" }, 5, null, author::text("two")], "timestamp": 1 }))
        .message(json!({ "role": "toolResult", "content": "a string", "timestamp": 1 }))
        .entry("message", json!({ "message": null }))
        .entry("compaction", json!({ "summary": null, "firstKeptEntryId": "e0000001" }))
        .user_string("three")
        .named("three")
        .user("kept")
        .named("kept")
        .compacted("kept");
    let expected = "[User]: one\n[User]: two\n[User]: three";
    assert_eq!(last_span(session.last_summary()), expected);
}

#[test]
fn abandoned_branches_are_never_read_for_content() {
    let session = Session::new()
        .user("one")
        .named("fork")
        .assistant("abandoned answer")
        .user("abandoned request")
        .compacted("e0000002")
        .at("fork")
        .assistant("two")
        .user("kept")
        .named("kept")
        .compacted("kept");
    assert!(session.summaries()[0].contains("[User]: one"));
    let summary = session.last_summary();
    assert_eq!(last_span(summary), "[User]: one\n[Assistant]: two");
    assert_eq!(spans(summary)[0].n, "1", "the other branch's span does not count");
    assert!(!summary.contains("abandoned"));
}

#[test]
fn edits_count_as_the_model_saw_them() {
    let session = Session::new()
        .user("said")
        .named("said")
        .assistant("omitted")
        .named("omitted")
        .call("bash", json!({ "command": "make" }))
        .ok("omitted output")
        .named("result")
        .replace("said", "replaced twice")
        .replace("said", "replaced")
        .omit("omitted")
        .omit("result")
        .user("kept")
        .named("kept")
        .compacted("kept")
        // An edit of what was compacted changes no stored span.
        .omit("said")
        .user("more")
        .user("later")
        .named("later")
        .compacted("later");
    let texts: Vec<&str> = spans(session.last_summary()).iter().map(|span| span.text).collect();
    assert_eq!(
        texts,
        [
            "[User]: replaced\n[Assistant tool calls]: bash(command=\"make\") [unknown]",
            "[User]: kept\n[User]: more"
        ]
    );
}
