//! Session files that are not the project's: real ones, and those of other tools. `PI_STET_CORPUS`
//! names their folder; each test says what must become of its file.

#[allow(dead_code, reason = "the other tests use the rest of it")]
mod support;

use std::path::PathBuf;

use serde_json::{Value, json};

use support::call::{Call, Output, answer, run};
use support::checkpoint::last_span;
use support::expect::{Piece, context_start, id, items, path_in, span};
use support::session::Session;
use support::text::parse;

fn file(name: &str) -> PathBuf {
    let folder =
        std::env::var("PI_STET_CORPUS").expect("PI_STET_CORPUS names the folder of the sessions");
    PathBuf::from(folder).join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap_or_else(|error| panic!("{}: {error}", file(name).display()))
}

fn compact(name: &str, options: &[&str]) -> Output {
    let path = file(name);
    let arguments =
        [&["compact", path.to_str().expect("a path"), "--cap", "off"], options].concat();
    run(&arguments, b"", path.parent().expect("a folder"))
}

/// The entries of a file as they are read: `recover` takes the whole object behind a torn one too.
/// What has no id is numbered, what has no parent field follows the entry before it.
fn entries(file: &[u8], recover: bool) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    let mut by_line = Vec::new();
    for line in file.split(|b| *b == b'\n') {
        let object = parse(line).or_else(|| recover.then(|| second_object(line)).flatten());
        let Some(mut entry) = object else { continue };
        if entry["type"] == "session" || !entry["type"].is_string() {
            by_line.push(None);
            continue;
        }
        if !entry["id"].is_string() {
            entry["id"] = format!("{:08x}", entries.len()).into();
        }
        if entry.get("parentId").is_none() {
            entry["parentId"] = entries.last().map_or(Value::Null, |last| last["id"].clone());
        }
        if let Some(kept) = entry["firstKeptEntryIndex"].as_u64() {
            let kept: Option<&String> = by_line.get(kept as usize).and_then(Option::as_ref);
            entry["firstKeptEntryId"] = json!(kept);
        }
        by_line.push(Some(id(&entry).to_owned()));
        entries.push(entry);
    }
    entries
}

fn second_object(line: &[u8]) -> Option<Value> {
    let starts =
        line.windows(9).enumerate().skip(1).filter(|(_, window)| *window == b"{\"type\":\"");
    starts.map(|(at, _)| &line[at..]).find_map(parse)
}

/// Every user text and all prose of the span stand in the checkpoint's last span, in order.
fn assert_in_place(name: &str, summary: &str, path: &[&Value], kept: &str) {
    let mut rest = last_span(summary);
    let mut said = 0;
    for item in items(&span(path, kept)) {
        for piece in item.pieces {
            let Piece::Text(text) = piece else { continue };
            if !text.starts_with("[User]: ") && !text.starts_with("[Assistant]: ") {
                continue;
            }
            let at =
                rest.find(&text).unwrap_or_else(|| panic!("{name}: {text:.200?} is not in place"));
            rest = &rest[at + text.len()..];
            said += 1;
        }
    }
    println!("{name}: {said} texts in place, {kept} is kept first");
}

/// On the command line with a kept tail that is small enough to cut; by reference and inline with
/// the newest cut there is.
fn is_compacted(name: &str) {
    let file = bytes(name);

    let tails = ["20000", "2000", "200", "20", "1"];
    let output = tails
        .iter()
        .map(|tokens| compact(name, &["--keep-recent-tokens", tokens, "--json"]))
        .find(|output| output.status != 3)
        .unwrap_or_else(|| panic!("{name}: nothing to compact with any tail"));
    assert_eq!(output.status, 0, "{name}: {}", output.stderr);
    let compaction: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let recovered = entries(&file, true);
    let path = path_in(recovered.iter(), recovered.last().map(id));
    let kept = compaction["firstKeptEntryId"].as_str().expect("an id");
    assert_in_place(name, compaction["summary"].as_str().expect("a summary"), &path, kept);

    let as_pi = entries(&file, false);
    let leaf = as_pi.last().map(id);
    let path = path_in(as_pi.iter(), leaf);
    let start = context_start(&path);
    let is_cut = |entry: &&&Value| {
        ["user", "assistant"].iter().any(|role| entry["message"]["role"] == *role)
    };
    let kept =
        id(path[start + 1..].iter().rfind(is_cut).unwrap_or_else(|| panic!("{name}: no cut")));
    let header = file.split(|b| *b == b'\n').find_map(parse).expect("a header");
    let field = json!({ "id": header["id"], "cwd": header["cwd"] });
    let call = Call::compact(&Session::new(), kept);
    let with = |more: Value| {
        let mut field = field.clone();
        field.as_object_mut().expect("an object").extend(support::author::object(more));
        answer(&call.bytes_with(field))
    };
    let reference = with(json!({ "file": self::file(name), "leafId": leaf }));
    let inline = with(json!({ "branch": path }));
    assert_eq!(reference, inline, "{name}: by reference (left) and inline (right)");
    let compaction = &reference["result"]["compaction"];
    assert_eq!(compaction["firstKeptEntryId"], kept, "{name}: {reference}");
    assert_in_place(name, compaction["summary"].as_str().expect("a summary"), &path, kept);
}

macro_rules! compacted {
    ($($test:ident: $name:literal),+ $(,)?) => {$(
        #[test]
        #[ignore = "needs PI_STET_CORPUS, a folder of session files"]
        fn $test() {
            is_compacted($name);
        }
    )+};
}

compacted! {
    long_v1_two_compactions: "long-v1-two-compactions.jsonl",
    one_giant_turn: "one-giant-turn.jsonl",
    every_entry_type: "every-entry-type.jsonl",
    foreign_entry_types: "foreign-entry-types.jsonl",
    fork_roundtrip: "fork-roundtrip.jsonl",
    tool_errors: "tool-errors.jsonl",
    broken_line: "broken-line.jsonl",
    shapes: "shapes.jsonl",
}

#[test]
#[ignore = "needs PI_STET_CORPUS, a folder of session files"]
fn one_compaction_has_nothing_to_compact() {
    for tail in ["20000", "1"] {
        let output = compact("one-compaction.jsonl", &["--keep-recent-tokens", tail]);
        assert_eq!((output.status, output.stdout.as_str()), (3, ""), "{}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    }
}

#[test]
#[ignore = "needs PI_STET_CORPUS, a folder of session files"]
fn shape_of_310_messages_is_no_session() {
    let output = compact("shape-of-310-messages.jsonl", &[]);
    assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{}", output.stderr);
    assert!(output.stderr.contains("not a Pi session"), "{}", output.stderr);
    assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
}
