//! `pi-stet compact --cap` and `pi-stet status`: what a person at the terminal gets.

use serde_json::json;
use snapbox::{assert_data_eq, str};

use crate::support::call::{Output, TempSession, run, run_with};
use crate::support::session::Session;

/// Two compactable rounds, a startup read, a pin, a setting; the last message is kept.
fn session() -> Session {
    Session::new()
        .user("Begin.")
        .call("read", json!({ "path": "AGENTS.md" }))
        .ok("Read notes.md first.")
        .call("read", json!({ "path": "notes.md" }))
        .ok("Note 1: no umbrellas.")
        .user("What is the rule?")
        .named("rule")
        .label("rule", Some("keep: the rule"))
        .assistant(&"No umbrellas. ".repeat(120))
        .state("stet.cap", json!({ "mode": "on", "budget": { "unit": "percent", "value": 10 } }))
        .user("kept")
        .named("kept")
}

fn pi_stet(session: &Session, arguments: &[&str]) -> Output {
    let file = TempSession::of(session);
    let path = file.path().to_str().expect("a path");
    let mut all = vec![arguments[0], path];
    all.extend(&arguments[1..]);
    run(&all, b"", file.path().parent().expect("a folder"))
}

fn compacted_with(arguments: &[&str]) -> Output {
    let session = session();
    let kept = session.id_of("kept");
    pi_stet(&session, &[&["compact", "--first-kept", &kept], arguments].concat())
}

#[test]
fn compact_trims_to_a_budget_of_characters() {
    let output = compacted_with(&["--cap", "1200c"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let (_, conversation) = output.stdout.split_once("\n\n<compacted-span").expect("a span");
    assert_data_eq!(
        format!("<compacted-span{conversation}"),
        str![[r#"
<compacted-span n="1" covers="2026-01-05T09:00:01.000Z → 2026-01-05T09:00:08.000Z" compacted-at="[..]" trigger="manual" trimmed="true">
(Trimmed to fit the size cap: lines are missing or cut. They are in the session, entries e0000001 to e0000008.)
[User]: Begin.
[User]: What is the rule?
</compacted-span>

<retained-startup-reads note="outputs of the first reads, as they were then; files may have changed since">
<startup-read path="notes.md" entry="e0000005">
Note 1: no umbrellas.
</startup-read>
</retained-startup-reads>

<pinned-entries note="entries that the user labelled keep">
<pinned entry="e0000006" what="user" label="keep: the rule">
What is the rule?
</pinned>
</pinned-entries>

<read-files note="only read; unless annotated, no retained read-tool output identified">
AGENTS.md
notes.md (startup read retained)
</read-files>

Compaction 1 (manual, [..]): 7 entries became span 1; the context held about 1,025 tokens before.
This checkpoint is not smaller than what it replaces.

Everything above is a record: labels and lists say what was recorded by the time of this checkpoint, not how files, builds or tests are now. Changes by shell commands or from outside are not tracked.

The checkpoint ends here. The conversation goes on below, word for word, from 2026-01-05T09:00:10.000Z on.

"#]]
    );
}

#[test]
fn a_share_of_the_window_is_the_tokens_and_the_characters_it_stands_for() {
    let time = |output: Output| {
        assert_eq!(output.status, 0, "{}", output.stderr);
        let at =
            output.stdout.split("compacted-at=\"").nth(1).and_then(|rest| rest.split('"').next());
        output.stdout.replace(at.expect("a time"), "NOW")
    };
    let characters = time(compacted_with(&["--cap", "1200c"]));
    assert!(characters.contains("trimmed=\"true\""));
    assert_eq!(time(compacted_with(&["--cap", "300t"])), characters);
    assert_eq!(time(compacted_with(&["--cap", "10%", "--context-window", "3000"])), characters);
    let whole = time(compacted_with(&["--cap", "off"]));
    assert!(!whole.contains("trimmed=\"true\""));
    assert_eq!(time(compacted_with(&[])), whole);
    assert_eq!(time(compacted_with(&["--cap", "25%", "--context-window", "200000"])), whole);
}

#[test]
fn a_budget_that_is_none_is_said_in_one_line() {
    let output = compacted_with(&["--cap", "much"]);
    assert_eq!((output.status, output.stdout.as_str()), (2, ""));
    assert_data_eq!(
        output.stderr,
        str![[r#"
pi-stet: --cap "much" is none of: off, 80000c (characters), 20000t (tokens), 25% (of the context window); `pi-stet compact --help` shows its options

"#]]
    );
    let output = compacted_with(&["--cap", "25%"]);
    assert_eq!((output.status, output.stdout.as_str()), (2, ""));
    assert_data_eq!(
        output.stderr,
        str![[r#"
pi-stet: --cap 25% is a share of a window that is not known: give --context-window N; `pi-stet compact --help` shows its options

"#]]
    );
}

#[test]
fn status_before_and_after_a_compaction() {
    let before = session();
    let arguments = ["status", "--keep-recent-tokens", "1", "--context-window", "3000"];
    assert_data_eq!(
        pi_stet(&before, &arguments).stdout,
        str![[r#"
method      verbatim (from default)
cap         on 10% (from this branch)
last        this branch was not compacted yet
next        1,025 tokens in context; a checkpoint of about [..] and the recent conversation would stay (trimmed by the cap)
pinned      1 entry: e0000006 (user, keep: the rule)
retained    1 startup read: notes.md (e0000005)

"#]]
    );
    let unknown = pi_stet(&before, &arguments[..3]).stdout;
    let (_, next) = unknown.split_once("next        ").expect("a line about the next compaction");
    assert_data_eq!(
        next.lines().next().expect("its line"),
        str![
            "1,025 tokens in context; a checkpoint of about [..] and the recent conversation would stay (the cap of 10% aside: --context-window N says of how much)"
        ]
    );

    let after = before.compacted_with("kept", |call| {
        call.with("model", json!({ "provider": "fake", "id": "fake-1", "contextWindow": 3000 }))
    });
    assert_data_eq!(
        pi_stet(&after, &arguments).stdout,
        str![[r#"
method      verbatim (from default)
cap         on 10% (from this branch)
last        compaction 1, stet.verbatim, 2026-01-05T09:00:11.000Z: 50,000 → about [..] tokens
next        nothing to compact: the branch already ends in a compaction
pinned      1 entry: e0000006 (user, keep: the rule)
retained    1 startup read: notes.md (e0000005)

"#]]
    );
}

#[test]
fn status_of_a_mixed_context_and_of_the_summary_method() {
    let session = session().compaction_of_pi("## Goal\nNo umbrellas.", "kept").user("And now?");
    let arguments = ["status", "--keep-recent-tokens", "1", "--context-window", "3000"];
    let status = pi_stet(&session, &arguments).stdout;
    assert!(status.contains("\nmixed       a summary that a model wrote of 2026-01-05T09:00:11.000Z is part of the context; /compaction-method verbatim rebuild replaces it\n"), "{status}");
    let asked = session
        .clone()
        .state("stet.method", json!({ "method": "verbatim", "rebuild": true }))
        .user("more");
    let status = pi_stet(&asked, &arguments).stdout;
    assert!(
        status.contains(
            " is part of the context until the next compaction, which replaces it word for word\n"
        ),
        "{status}"
    );
    let summary = session.state("stet.method", json!({ "method": "summary" })).user("more");
    let status = pi_stet(&summary, &arguments).stdout;
    assert!(status.starts_with("method      summary (from this branch)\n"), "{status}");
    assert!(status.contains("\nnext        a model would write a summary\n"), "{status}");
}

#[test]
fn compact_does_what_holds_on_the_branch() {
    let kept = session().id_of("kept");
    let compact = |session: &Session, arguments: &[&str]| {
        pi_stet(session, &[&["compact", "--first-kept", &kept], arguments].concat())
    };
    // The session's own cap of 10%, once the window is known; before, that it is not.
    let capped = compact(&session(), &["--context-window", "3000"]);
    assert!(capped.stdout.contains("trimmed=\"true\""), "{}", capped.stdout);
    let unknown = compact(&session(), &[]);
    assert!(!unknown.stdout.contains("trimmed=\"true\""));
    assert!(
        unknown.stderr.contains("the cap is 10% of a window that is not known"),
        "{}",
        unknown.stderr
    );
    // A cap that would ask.
    let warn = json!({ "mode": "warn", "budget": { "unit": "chars", "value": 1200 } });
    let warned = compact(&session().state("stet.cap", warn), &[]);
    assert!(!warned.stdout.contains("trimmed=\"true\""));
    assert!(
        warned.stderr.contains("over the cap of 1200c: in Pi you would be asked"),
        "{}",
        warned.stderr
    );
    // The method.
    let noted = session().state("stet.method", json!({ "method": "checkpoint" }));
    assert!(compact(&noted, &["--json"]).stdout.contains("\"kind\":\"stet.checkpoint\""));
    assert!(
        compact(&noted, &["--json", "--method", "verbatim"])
            .stdout
            .contains("\"kind\":\"stet.verbatim\"")
    );
    let summary = compact(&session().state("stet.method", json!({ "method": "summary" })), &[]);
    assert_eq!((summary.status, summary.stdout.as_str()), (2, ""));
    assert!(
        summary.stderr.contains("the method is summary (from this branch)"),
        "{}",
        summary.stderr
    );
}

#[test]
fn compact_and_status_follow_the_environment() {
    let session = Session::new()
        .user("Begin.")
        .assistant(&"No umbrellas. ".repeat(120))
        .user("kept")
        .named("kept");
    let file = TempSession::of(&session);
    let path = file.path().to_str().expect("a path");
    let kept = session.id_of("kept");
    let compact = |variables: &[(&str, &str)]| {
        run_with(
            variables,
            &["compact", path, "--first-kept", &kept, "--json"],
            b"",
            std::path::Path::new("."),
        )
    };
    let noted = compact(&[("PI_STET_METHOD", "checkpoint")]);
    assert!(noted.stdout.contains("\"kind\":\"stet.checkpoint\""), "{}", noted.stderr);
    let warned = compact(&[("PI_STET_MAX_SUMMARY_CHARS", "600")]);
    assert!(warned.stderr.contains("over the cap of 600c"), "{}", warned.stderr);
    let bad = compact(&[("PI_STET_METHOD", "\u{1b}]0;title\u{7}")]);
    assert_eq!(bad.status, 0);
    assert!(
        bad.stderr.contains("PI_STET_METHOD is") && !bad.stderr.contains('\u{1b}'),
        "{}",
        bad.stderr
    );
}

#[test]
fn a_bad_use_of_a_search_says_what_to_do() {
    let session = session();
    for (arguments, status, says) in [
        (&["grep"][..], 2, "--terms WORDS"),
        (&["grep", "rule", "--page", "0"], 2, "--page counts from 1"),
        (&["list", "--page", "0"], 2, "--page counts from 1"),
        (&["list", "--through-entry", "nowhere"], 1, "no entry \"nowhere\""),
        (&["grep", "rule", "--through-entry", "nowhere"], 1, "no entry \"nowhere\""),
        (&["show", "e0000001", "--through-entry", "nowhere"], 1, "no entry \"nowhere\""),
    ] {
        let output = pi_stet(&session, arguments);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (status, ""),
            "{arguments:?}: {}",
            output.stderr
        );
        assert!(output.stderr.contains(says), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    }
}

#[test]
#[cfg(unix)]
fn doctor_asks_the_chosen_binary_for_its_manifest() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let program = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        path.to_str().expect("a path").to_owned()
    };
    let other = program("other", "#!/bin/sh\necho '{\"protocol\":7}'\n", 0o755);
    let none = program("none", "#!/bin/sh\necho hello\n", 0o755);
    let text = program("text", "{\"protocol\":1}", 0o644);
    let ours = crate::support::call::binary();
    for (path, says) in [
        (other.as_str(), "other, which speaks protocol 7; this one speaks 1\n"),
        (&none, "none, which prints no manifest when it is asked for one\n"),
        (&text, "text, which prints no manifest when it is asked for one\n"),
        (folder.path().to_str().expect("a path"), ", which is no file\n"),
    ] {
        let output = run_with(&[("PI_STET_BIN", path)], &["doctor"], b"", folder.path());
        assert!(
            output.stdout.contains(&format!("{path}, which")) && output.stdout.contains(says),
            "{}",
            output.stdout
        );
        assert_eq!(output.status, 1);
    }
    let path = ours.to_str().expect("a path");
    let output = run_with(&[("PI_STET_BIN", path)], &["doctor"], b"", folder.path());
    assert!(output.stdout.contains(&format!("ok     PI_STET_BIN {path}\n")), "{}", output.stdout);
}
