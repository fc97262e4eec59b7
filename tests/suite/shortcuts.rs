//! The fast ways give what the plain ways give, byte for byte.

use std::collections::HashMap;

use pi_stet::json::mend;
use pi_stet::session::{Leaf, Reading, Session as Opened};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::call::{Call, answer};
use crate::support::generate::{Shape, write_session};
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
            let cap = serde_json::json!({ "mode": "on", "budget": { "unit": "chars", "value": 600 } });
            let call = Call::compact(&session, &kept).with("settings", serde_json::json!({ "cap": cap }));
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
