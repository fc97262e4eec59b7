//! `pi-stet compact --cap` and `pi-stet status`: what a person at the terminal gets.

use serde_json::json;
use snapbox::{assert_data_eq, str};

use crate::support::call::{Output, TempSession, run};
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
pi-stet: --cap "much" is none of: off, 80000c (characters), 20000t (tokens), 25% (of the context window); `pi-stet --help` shows every command and option

"#]]
    );
    let output = compacted_with(&["--cap", "25%"]);
    assert_eq!((output.status, output.stdout.as_str()), (2, ""));
    assert_data_eq!(
        output.stderr,
        str![[r#"
pi-stet: --cap 25% is a share of a window that is not known: give --context-window N; `pi-stet --help` shows every command and option

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
    assert!(unknown.contains("next        it would be cancelled: the cap is 10%, and the context window is not known\n"), "{unknown}");

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
