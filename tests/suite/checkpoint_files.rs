//! Checkpoint files: what the tool and the end of a turn write, and when a file is read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::author::{BEGIN_MS, header};
use crate::support::call::{Call, TempSession, answer};
use crate::support::noted::{section, tier};
use crate::support::session::Session;

/// Pi's folder for its files.
struct Agent(TempDir);

impl Agent {
    fn new() -> Agent {
        Agent(tempfile::tempdir().expect("a folder"))
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("checkpoints")
    }

    fn file(&self, session: &Session) -> PathBuf {
        self.folder().join(format!("{}.md", session.id))
    }

    fn text(&self, session: &Session) -> String {
        fs::read_to_string(self.file(session)).expect("the checkpoint's file")
    }

    /// A file as somebody left it at this time.
    fn put(&self, name: &str, text: &str, at_ms: i64) {
        fs::create_dir_all(self.folder()).expect("a folder");
        let path = self.folder().join(name);
        fs::write(&path, text).expect("room");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(at_ms as u64);
        fs::File::open(&path).and_then(|file| file.set_modified(time)).expect("a time");
    }

    fn call(&self, event: &str, session: &Session) -> Call {
        Call::new(event, session)
            .with("host", json!({ "name": "pi", "agentDir": self.0.path() }))
            .with("settings", json!({ "method": "checkpoint" }))
    }

    fn turn_end(&self, session: &Session) -> Value {
        self.call("turn_end", session).by_reference()
    }

    fn compact(&self, session: &Session) -> Value {
        let cut = json!({ "firstKeptEntryId": session.id_of("kept"), "isSplitTurn": false, "tokensBefore": 1 });
        self.call("session_before_compact", session)
            .with("cut", cut)
            .with("payload", json!({ "reason": "manual" }))
            .by_reference()
    }

    /// The model's call is the newest entry of the session.
    fn tool(&self, session: &Session, text: &str) -> Call {
        let payload = json!({ "name": "checkpoint_update", "toolCallId": "call_1", "params": { "text": text } });
        self.call("tool", session).with("payload", payload)
    }
}

fn calling(text: &str) -> Session {
    Session::new().user("the first request").call("checkpoint_update", json!({ "text": text }))
}

fn shown(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn kept(session: Session) -> Session {
    session.user("kept").named("kept")
}

fn summary(reply: &Value) -> &str {
    reply["result"]["compaction"]["summary"].as_str().unwrap_or_else(|| panic!("none: {reply}"))
}

#[test]
fn the_tool_writes_a_private_file_that_says_who_when_and_up_to_where() {
    let agent = Agent::new();
    let session = calling("## GOAL\nship it");
    let reply = agent.tool(&session, "## GOAL\nship it").by_reference();
    assert!(shown(&reply).starts_with("Checkpoint kept: 15 characters."), "{reply}");
    assert_eq!(reply["result"].get("isError"), None);
    let text = agent.text(&session);
    let first = text.lines().next().expect("a line");
    let comment = first.strip_prefix("<!-- stet:checkpoint ").and_then(|l| l.strip_suffix(" -->"));
    let comment: Value = serde_json::from_str(comment.expect("a comment")).expect("JSON");
    assert_eq!(comment["author"], "model");
    assert_eq!(comment["covered"], session.last_id());
    assert_eq!(comment["at"], "2026-01-05T09:00:02.000Z");
    assert!(text.contains("\n## GOAL\nship it\n"), "{text}");
    assert_eq!(mode(&agent.folder()), 0o700);
    assert_eq!(mode(&agent.file(&session)), 0o600);
    let names: Vec<_> = fs::read_dir(agent.folder()).expect("a folder").collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
}

#[test]
fn an_open_folder_of_the_older_extension_is_closed() {
    let agent = Agent::new();
    fs::create_dir(agent.folder()).expect("a folder");
    fs::set_permissions(agent.folder(), fs::Permissions::from_mode(0o755)).expect("a mode");
    agent.turn_end(&calling("x").ok("kept"));
    assert_eq!(mode(&agent.folder()), 0o700);
}

#[test]
fn an_empty_text_and_a_call_from_a_script_are_refused() {
    let agent = Agent::new();
    for (session, text) in
        [(calling("  \n"), "  \n"), (Session::new().user("x").assistant("y"), "text")]
    {
        let reply = agent.tool(&session, text).both();
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        assert!(!agent.file(&session).exists());
    }
}

#[test]
fn too_long_a_text_is_kept_as_far_as_it_goes_and_the_model_is_told() {
    let agent = Agent::new();
    let text = "x".repeat(6100);
    let reply = agent.tool(&calling(&text), &text).by_reference();
    assert!(shown(&reply).contains("6,000") && shown(&reply).contains("6,100"), "{reply}");
}

#[test]
fn without_a_tool_call_the_file_has_the_goal_and_what_happened() {
    let agent = Agent::new();
    let session = Session::new()
        .user("the first request")
        .assistant("I begin.")
        .user("the newest request")
        .call("bash", json!({ "command": "make" }))
        .error("no rule")
        .assistant("It failed.");
    assert_eq!(agent.turn_end(&session), json!({ "protocol": 1 }));
    let text = agent.text(&session);
    for part in [
        "\"author\":\"harness\"",
        "## Goal\nNewest request [e0000003]: the newest request\nFirst request [e0000001]: the first request\n",
        "## Recent activity\n",
        "[ASSISTANT] It failed.",
        "[TOOL-ERROR] bash make: no rule [e0000005]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The goal follows what is asked.
    let session = session.user("something else entirely").assistant("Yes.");
    agent.turn_end(&session);
    let text = agent.text(&session);
    assert!(text.contains("Newest request [e0000007]: something else entirely"), "{text}");
}

#[test]
fn the_models_text_stays_to_the_letter_and_activity_gives_way() {
    let agent = Agent::new();
    let note = format!("## Recent activity [harness-recorded, turn 1]\n{}", "n".repeat(5900));
    let mut session = calling(&note).ok("kept");
    for n in 0..30 {
        session = session.turn(&format!("request {n}"), "make", "done");
        agent.turn_end(&session);
    }
    let text = agent.text(&session);
    assert!(text.contains(&format!("-->\n{note}\n\n<!-- stet:activity ")), "{text}");
    let short = calling("short").ok("kept").turn("request", "make", "done");
    agent.turn_end(&short);
    let text = agent.text(&short);
    let marks: usize = text.lines().filter(|l| l.starts_with("<!-- ")).map(|l| l.len() + 1).sum();
    assert!(text.chars().count() - marks <= 6000);
    assert_eq!(text.matches("## Recent activity").count(), 1, "{text}");
    assert!(text.contains("[USER e0000004] request"), "{text}");
}

#[test]
fn a_turn_that_ends_after_a_note_keeps_the_note() {
    let agent = Agent::new();
    let session = calling("FIRST").ok("kept").assistant("x").note("SECOND");
    agent.turn_end(&session);
    assert!(agent.text(&session).contains("\nSECOND\n"));
    assert!(!agent.text(&session).contains("FIRST"));
}

#[test]
fn a_session_in_memory_and_a_dry_run_write_no_file() {
    let agent = Agent::new();
    let session = calling("THE NOTE");
    let in_memory = agent.tool(&session, "THE NOTE").inline();
    assert!(shown(&in_memory).starts_with("Checkpoint kept"), "{in_memory}");
    agent.call("turn_end", &session).inline();
    agent.tool(&session, "THE NOTE").with("dryRun", json!(true)).by_reference();
    agent.call("turn_end", &session).with("dryRun", json!(true)).by_reference();
    assert!(!agent.folder().exists());
}

#[test]
fn turn_end_writes_only_where_a_checkpoint_is_kept() {
    let agent = Agent::new();
    let session = calling("THE NOTE").ok("kept");
    for (method, on, writes) in
        [("verbatim", false, false), ("summary", true, false), ("verbatim", true, true)]
    {
        let settings = json!({ "method": method, "checkpoint": on });
        agent.call("turn_end", &session).with("settings", settings).by_reference();
        assert_eq!(agent.file(&session).exists(), writes, "{method} {on}");
    }
}

#[test]
fn a_session_id_that_leads_elsewhere_is_refused() {
    let agent = Agent::new();
    let outside = agent.0.path().join("AGENTS.md");
    fs::write(&outside, "mine").expect("room");
    for id in ["../AGENTS", "..", ".hidden", "a/b", "", "a\u{0}b", "-", &"x".repeat(300)] {
        let mut session = calling("THE NOTE").header(header(id, "/home/dev/app"));
        session.id = id.to_owned();
        let reply = agent.tool(&session, "THE NOTE").by_reference();
        assert!(shown(&reply).contains("could not be written"), "{id:?}: {reply}");
        assert_eq!(agent.turn_end(&session)["error"]["code"], "unwritable", "{id:?}");
        let text = agent.compact(&kept(session.ok("kept")));
        assert!(summary(&text).contains("THE NOTE"), "the session has it all the same");
    }
    assert_eq!(fs::read_to_string(&outside).expect("it is there"), "mine");
    assert!(!agent.folder().exists(), "nothing was made for a name that is refused");
}

#[test]
fn a_parent_that_leads_elsewhere_is_not_read() {
    let agent = Agent::new();
    fs::create_dir_all(agent.folder().join("inner")).expect("a folder");
    for name in ["secret.md", "checkpoints/.hidden.md", "checkpoints/inner/secret.md"] {
        fs::write(agent.0.path().join(name), "SECRET").expect("room");
    }
    let own = agent.0.path().to_str().expect("a path");
    for parent in [
        "/s/2026-01-05T09-00-00-000Z_../secret.jsonl",
        "/s/2026-01-05T09-00-00-000Z_inner/secret.jsonl",
        "/s/2026-01-05T09-00-00-000Z_.hidden.jsonl",
        "2026-01-05T09-00-00-000Z_..\\secret.jsonl",
        "/s/x_\u{0}.jsonl",
        &format!("{own}/secret.md"),
        "..",
        "",
    ] {
        let session = Session::new();
        let mut header = header(&session.id, "/home/dev/app");
        header["parentSession"] = json!(parent);
        let session = kept(session.header(header).user("one").assistant("two"));
        let reply = agent.compact(&session);
        assert!(summary(&reply).contains("[USER e0000001] one"), "{parent:?}: {reply}");
        assert!(!reply.to_string().contains("SECRET"), "{parent:?}: {reply}");
    }
}

#[test]
fn a_symbolic_link_is_neither_read_nor_written_through() {
    let agent = Agent::new();
    let session = calling("THE NOTE");
    fs::create_dir(agent.folder()).expect("a folder");
    let target = agent.0.path().join("target.md");
    fs::write(&target, "SECRET").expect("room");
    symlink(&target, agent.file(&session)).expect("a link");
    let reply = agent.tool(&session, "THE NOTE").by_reference();
    assert!(shown(&reply).contains("is not a plain file"), "{reply}");
    assert_eq!(agent.turn_end(&session)["error"]["code"], "unwritable");
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "SECRET");
    let without_a_call = kept(Session::new().user("one").assistant("two"));
    assert!(!summary(&agent.compact(&without_a_call)).contains("SECRET"));

    // The same for the folder, and for a pipe, at which a reader would wait for ever.
    fs::remove_dir_all(agent.folder()).expect("gone");
    let elsewhere = agent.0.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    symlink(&elsewhere, agent.folder()).expect("a link");
    assert_eq!(agent.turn_end(&session)["error"]["code"], "unwritable");
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    fs::remove_file(agent.folder()).expect("gone");
    fs::create_dir(agent.folder()).expect("a folder");
    let pipe = std::process::Command::new("mkfifo").arg(agent.file(&session)).status();
    assert!(pipe.expect("mkfifo").success());
    assert_eq!(agent.turn_end(&session)["error"]["code"], "unwritable");
    assert!(summary(&agent.compact(&without_a_call)).contains("[USER e0000001] one"));
}

// Which file counts when the branch has no call.

const MINUTE: i64 = 60_000;

/// One request and two steps of work; the last entry of the work is of 9:00:03.
fn worked() -> Session {
    Session::new().user("one").assistant("two").assistant("three").named("work")
}

fn after_the_work() -> i64 {
    BEGIN_MS + 3000
}

fn own(session: &Session) -> String {
    format!("{}.md", session.id)
}

#[test]
fn a_file_without_an_entry_is_fresh_within_a_minute_of_the_work() {
    for (at, fresh) in [
        (after_the_work(), true),
        (after_the_work() - 30_000, true),
        (after_the_work() - 2 * MINUTE, false),
    ] {
        let agent = Agent::new();
        let session = kept(worked());
        agent.put(&own(&session), "THE OLDER TEXT\n", at);
        let reply = agent.compact(&session);
        assert_eq!(tier(&reply) == 1, fresh, "{at}: {reply}");
        let (attributes, text) = section(summary(&reply), "checkpoint").expect("the anchor");
        assert_eq!(text, "THE OLDER TEXT");
        assert!(attributes.contains("written-by=\"unknown\""), "{attributes}");
    }
}

#[test]
fn a_file_that_a_harness_rewrote_is_never_fresh() {
    let agent = Agent::new();
    let session = kept(worked());
    let text = "## GOAL\nold\n\n## Recent activity [harness-recorded, turn 9, T]\n[USER] x\n";
    agent.put(&own(&session), text, after_the_work());
    let reply = agent.compact(&session);
    assert_eq!(tier(&reply), 2);
    assert_eq!(section(summary(&reply), "checkpoint").expect("the anchor").1, "## GOAL\nold");
    // The file is rewritten by us as well; the text stays in it, and stays what it is.
    agent.turn_end(&session);
    let file = agent.text(&session);
    assert!(
        file.contains("\"author\":\"older extension\"") && file.contains("\n## GOAL\nold\n"),
        "{file}"
    );
    assert!(!file.contains("harness-recorded"), "{file}");
    let again = agent.compact(&session);
    assert!(section(summary(&again), "checkpoint").expect("still").0.contains("older extension"));
}

#[test]
fn a_file_much_younger_than_the_session_says_nothing_about_what_it_knows() {
    let agent = Agent::new();
    let session = kept(worked());
    agent.put(&own(&session), "TOUCHED", after_the_work() + 60 * MINUTE);
    assert_eq!(tier(&agent.compact(&session)), 2);
}

#[test]
fn age_is_measured_against_the_sessions_last_entry_and_can_be_set() {
    let session = kept(worked());
    let seen = |age_hours: i64, settings: Value| {
        let agent = Agent::new();
        agent.put(&own(&session), "THE OLDER TEXT", after_the_work() - age_hours * 60 * MINUTE);
        let cut = json!({ "firstKeptEntryId": session.id_of("kept"), "isSplitTurn": false, "tokensBefore": 1 });
        let mut all = json!({ "method": "checkpoint" });
        all.as_object_mut().expect("an object").extend(settings.as_object().cloned().expect("one"));
        let reply = agent
            .call("session_before_compact", &session)
            .with("cut", cut)
            .with("settings", all)
            // A year later: the wall clock does not count.
            .with("now", json!(BEGIN_MS + 365 * 24 * 60 * MINUTE))
            .by_reference();
        summary(&reply).contains("THE OLDER TEXT")
    };
    assert!(seen(11, json!({})));
    assert!(!seen(13, json!({})));
    assert!(seen(13, json!({ "checkpointMaxAgeSeconds": 14 * 3600 })));
    assert!(!seen(11, json!({ "checkpointMaxAgeSeconds": 10 * 3600 })));
}

#[test]
fn a_call_on_the_branch_wins_over_every_file() {
    let agent = Agent::new();
    let session = kept(Session::new().user("one").note("FROM THE CALL"));
    agent.put(&own(&session), "FROM THE FILE", after_the_work());
    let reply = agent.compact(&session);
    assert!(
        summary(&reply).contains("FROM THE CALL") && !summary(&reply).contains("FROM THE FILE")
    );
}

#[test]
fn a_file_counts_only_on_the_branch_that_has_its_entry() {
    let agent = Agent::new();
    let session = Session::new().user("one").assistant("two").named("fork");
    let mut session = session.call("checkpoint_update", json!({ "text": "OF THE OTHER BRANCH" }));
    agent.tool(&session, "OF THE OTHER BRANCH").by_reference();
    // The result never came: the process ended. On its branch the file still counts.
    let here = kept(session.clone());
    let reply = agent.compact(&here);
    assert!(summary(&reply).contains("OF THE OTHER BRANCH"), "{reply}");
    session = kept(session.at("fork").assistant("here"));
    assert!(!summary(&agent.compact(&session)).contains("OTHER BRANCH"));
}

#[test]
fn the_shared_file_is_an_anchor_for_its_own_project_and_labelled() {
    let session = kept(worked());
    let shared = |cwd: &str| {
        let agent = Agent::new();
        let text = format!("<!-- stet:checkpoint {{\"cwd\":\"{cwd}\"}} -->\nSHARED TEXT\n");
        agent.put("active.md", &text, after_the_work());
        agent.compact(&session)
    };
    let ours = shared("/home/dev/app");
    assert_eq!(tier(&ours), 2, "never as if it were fresh");
    let (attributes, text) = section(summary(&ours), "checkpoint").expect("an anchor");
    assert_eq!(text, "SHARED TEXT");
    assert!(attributes.contains("shared between sessions"), "{attributes}");
    assert!(!summary(&shared("/home/dev/other")).contains("SHARED TEXT"));
    let agent = Agent::new();
    agent.put("active.md", "NOBODY SAYS WHOSE", after_the_work());
    assert!(!summary(&agent.compact(&session)).contains("NOBODY"));
    // And what is read as shared is not written as our own.
    let agent = Agent::new();
    agent.put(
        "active.md",
        "<!-- stet:checkpoint {\"cwd\":\"/home/dev/app\"} -->\nSHARED TEXT\n",
        after_the_work(),
    );
    agent.turn_end(&session);
    assert!(!agent.text(&session).contains("SHARED TEXT"));
}

#[test]
fn a_fork_reads_its_parents_file_where_the_entry_is_on_its_branch() {
    let agent = Agent::new();
    let parent = Session::new()
        .user("one")
        .assistant("two")
        .user("three")
        .call("checkpoint_update", json!({ "text": "OF THE PARENT" }));
    agent.tool(&parent, "OF THE PARENT").by_reference();
    let fork = |mut session: Session| {
        let mut header = header("fork-1", "/home/dev/app");
        header["parentSession"] = json!(format!("/s/2026-01-05T09-00-00-000Z_{}.jsonl", parent.id));
        session.id = "fork-1".into();
        session.header(header)
    };
    let reply = agent.compact(&kept(fork(parent.clone())));
    assert!(summary(&reply).contains("OF THE PARENT"), "{reply}");
    assert!(summary(&reply).contains("source=\"file of the parent session\""), "{reply}");
    let before = kept(fork(Session::new().user("one")));
    assert!(!summary(&agent.compact(&before)).contains("OF THE PARENT"));
}

// Recording and replay.

#[test]
fn a_recording_has_the_files_and_a_replay_needs_no_disk() {
    let agent = Agent::new();
    let session = kept(worked());
    agent.put(&own(&session), "THE OLDER TEXT\n", after_the_work() + 1);
    let cut = json!({ "firstKeptEntryId": session.id_of("kept"), "isSplitTurn": false, "tokensBefore": 1 });
    let call = agent.call("session_before_compact", &session).with("cut", cut);
    let recorded = call.with("record", json!(true));
    let mut reply = recorded.by_reference();
    let files = reply["resolved"]["files"].clone();
    assert_eq!(files[0]["role"], "checkpoint");
    assert_eq!(files[0]["text"], "THE OLDER TEXT\n");
    assert_eq!(files[0]["mtimeMs"].as_f64(), Some((after_the_work() + 1) as f64));
    let resolved = reply.as_object_mut().expect("an object").remove("resolved").expect("resolved");
    fs::remove_dir_all(agent.folder()).expect("gone");
    let replay = recorded
        .without("record")
        .with("settings", resolved["settings"].clone())
        .with("files", files)
        .with("dryRun", json!(true));
    assert_eq!(replay.inline(), reply);
}

#[test]
fn a_write_that_failed_replays_as_one() {
    let agent = Agent::new();
    fs::write(agent.folder(), "a file where the folder should be").expect("room");
    let session = calling("THE NOTE");
    for call in [agent.tool(&session, "THE NOTE"), agent.call("turn_end", &session)] {
        let call = call.with("record", json!(true));
        let mut reply = call.by_reference();
        let resolved =
            reply.as_object_mut().expect("an object").remove("resolved").expect("resolved");
        assert_eq!(resolved["files"][0]["role"], "checkpointNotWritten", "{resolved}");
        let replay = call
            .without("record")
            .with("settings", resolved["settings"].clone())
            .with("files", resolved["files"].clone())
            .with("dryRun", json!(true));
        assert_eq!(replay.inline(), reply);
    }
}

#[test]
fn two_hosts_on_one_session_leave_a_whole_file() {
    let agent = Agent::new();
    let session = calling("NOTE OF ONE").ok("kept");
    let file = TempSession::of(&session);
    let one = agent.call("turn_end", &session).reference_bytes(file.path());
    let other = calling("NOTE OF THE OTHER").ok("kept");
    let other_file = TempSession::of(&other);
    let two = agent.call("turn_end", &other).reference_bytes(other_file.path());
    std::thread::scope(|scope| {
        for bytes in [&one, &two] {
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(answer(bytes), json!({ "protocol": 1 }));
                }
            });
        }
        for _ in 0..200 {
            if let Ok(text) = fs::read_to_string(agent.file(&session)) {
                let whole = text.starts_with("<!-- stet:checkpoint ")
                    && text.contains("\n<!-- stet:activity ")
                    && text.ends_with('\n');
                assert!(whole, "{text}");
                assert_ne!(
                    text.contains("\nNOTE OF ONE\n"),
                    text.contains("\nNOTE OF THE OTHER\n"),
                    "{text}"
                );
            }
        }
    });
    assert_eq!(fs::read_dir(agent.folder()).expect("a folder").count(), 1);
}
