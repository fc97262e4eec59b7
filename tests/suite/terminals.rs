//! What a terminal would obey never reaches one: not from a session, a name, an argument or the
//! environment, in what commands print and in what a host is given to show.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::author;
use crate::support::call::{Call, TempSession, binary, run, run_with};
use crate::support::session::Session;

/// What a terminal would obey: title, colours, cursor, clipboard, direction of writing.
const CONTROLS: &str =
    "\u{1b}]0;title\u{7}\u{1b}[31m\u{1b}[2J\u{9b}5n\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}\u{7f}\u{8}";

/// Controls in every place that a file has.
fn controlled() -> Session {
    Session::new()
        .user(&format!("begin {CONTROLS}"))
        .named("begin")
        .call("read", json!({ "path": "AGENTS.md" }))
        .ok(&format!("Read {CONTROLS}.md {CONTROLS}"))
        .call("read", json!({ "path": format!("{CONTROLS}.md") }))
        .ok(&format!("notes {CONTROLS}"))
        .label("begin", Some(&format!("keep: {CONTROLS}")))
        .call(&format!("tool{CONTROLS}"), json!({ format!("key{CONTROLS}"): CONTROLS }))
        .error(CONTROLS)
        .bash(&format!("echo {CONTROLS}"), 0)
        .custom_message(&format!("type{CONTROLS}"), CONTROLS)
        .branch_summary(CONTROLS)
        .state(&format!("state{CONTROLS}"), json!({ CONTROLS: CONTROLS }))
        .system("prompt")
        .but(|entry| entry["message"]["sections"] = json!({ format!("name{CONTROLS}"): CONTROLS }))
        .user_blocks(vec![author::image(&format!("image/{CONTROLS}"), "AAAA")])
        .entry(&format!("type{CONTROLS}"), json!({ CONTROLS: CONTROLS }))
        .compaction(
            CONTROLS,
            "begin",
            json!({ "details": { "kind": CONTROLS, "readFiles": [CONTROLS], "modifiedFiles": [CONTROLS] } }),
        )
        .user("more")
        .user("kept")
        .named("kept")
}

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || c == '\t' || (!c.is_control() && c != '\u{202e}'))
}

#[test]
fn the_shell_prints_no_controls_of_a_session() {
    let session = controlled();
    let file = TempSession::of(&session);
    let path = file.path().to_str().expect("a path");
    let ids: Vec<String> =
        session.entries().map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect();
    for id in &ids {
        let output = run(&["show", path, id], b"", Path::new("."));
        let printed = output.stdout + &output.stderr;
        assert!(is_harmless(&printed), "show {id}: {printed:?}");
    }
    for arguments in [
        &["list", path][..],
        &["grep", path, "."],
        &["grep", path, "--terms", "begin notes"],
        &["grep", path, CONTROLS],
        &["grep", path, "--tool", CONTROLS, "."],
        &["status", path],
        &["status", path, "--keep-recent-tokens", "1"],
        &["verify", path],
        &["compact", path, "--first-kept", CONTROLS],
        &["compact", path, "--cap", CONTROLS],
        &["show", path, CONTROLS],
        &["list", path, "--in", CONTROLS],
        &["list", CONTROLS],
        &["report", path, "-o", &format!("{CONTROLS}/x")],
        &["report", CONTROLS, "-o", "-"],
        &[CONTROLS],
        &["schema", CONTROLS],
    ] {
        let output = run(arguments, b"", Path::new("."));
        assert!(is_harmless(&output.stdout), "{arguments:?}: {:?}", output.stdout);
        assert!(is_harmless(&output.stderr), "{arguments:?}: {:?}", output.stderr);
    }
    for name in [
        "PI_STET_METHOD",
        "PI_STET_MAX_SUMMARY_CHARS",
        "MECH_COMPACT_METHOD",
        "PI_STET_BIN",
        "PI_CODING_AGENT_DIR",
    ] {
        for arguments in [&["status", path][..], &["doctor"]] {
            let output = run_with(&[(name, CONTROLS)], arguments, b"", Path::new("."));
            assert!(is_harmless(&output.stderr), "{name}: {:?}", output.stderr);
        }
    }
}

/// A checkpoint is what was said, word for word, in a file or a pipe; a terminal would obey it.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_no_controls_and_a_pipe_gets_every_letter() {
    let session = controlled();
    let file = TempSession::of(&session);
    let (path, kept) = (file.path().to_str().expect("a path"), session.id_of("kept"));
    let session_without_its_base = ["compact", path, "--first-kept", &kept, "--method", "verbatim"];
    let piped = run(&session_without_its_base, b"", Path::new(".")).stdout;
    assert!(piped.contains(CONTROLS), "{piped:?}");
    let script =
        "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let shown = Command::new("python3")
        .args(["-c", script])
        .arg(binary())
        .args(session_without_its_base)
        .output()
        .expect("Python makes the terminal");
    let shown = String::from_utf8(shown.stdout).expect("UTF-8").replace("\r\n", "\n");
    assert!(shown.contains("\\x1b]0;title\\x07"), "{shown:?}");
    assert!(is_harmless(&shown), "{shown:?}");
}

/// Of a session whose compactions are damaged as well: what is wrong is named by names of the file.
#[test]
fn a_problem_is_one_line_without_controls() {
    let id = format!("{CONTROLS}\n1 verbatim compaction: all of it holds");
    let session = Session::new()
        .user("begin")
        .user("kept")
        .named("kept")
        .compacted("kept")
        .but(|entry| {
            entry["details"]["span"]["items"][0][1] = id.clone().into();
            entry["id"] = id.clone().into();
        })
        .user("end");
    let file = TempSession::of(&session);
    let output = run(&["verify", file.path().to_str().expect("a path")], b"", Path::new("."));
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(is_harmless(&output.stdout) && is_harmless(&output.stderr), "{:?}", output.stdout);
    assert!(output.stdout.lines().count() > 0);
    for line in output.stdout.lines() {
        assert!(line.starts_with("compaction ") && line.chars().count() <= 601, "{line}");
    }
}

#[test]
fn a_report_names_its_file_without_controls() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = TempSession::of(&controlled());
    let path = file.path().to_str().expect("a path");
    let name = "\u{1b}[2Jmap\nforged.html";
    let output = run(&["report", path, "-o", name], b"", folder.path());
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(folder.path().join(name).exists());
    assert!(output.stderr.starts_with("pi-stet: \\x1b[2Jmap\\nforged.html, "), "{}", output.stderr);
    assert!(is_harmless(&output.stderr) && output.stderr.lines().count() == 1);
}

/// What a host shows to a person, as the event comes to it.
#[test]
fn a_host_is_given_no_controls_to_show() {
    let session = controlled();
    let tight = json!({ "cap": { "mode": "warn", "budget": { "unit": "chars", "value": 10 } } });
    let compact = Call::compact(&session, "kept");
    let host = json!({ "name": "pi", "hasUI": true, "mode": "tui" });
    let bad = json!({ "method": CONTROLS, "cap": { "mode": CONTROLS }, "trimTo": CONTROLS });
    let command = |name: &str, args: &str| {
        Call::new("command", &session).with("payload", json!({ "name": name, "args": args }))
    };
    let compacted = controlled().compacted("kept");
    let done = json!({
        "compactionId": compacted.last_id(), "fromExtension": true, "answered": true,
        "reason": "manual", "willRetry": false,
    });
    let failed = json!({ "reason": "manual", "aborted": false, "errorMessage": CONTROLS });
    let mut shown = 0;
    for call in [
        Call::new("session_start", &session)
            .with("payload", json!({ "reason": "resume" }))
            .with("settings", bad.clone()),
        Call::new("session_tree", &session).with("settings", bad),
        compact.with("settings", tight).with("host", host),
        Call::new("session_compact", &compacted).with("payload", done),
        Call::new("session_compact_failed", &session).with("payload", failed),
        command("stet", ""),
        command("stet", CONTROLS),
        command("compaction-method", CONTROLS),
        command("cap-compaction", CONTROLS),
        command("checkpoint", CONTROLS),
    ] {
        let reply = call.both();
        assert!(reply.get("error").is_none(), "{reply}");
        let effects = reply["effects"].as_array().into_iter().flatten();
        let texts =
            effects.filter(|effect| effect["type"] != "appendEntry").chain(reply.get("ask"));
        for text in texts.flat_map(texts_in) {
            assert!(is_harmless(text), "{}: {text:?}", call.envelope["event"]);
            shown += 1;
        }
    }
    assert!(shown > 20, "{shown} texts");
}

/// Hosts draw the answers of tools, too, and a model writes what it read somewhere.
#[test]
fn tools_answer_without_controls() {
    let session = controlled();
    let ids = json!(session.entries().map(|entry| entry["id"].clone()).collect::<Vec<_>>());
    for (name, params) in [
        ("context_list_entries", json!({})),
        ("context_list_entries", json!({ "in": [CONTROLS], "tool": CONTROLS })),
        ("context_list_entries", json!({ "throughEntry": CONTROLS })),
        ("context_grep", json!({ "pattern": CONTROLS })),
        ("context_grep", json!({ "pattern": format!("({CONTROLS}") })),
        ("context_grep", json!({ "terms": CONTROLS })),
        ("context_grep", json!({ "pattern": ".", "in": CONTROLS })),
        ("context_grep", json!({ "pattern": ".", CONTROLS: CONTROLS })),
        ("context_show_entry", json!({ "ids": [CONTROLS] })),
        ("context_show_entry", json!({ "ids": ids })),
        ("context_lookup", json!({ "question": CONTROLS })),
        ("checkpoint_update", json!({ "text": CONTROLS })),
    ] {
        let payload = json!({ "name": name, "toolCallId": "call_1", "params": params });
        let reply = Call::new("tool", &session).without("model").with("payload", payload).both();
        let texts = texts_in(&reply["result"]["content"]);
        assert!(texts.iter().all(|text| is_harmless(text)), "{name} {params}: {texts:?}");
        assert!(!texts.is_empty() || reply.get("complete").is_some(), "{name}: {reply}");
    }
}

/// Every text in a value.
fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_in).collect(),
        _ => Vec::new(),
    }
}
