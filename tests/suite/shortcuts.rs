//! The fast ways give what the plain ways give, byte for byte.

use std::collections::HashMap;

use pi_stet::json::mend;
use pi_stet::session::{Leaf, Reading, Session as Opened};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::call::{Call, answer};
use crate::support::generate::{CWD, ID, Shape, write_session};
use crate::support::steps::{cuts, play, steps};

/// The same call on a branch whose compactions do not say what can be carried on, so that all of
/// them are read.
fn without_sections(call: &Call) -> Value {
    // Inside a string the quotes would be escaped.
    let envelope = String::from_utf8(call.inline_bytes()).expect("UTF-8");
    answer(envelope.replace("\"section\":", "\"otherwise\":").as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_checkpoint_that_carries_the_last_one_on_is_the_same_as_one_made_anew(steps in steps(50)) {
        let mut carried = 0;
        let same = |call: &Call| {
            let (fast, plain) = (call.inline(), without_sections(call));
            assert_eq!(fast, plain, "carried on (left) and made anew (right)");
        };
        let session = play(&steps, |session, kept| {
            same(&Call::compact(&session, kept));
            carried += 1;
            session.compacted(kept)
        });
        let session = session.user("⟦last⟧ Go on.").user("⟦end⟧ And stop.");
        if let Some(kept) = cuts(&session).last() {
            let session = session.clone().compacted(kept).user("More.").user("And more.");
            let kept = session.last_id().to_owned();
            same(&Call::compact(&session, &kept));
            // A cap that has to trim needs the spans one by one.
            let cap = json!({ "mode": "on", "budget": { "unit": "chars", "value": 600 } });
            let call = Call::compact(&session, &kept).with("settings", json!({ "cap": cap }));
            same(&call);
            carried += 1;
        }
        prop_assert!(carried > 0);
    }
}

/// A file of this size is passed over by two threads.
#[test]
fn two_threads_find_the_entries_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    write_session(&path, &Shape::new(11, 9 << 20)).expect("room for the session");
    let text = std::fs::read_to_string(&path).expect("the session");

    let parsed = |line: &str| serde_json::from_str(&mend(line.as_bytes())).expect("an entry");
    let entries: Vec<Value> = text.lines().skip(1).map(parsed).collect();
    let parents: HashMap<&str, Option<&str>> = entries
        .iter()
        .map(|entry| (entry["id"].as_str().expect("an id"), entry["parentId"].as_str()))
        .collect();
    let leaf = entries.last().and_then(|entry| entry["id"].as_str());
    let mut expected: Vec<&str> =
        std::iter::successors(leaf, |id| parents.get(id).copied().flatten()).collect();
    expected.reverse();

    let opened = Opened::open(&path, Reading::AsPi).expect("a session");
    let branch = opened.branch(&Leaf::Last).expect("its branch");
    let found: Vec<&str> = branch.iter().map(|(_, entry)| opened.id(entry)).collect();
    assert_eq!(opened.len(), entries.len());
    assert_eq!(found, expected);
}

/// What is asked before a request is told by the end of a long file as by the whole branch.
#[test]
fn the_end_of_a_file_tells_what_is_due() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    let shape = Shape { compactions: 3, last_part: Some(400_000), ..Shape::new(5, 9 << 20) };
    write_session(&path, &shape).expect("room for the session");
    let text = std::fs::read_to_string(&path).expect("the session");
    let entries: Vec<Value> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(&mend(line.as_bytes())).expect("an entry"))
        .collect();
    let by_id: HashMap<&str, &Value> =
        entries.iter().map(|entry| (entry["id"].as_str().expect("an id"), entry)).collect();
    let compactions: Vec<usize> =
        (0..entries.len()).filter(|at| entries[*at]["type"] == "compaction").collect();
    assert_eq!(compactions.len(), 3);

    let mut due = 0;
    // Right behind each compaction, far behind it, before the first one, at the end.
    let leaves = [
        compactions[0] - 1,
        compactions[0] + 5,
        compactions[1] - 1,
        compactions[1],
        compactions[2] + 1,
        entries.len() - 1,
    ];
    for leaf in leaves {
        let leaf_id = entries[leaf]["id"].as_str().expect("an id");
        let parent = |entry: &&Value| entry["parentId"].as_str().map(|id| by_id[id]);
        let mut branch: Vec<&Value> = std::iter::successors(Some(by_id[leaf_id]), parent).collect();
        branch.reverse();
        let skeleton = |entry: &&Value| {
            let message = entry.get("message")?;
            Some(json!({ "role": message["role"], "timestamp": message.get("timestamp") }))
        };
        let messages: Vec<Value> = branch.iter().filter_map(skeleton).collect();
        for (event, payload) in [
            ("before_agent_start", json!({ "messageType": "user" })),
            ("context_with_system", json!({ "messages": messages })),
            ("context_with_system", json!({ "messages": [] })),
        ] {
            let envelope = |session: Value| {
                let envelope = json!({
                    "protocol": 1, "event": event, "payload": payload, "session": session,
                    "host": { "name": "pi", "version": "1.6.0", "mode": "rpc", "hasUI": false },
                });
                answer(envelope.to_string().as_bytes())
            };
            let end = envelope(json!({ "id": ID, "cwd": CWD, "file": path, "leafId": leaf_id }));
            let whole = envelope(json!({ "id": ID, "cwd": CWD, "branch": branch }));
            assert_eq!(end, whole, "{event} at {leaf_id}");
            due += usize::from(end.get("result").is_some());
        }
    }
    assert!(due >= 10, "{due}");
}
