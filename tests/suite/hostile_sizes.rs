//! Sizes and shapes that only a hostile file has: no stack runs over, no memory is taken for what
//! is not kept, and what stands beside them is read. The large ones are `#[ignore]`d; they need
//! `cargo test --release --test suite -- --ignored hostile_sizes`.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use pi_stet::recovery::{GREP, LIST, SHOW};
use serde_json::{Value, json};

use crate::support::author;
use crate::support::call::{Call, TempSession, reply_within, run};
use crate::support::recover::try_ask_file;
use crate::support::session::Session;

const DEEP: usize = 100_000;

fn nested() -> String {
    "[".repeat(DEEP) + &"]".repeat(DEEP)
}

fn nested_objects() -> String {
    "{\"a\":".repeat(DEEP) + "1" + &"}".repeat(DEEP)
}

/// The line of an entry with `DEEP` in it as a text, that text replaced.
fn line(session: &Session, deep: &str) -> String {
    let entry = session.entries().last().expect("an entry").to_string();
    assert!(entry.contains("\"DEEP\""), "{entry}");
    entry.replace("\"DEEP\"", deep)
}

/// Every place of a line that can be nested; the entries around it are read as ever.
#[test]
fn deep_json_in_a_session() {
    for deep in [nested(), nested_objects()] {
        let begin = Session::new().user("before");
        let lines = [
            line(
                &begin.clone().user("DEEP"),
                &format!("[{{\"type\":\"text\",\"text\":\"deep words\"}},{deep}]"),
            ),
            line(&begin.clone().blocks(vec![author::call("c", "weather", json!("DEEP"))]), &deep),
            line(&begin.clone().message(json!({ "role": "user", "content": "DEEP" })), &deep),
            line(
                &begin
                    .clone()
                    .result("c", "weather", "x", Some(false))
                    .but(|e| e["message"]["details"] = "DEEP".into()),
                &deep,
            ),
            line(&begin.clone().state("stet.cap", json!("DEEP")), &deep),
            line(
                &begin.clone().entry(
                    "context_edit",
                    json!({ "targetId": "e0000001", "replacement": "DEEP" }),
                ),
                &deep,
            ),
            line(
                &begin.clone().compaction("A summary.", "e0000001", json!({ "details": "DEEP" })),
                &deep,
            ),
            line(&begin.clone().entry("future_thing", json!({ "x": "DEEP" })), &deep),
        ];
        for line in lines {
            let session = begin.clone().raw(line);
            // What follows builds on it.
            let session = session
                .user("after")
                .but(|entry| entry["parentId"] = "e0000002".into())
                .but(|entry| entry["id"] = "e0000009".into())
                .user("kept")
                .named("kept");
            let file = TempSession::of(&session);
            let field = json!({ "id": session.id, "cwd": session.cwd, "file": file.path(), "leafId": session.leaf_id() });
            let envelope = Call::compact(&session, "kept").bytes_with(field);
            let reply = reply_within(64, &envelope).expect("a reply");
            let summary = reply["result"]["compaction"]["summary"]
                .as_str()
                .unwrap_or_else(|| panic!("{reply:.500}"));
            assert!(summary.contains("[User]: after") && summary.len() < 20_000, "{summary:.3000}");
            for (tool, arguments) in [
                (LIST, json!({})),
                (GREP, json!({ "pattern": "after" })),
                (GREP, json!({ "terms": "after deep words" })),
                (SHOW, json!({ "ids": ["e0000002"] })),
            ] {
                let answer = try_ask_file(&session.jsonl(), session.leaf_id(), tool, arguments)
                    .expect("good");
                assert!(answer.found, "{tool}: {}", answer.text);
            }
        }
    }
}

#[test]
fn deep_json_in_an_envelope() {
    let session = Session::new().user("one").user("kept").named("kept");
    for field in [
        "host",
        "session",
        "cut",
        "model",
        "settings",
        "contextFiles",
        "payload",
        "answers",
        "completion",
        "state",
        "now",
        "unknown",
    ] {
        for deep in [nested(), nested_objects()] {
            let mut envelope: Value =
                serde_json::from_slice(&Call::compact(&session, "kept").inline_bytes())
                    .expect("JSON");
            envelope[field] = "DEEP".into();
            let text = envelope.to_string().replace("\"DEEP\"", &deep);
            let output = run(&["hook"], text.as_bytes(), Path::new("."));
            assert!([0, 2].contains(&output.status), "{field}: {}", output.status);
            let reply: Value = serde_json::from_str(&output.stdout).expect("one reply");
            assert_eq!(reply["protocol"], 1);
            assert!(output.stdout.len() < 20_000, "{field}: {:.300}", output.stdout);
        }
    }
    // Nothing but brackets.
    let output = run(&["hook"], "[".repeat(5_000_000).as_bytes(), Path::new("."));
    assert_eq!(output.status, 2, "{:.300}", output.stdout);
}

#[test]
fn parents_in_a_circle_and_of_themselves() {
    let line = |id: &str, parent: &str| {
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-05T09:00:00.000Z",
                "message": { "role": "user", "content": format!("I am {id}") } })
        .to_string()
    };
    for (lines, leaf) in [
        (vec![line("a", "a")], "a"),
        (vec![line("a", "b"), line("b", "a")], "b"),
        (vec![line("a", "d"), line("b", "a"), line("c", "b"), line("d", "c"), line("e", "d")], "e"),
    ] {
        let session = lines.into_iter().fold(Session::new(), |session, line| session.raw(line));
        let listed = try_ask_file(&session.jsonl(), Some(leaf), LIST, json!({})).expect("good");
        assert!(listed.found, "{}", listed.text);
        let file = TempSession::of(&session);
        let field =
            json!({ "id": session.id, "cwd": session.cwd, "file": file.path(), "leafId": leaf });
        let reply =
            reply_within(32, &Call::compact(&session, leaf).bytes_with(field)).expect("a reply");
        assert!(reply.to_string().contains("the parents of the branch form a circle"), "{reply}");
    }
}

/// The parents of one branch, the last lines of a file first: no order of them costs a stack.
#[test]
fn a_long_chain_of_parents_in_any_order() {
    const COUNT: usize = 100_000;
    let entry = |n: usize| {
        let parent = n.checked_sub(1).map(|n| format!("{n:08x}"));
        json!({ "type": "message", "id": format!("{n:08x}"), "parentId": parent, "timestamp": "2026-01-05T09:00:00.000Z",
                "message": { "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [], "isError": false } })
        .to_string()
    };
    let header = author::header("s", "/w").to_string();
    let forwards: Vec<usize> = (0..COUNT).collect();
    let backwards: Vec<usize> = (0..COUNT).rev().collect();
    for order in [forwards, backwards] {
        let lines: Vec<String> = order.into_iter().map(entry).collect();
        let file = TempSession::of_bytes(format!("{header}\n{}\n", lines.join("\n")).as_bytes());
        let leaf = format!("{:08x}", COUNT - 1);
        let path = file.path().to_str().expect("a path");
        let output = run(&["list", path, "--leaf", &leaf, "--json"], b"", Path::new("."));
        assert!(
            output.stdout.contains("100,000 entries, oldest first:"),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
}

/// Any text for an id, a time, a name, a path, a label: of all of them only the beginning counts.
#[test]
fn names_of_a_megabyte() {
    let long = "n".repeat(1 << 20);
    let session = Session::new()
        .user("begin")
        .but(|entry| entry["id"] = long.clone().into())
        .named("begin")
        .call(&long, json!({ &long: &long, "path": "x" }))
        .ok("done")
        .custom_message(&long, "body")
        .label("begin", Some(&format!("keep: {long}")))
        .user("kept")
        .but(|entry| entry["timestamp"] = long.clone().into())
        .named("kept");
    let summary = Call::compact(&session, "kept").summary();
    assert!(summary.contains("[User]: begin"), "{summary:.3000}");
    // A label is the person's own word, and stands whole.
    assert!(summary.len() < (1 << 20) + 20_000, "{} bytes", summary.len());
}

/// A file in the making; a million lines are too many to be held.
struct Written {
    out: BufWriter<File>,
    count: usize,
}

impl Written {
    fn new(path: &Path) -> Written {
        let mut out = BufWriter::new(File::create(path).expect("a file"));
        writeln!(out, "{}", author::header(crate::support::generate::ID, "/w")).expect("room");
        Written { out, count: 0 }
    }

    fn id(n: usize) -> String {
        format!("{n:08x}")
    }

    /// Adds an entry behind the last one.
    fn entry(&mut self, kind: &str, fields: &str) {
        let parent = match self.count {
            0 => "null".to_owned(),
            n => format!("\"{}\"", Self::id(n - 1)),
        };
        let id = Self::id(self.count);
        self.count += 1;
        writeln!(
            self.out,
            "{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-05T09:00:00.000Z\",{fields}}}"
        )
        .expect("room");
    }

    fn message(&mut self, message: &str) {
        self.entry("message", &format!("\"message\":{{{message}}}"));
    }

    fn done(mut self) {
        self.out.flush().expect("room");
    }
}

fn compact(path: &Path, kept: usize, megabytes: u32) -> Value {
    let field = json!({ "id": crate::support::generate::ID, "cwd": "/w", "file": path });
    let call = Call::compact(&Session::new(), &Written::id(kept)).with(
        "settings",
        json!({ "cap": { "mode": "off", "budget": { "unit": "percent", "value": 25 } } }),
    );
    let begin = std::time::Instant::now();
    let reply = reply_within(megabytes, &call.bytes_with(field)).expect("it is enough memory");
    eprintln!("{} ms within {megabytes} MB", begin.elapsed().as_millis());
    reply
}

/// All entries but a few are such that a checkpoint has no line for them: what is taken is for the
/// entries, 100 bytes each.
fn many(count: usize) -> u32 {
    32 + (count as u64 * 100).div_ceil(1 << 20) as u32
}

#[test]
#[ignore = "writes a file of 250 MB; with --release it takes seconds"]
fn a_million_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    for count in [100_000, 1_000_000] {
        let path = folder.path().join("many.jsonl");
        let mut file = Written::new(&path);
        file.message("\"role\":\"user\",\"content\":\"begin\"");
        for n in 0..count {
            match n % 10 {
                0 => file.entry("label", &format!("\"targetId\":\"{}\",\"label\":\"bookmark\"", Written::id(n))),
                1 => file.entry("context_edit", &format!("\"targetId\":\"{}\",\"replacement\":null", Written::id(n))),
                2 => file.entry("model_change", "\"provider\":\"p\",\"modelId\":\"m\""),
                _ => file.message("\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"the output of a command\"}],\"isError\":false,\"timestamp\":1"),
            }
        }
        file.message("\"role\":\"user\",\"content\":\"kept\"");
        let kept = file.count - 1;
        file.done();
        let reply = compact(&path, kept, many(count));
        let summary = reply["result"]["compaction"]["summary"]
            .as_str()
            .unwrap_or_else(|| panic!("{reply:.500}"));
        assert!(summary.contains("[User]: begin\n</compacted-span>"), "{summary:.3000}");
        let path = path.to_str().expect("a path");
        for arguments in [
            &["list", path, "--page", "2"][..],
            &["grep", path, "output of"],
            &["grep", path, "--terms", "output command"],
            &["status", path],
            &["verify", path],
        ] {
            let begin = std::time::Instant::now();
            let output = run(arguments, b"", folder.path());
            assert_eq!(output.status, 0, "{arguments:?}: {}", output.stderr);
            eprintln!("{count} entries, {}: {} ms", arguments[0], begin.elapsed().as_millis());
        }
    }
}

/// Ends the session; its compaction holds what was said before and after the long line.
fn both_ends_are_kept(mut file: Written, path: &Path) {
    file.message("\"role\":\"user\",\"content\":\"after\"");
    file.message("\"role\":\"user\",\"content\":\"kept\"");
    let kept = file.count - 1;
    file.done();
    let reply = compact(path, kept, 33);
    let summary =
        reply["result"]["compaction"]["summary"].as_str().unwrap_or_else(|| panic!("{reply:.500}"));
    assert!(summary.contains("[User]: begin\n[User]: after\n</compacted-span>"), "{summary:.3000}");
}

/// Lines without end: what is not kept is passed over, what Pi could not hold is no entry.
#[test]
#[ignore = "writes files of 1 GB; with --release it takes seconds"]
fn one_line_of_a_gigabyte() {
    const HALF: u64 = 400 << 20;
    const WHOLE: u64 = 1 << 30;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.jsonl");
    let result = |bytes: u64| {
        let mut file = Written::new(&path);
        file.message("\"role\":\"user\",\"content\":\"begin\"");
        let parent = Written::id(file.count - 1);
        write!(file.out, "{{\"type\":\"message\",\"id\":\"{}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"bash\",\"content\":[{{\"type\":\"text\",\"text\":\"", Written::id(file.count)).expect("room");
        let part = vec![b'x'; 1 << 20];
        for _ in 0..bytes >> 20 {
            file.out.write_all(&part).expect("room");
        }
        writeln!(file.out, "\"}}],\"isError\":false,\"timestamp\":1}}}}").expect("room");
        file.count += 1;
        file
    };
    // An output of 400 MB costs no memory.
    both_ends_are_kept(result(HALF), &path);
    let list = run(&["list", path.to_str().expect("a path")], b"", folder.path());
    assert!(list.stdout.contains("an entry of 400.0 MB"), "{}{}", list.stdout, list.stderr);

    // One of a gigabyte fits no string of Pi's. The branch begins behind it, which is said.
    let mut file = result(WHOLE);
    file.message("\"role\":\"user\",\"content\":\"kept\"");
    let kept = file.count - 1;
    file.done();
    let reply = compact(&path, kept, 33);
    assert!(reply.to_string().contains("its parent is not in the file"), "{reply}");
    let list = run(&["list", path.to_str().expect("a path")], b"", folder.path());
    assert!(
        list.stdout.contains("1 entry, oldest first:")
            && list.stderr.contains("1 damaged line was passed over"),
        "{}{}",
        list.stdout,
        list.stderr
    );

    // A gigabyte that is nothing at all: zeros, in a file that takes no room.
    let mut file = Written::new(&path);
    file.message("\"role\":\"user\",\"content\":\"begin\"");
    file.out.flush().expect("room");
    file.out.seek(SeekFrom::Current(i64::try_from(WHOLE).expect("it fits"))).expect("a hole");
    writeln!(file.out).expect("room");
    both_ends_are_kept(file, &path);
}

/// Everything at once in one session that Pi could have: it ends before the deadline of the hook.
#[test]
#[ignore = "writes a file of 200 MB; with --release it takes seconds"]
fn many_reads_at_the_start_of_a_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("reads.jsonl");
    let mut file = Written::new(&path);
    file.message("\"role\":\"user\",\"content\":\"begin\"");
    for n in 0..200_000 {
        file.message(&format!("\"role\":\"assistant\",\"content\":[{{\"type\":\"toolCall\",\"id\":\"c{n}\",\"name\":\"read\",\"arguments\":{{\"path\":\"AGENTS.md\"}}}}],\"stopReason\":\"toolUse\""));
        file.message(&format!("\"role\":\"toolResult\",\"toolCallId\":\"c{n}\",\"toolName\":\"read\",\"content\":[{{\"type\":\"text\",\"text\":\"Read AGENTS.md.\"}}],\"isError\":false,\"timestamp\":1"));
    }
    file.message("\"role\":\"user\",\"content\":\"kept\"");
    let kept = file.count - 1;
    file.done();
    let reply = compact(&path, kept, 2_000);
    assert!(reply["result"]["compaction"]["summary"].is_string(), "{reply:.500}");
}
