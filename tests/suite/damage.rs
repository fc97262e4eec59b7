//! Damaged files: nothing panics, and no line is lost that is whole.

use pi_stet::session::{Reading, Session as Opened, ids};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::call::{Call, TempSession, answer};
use crate::support::damage::{Damage, damage};
use crate::support::session::Session;
use crate::support::steps::{play, steps};
use crate::support::text::parse;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_loses_a_whole_line(
        steps in steps(25),
        damages in prop::collection::vec(damage(), 1..4),
        leaf in any::<prop::sample::Index>(),
        kept in any::<prop::sample::Index>(),
    ) {
        let session = play(&steps, |session, kept| session.compacted(kept));
        let file = damages.iter().fold(session.jsonl(), |file, damage| damage.apply(&file));
        let whole = whole_entries(&file);

        for reading in [Reading::AsPi, Reading::Recover] {
            let opened = Opened::from_jsonl(&file, reading).expect("the header is whole");
            let found: Vec<&str> = opened.entries().map(|entry| opened.id(entry)).collect();
            let mut rest = found.iter();
            for id in &whole {
                // Damage to an id may have left other than plain characters. Of two with one id the
                // first has another name where some entry has lost its parent.
                let called = ids::plain(id);
                let is_it = |other: &str| match other.strip_prefix(&*called) {
                    Some(rest) => rest.is_empty() || rest.starts_with('~'),
                    None => false,
                };
                prop_assert!(rest.any(|other| is_it(other)), "{:?} lost {}; it has {:?}", reading, id, found);
            }
        }
        if whole.is_empty() {
            return Ok(());
        }
        let (leaf, kept): (&String, &String) = (leaf.get(&whole), kept.get(&whole));
        compaction_survives(&session, &file, leaf, kept)?;
    }
}

/// A compaction of the damaged file is answered, or the host is told to send the branch that it has.
fn compaction_survives(
    session: &Session,
    file: &[u8],
    leaf: &str,
    kept: &str,
) -> Result<(), TestCaseError> {
    let call = Call::compact(session, kept);
    let file = TempSession::of_bytes(file);
    let reply = answer(&call.bytes_with(serde_json::json!({
        "id": session.id, "cwd": session.cwd, "file": file.path(), "leafId": leaf,
    })));
    match reply["error"]["code"].as_str() {
        None => Ok(()),
        // The kept entry is on another branch, or the damage cut it off.
        Some("session-stale") => Ok(()),
        Some(other) => Err(TestCaseError::fail(format!("{other}: {reply}"))),
    }
}

/// The ids of the lines that are one JSON object each, in order; of a line that stands twice, both.
fn whole_entries(file: &[u8]) -> Vec<String> {
    let lines = file.split(|b| *b == b'\n');
    lines.filter_map(entry_of).filter_map(|entry| Some(entry["id"].as_str()?.to_owned())).collect()
}

fn entry_of(line: &[u8]) -> Option<Value> {
    let entry = parse(line)?;
    let type_of = entry.get("type")?.as_str()?;
    (type_of != "session").then_some(entry)
}

#[test]
fn claude_code_49876_every_kind_of_damage_is_tried_on_one_session() {
    let session =
        Session::new().user("first").assistant("second").user("third").assistant("fourth");
    let file = session.jsonl();
    let count =
        |file: &[u8]| Opened::from_jsonl(file, Reading::AsPi).expect("the header is whole").len();
    let lines: Vec<&[u8]> = file.split_inclusive(|b| *b == b'\n').collect();

    let crlf = Damage::Crlf.apply(&file);
    assert_eq!(count(&crlf), 4, "CRLF");
    assert_eq!(count(&Damage::ByteOrderMark.apply(&file)), 4, "byte order mark");

    // The tail of the last line is lost, in the middle of a character.
    let snowman =
        [&file[..], "{\"type\":\"message\",\"id\":\"x\",\"text\":\"☃".as_bytes()].concat();
    assert_eq!(count(&snowman[..snowman.len() - 1]), 4, "torn inside a character");

    // Zeros where a line was, alone and at the beginning of the next one.
    let nul = [lines[0], lines[1], &[0; 700], lines[2], lines[3], lines[4]].concat();
    let opened = Opened::from_jsonl(&nul, Reading::AsPi).expect("the header is whole");
    assert_eq!((opened.len(), opened.malformed_lines), (3, 1), "zeros before a line");
    assert_eq!(
        Opened::from_jsonl(&nul, Reading::Recover).expect("a header").len(),
        4,
        "its object is recovered"
    );

    // Zeros inside of a line: Pi cannot parse it either.
    let mut hole = file.clone();
    let at = hole.windows(6).position(|w| w == b"second").expect("the text");
    hole[at..at + 4].fill(0);
    let opened = Opened::from_jsonl(&hole, Reading::AsPi).expect("the header is whole");
    assert_eq!((opened.len(), opened.malformed_lines), (3, 1), "zeros inside a line");
}
