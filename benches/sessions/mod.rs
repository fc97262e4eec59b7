//! The sessions that are measured: each made once, beside what cargo builds.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::measure::made;
use crate::support::generate::{CWD, ID, Shape, write_session};

/// The kinds of sessions, by name.
pub const KINDS: [&str; 6] = [
    "ordinary",
    "eight compactions",
    "many small entries",
    "few huge outputs",
    "images",
    "branches",
];

/// Bytes behind the last compaction of a session that has some.
const LAST_PART: u64 = 1_000_000;

fn shape(kind: &str, bytes: u64) -> Shape {
    let shape = Shape { output: 22_000, ..Shape::new(7, bytes) };
    match kind {
        "eight compactions" => {
            Shape { compactions: 8, last_part: Some(LAST_PART.min(bytes / 9)), ..shape }
        }
        "many small entries" => Shape { output: 60, ..shape },
        "few huge outputs" => Shape { output: 4_000_000, ..shape },
        "images" => Shape { pictures: 900, ..shape },
        "branches" => Shape { branches: 500, ..shape },
        _ => shape,
    }
}

/// Where the session of this kind and size lies.
pub fn path(kind: &str, megabytes: u64) -> PathBuf {
    made("sessions", &format!("{}-{megabytes}.jsonl", kind.replace(' ', "-")))
}

/// The file of a session, made if it is not there.
pub fn file(kind: &str, megabytes: u64) -> PathBuf {
    let path = path(kind, megabytes);
    if !path.exists() {
        let unfinished = path.with_extension("part");
        write_session(&unfinished, &shape(kind, megabytes * 1_000_000))
            .expect("room for the session");
        std::fs::rename(&unfinished, &path).expect("its place");
    }
    path
}

/// Where the envelopes of a session lie: by reference and inline.
pub fn envelope_paths(session: &Path) -> (PathBuf, PathBuf) {
    (session.with_extension("envelope.json"), session.with_extension("inline.json"))
}

/// Writes the envelopes of the compaction that takes everything but the newest request and its answers.
pub fn envelopes(session: &Path) {
    let (by_reference, inline) = envelope_paths(session);
    let text = std::fs::read(session).expect("the session");
    let lines: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let head = |line: &[u8]| -> Value { serde_json::from_slice(line).unwrap_or_default() };
    let leaf = head(lines.last().expect("a line"))["id"].clone();
    let is_request = |line: &&&[u8]| memchr::memmem::find(line, br#""role":"user""#).is_some();
    let branch = branch(&lines);
    let kept = branch.iter().rev().find(is_request).map(|line| head(line)["id"].clone());
    let envelope = |session: Value| {
        json!({
            "protocol": 1,
            "event": "session_before_compact",
            "session": session,
            "cut": { "firstKeptEntryId": kept, "tokensBefore": 180_000 },
            "payload": { "reason": "threshold" },
            "settings": { "cap": { "mode": "off", "budget": { "unit": "percent", "value": 25 } } },
        })
    };
    let reference = envelope(json!({ "id": ID, "cwd": CWD, "file": session, "leafId": leaf }));
    std::fs::write(&by_reference, reference.to_string()).expect("room");

    let shell = envelope(json!({ "id": ID, "cwd": CWD, "branch": ["HERE"] })).to_string();
    let (before, after) = shell.split_once("\"HERE\"").expect("the mark");
    let mut whole = before.as_bytes().to_vec();
    whole.extend(branch.join(&b','));
    whole.extend(after.as_bytes());
    std::fs::write(&inline, whole).expect("room");
}

/// The lines of the branch that ends in the last one. A parent stands before its children, so one
/// walk backwards finds them; Pi writes both ids near the beginning or the end of a line.
fn branch<'l>(lines: &[&'l [u8]]) -> Vec<&'l [u8]> {
    let field = |line: &[u8], key: &str| {
        let edges = [&line[..line.len().min(400)], &line[line.len().saturating_sub(400)..]];
        edges.into_iter().find_map(|edge| {
            let at = memchr::memmem::find(edge, key.as_bytes())? + key.len();
            let end = memchr::memchr(b'"', &edge[at..])?;
            Some(edge[at..at + end].to_vec())
        })
    };
    let mut wanted = lines.last().and_then(|line| field(line, r#","id":""#));
    let mut path = Vec::new();
    for line in lines.iter().rev() {
        if wanted.is_some() && field(line, r#","id":""#) == wanted {
            path.push(*line);
            wanted = field(line, r#""parentId":""#);
        }
    }
    path.reverse();
    path
}
