//! What holds for every session: the promises of the verbatim checkpoint.

use pi_stet::session::{Leaf, Reading, Session as Opened};
use pi_stet::verbatim::history;
use proptest::prelude::*;
use serde_json::Value;

use crate::support::call::{Call, TempSession, answer};
use crate::support::checkpoint::{self, last_span, stable_part};
use crate::support::expect::{Piece, assert_items, id, items, path_to, span};
use crate::support::generate::Dice;
use crate::support::session::Session;
use crate::support::steps::{cuts, play, steps};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Details without the index of the items, at most.
const DETAILS_BYTES: usize = 4096;

proptest! {
    #![proptest_config(config(96))]

    /// Chained compactions with any cut: each takes out what Pi's would, item by item and word for
    /// word, each begins with the one before it, and each is read back as it was stored.
    #[test]
    fn every_checkpoint_keeps_its_promises(steps in steps(60)) {
        let mut checked = 0;
        let session = play(&steps, |session, kept| {
            let after = session.clone().compacted(kept);
            check(&session, &after, kept);
            checked += 1;
            after
        });
        // One more at the end, so that no case checks nothing.
        let session = session.user("⟦last⟧ Go on.").user("⟦end⟧ And stop.");
        if let Some(kept) = cuts(&session).last() {
            let after = session.clone().compacted(kept);
            check(&session, &after, kept);
            checked += 1;
        }
        prop_assert!(checked > 0);
    }

    /// The spans of a chain tile the branch: put together they are the span of one compaction that
    /// was made at the last cut instead of all of them. (Outcomes aside: a result in another span
    /// than its call is none.)
    #[test]
    fn spans_tile_the_branch(steps in steps(60)) {
        let mut spans_of_the_chain: Vec<(String, Vec<String>)> = Vec::new();
        let compacted = play(&steps, |session, kept| {
            let taken = named_entries(&session, kept);
            let after = session.compacted(kept);
            spans_of_the_chain.push((after.last_id().to_owned(), taken));
            after
        });
        let path = path_to(&compacted, compacted.leaf_id());
        let mut position = 0;
        for (compaction, taken) in spans_of_the_chain {
            if !path.iter().any(|entry| id(entry) == compaction) {
                continue;
            }
            for entry in taken {
                let at = path.iter().position(|other| id(other) == entry).expect("an entry of the branch");
                prop_assert!(at >= position, "entry {} is in two spans", entry);
                let between = path[position..at].iter().filter(|entry| gives_an_item(entry));
                let missed: Vec<&str> = between.map(|entry| id(entry)).filter(|e| !is_edited(&path, e)).collect();
                prop_assert!(missed.is_empty(), "no span has {:?}", missed);
                position = at + 1;
            }
        }
    }

    /// Pi's order of fields is read without a full parse; any other order says the same.
    #[test]
    fn the_order_of_fields_changes_nothing(steps in steps(40), seed in any::<u64>()) {
        let session = play(&steps, |session, kept| session.compacted(kept)).user("⟦last⟧ Go on.");
        let Some(kept) = cuts(&session).last().cloned() else { return Ok(()) };
        let call = Call::compact(&session, &kept);
        let mut dice = Dice::new(seed);
        let shuffled = reordered(&session, &mut dice);
        prop_assert_ne!(&shuffled, &session.jsonl());
        let file = TempSession::of_bytes(&shuffled);
        prop_assert_eq!(answer(&call.reference_bytes(file.path())), call.by_reference());
    }
}

fn check(before: &Session, after: &Session, kept: &str) {
    let path = path_to(before, before.leaf_id());
    let taken = span(&path, kept);
    let expected = items(&taken);
    let summary = after.last_summary();
    assert_items(last_span(summary), &expected);

    for item in &expected {
        for token in item.pieces.iter().filter_map(prose_token) {
            assert_eq!(summary.matches(token.as_str()).count(), 1, "{token} stands once");
            let details = after.last_details().to_string();
            assert!(!details.contains(&token), "details repeat {token}: {details}");
        }
    }
    assert!(!summary.contains("Nobody shall see this thought."));
    assert!(!summary.contains("Output that nobody needs"));

    check_details(
        after.last_details(),
        &expected.iter().map(|item| item.entry.as_str()).collect::<Vec<_>>(),
    );
    check_prefix(&path, summary);
    check_reading_back(after);
}

/// The number that the text of a message begins with, if the piece is one.
fn prose_token(piece: &Piece) -> Option<String> {
    let Piece::Text(text) = piece else { return None };
    let text = text.strip_prefix("[User]: ").or_else(|| text.strip_prefix("[Assistant]: "))?;
    Some(text[..text.find('⟧')?].to_owned() + "⟧")
}

fn check_details(details: &Value, entries: &[&str]) {
    assert_eq!(details["kind"], "stet.verbatim");
    assert_eq!(details["v"], 1);
    let indexed: Vec<&str> = details["span"]["items"]
        .as_array()
        .expect("an index of the items")
        .iter()
        .map(|item| item[1].as_str().expect("an entry id"))
        .collect();
    assert_eq!(indexed, entries, "the index names the entries of the items");
    let mut rest = details.clone();
    rest["span"]["items"] = Value::Null;
    let size = rest.to_string().len();
    assert!(size <= DETAILS_BYTES, "details without the index take {size} bytes: {rest}");
}

/// The checkpoint begins with the bytes of the one before it on its branch.
fn check_prefix(path: &[&Value], summary: &str) {
    let previous = path.iter().rfind(|entry| entry["type"] == "compaction");
    let Some(previous) = previous.and_then(|entry| entry["summary"].as_str()) else { return };
    let stable = stable_part(previous);
    assert!(summary.starts_with(stable), "the checkpoint begins with the one before it");
    let (earlier, now) = (checkpoint::spans(previous), checkpoint::spans(summary));
    assert_eq!(now[..now.len() - 1], earlier, "one span came to those before");
}

/// The stored spans, read from the session, are the texts that the checkpoint shows.
fn check_reading_back(after: &Session) {
    let bytes = after.jsonl();
    let opened = Opened::from_jsonl(&bytes, Reading::AsPi).expect("a session");
    let branch = opened.branch(&Leaf::Id(after.last_id())).expect("a branch");
    let stored = history::read(&branch, &after.cwd).expect("a history").spans;
    let shown = checkpoint::spans(after.last_summary());
    assert_eq!(stored.len(), shown.len());
    for (stored, shown) in stored.iter().zip(shown) {
        let lines: Vec<&str> = stored.items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(lines.join("\n"), shown.text);
        assert_eq!(stored.meta.n.to_string(), shown.n);
    }
}

/// The entries of the span that an item of the checkpoint names.
fn named_entries(session: &Session, kept: &str) -> Vec<String> {
    let path = path_to(session, session.leaf_id());
    let mut entries: Vec<String> =
        items(&span(&path, kept)).into_iter().map(|item| item.entry).collect();
    entries.dedup();
    entries
}

fn gives_an_item(entry: &Value) -> bool {
    !items(std::slice::from_ref(entry)).is_empty()
}

fn is_edited(path: &[&Value], entry: &str) -> bool {
    path.iter().any(|edit| edit["type"] == "context_edit" && edit["targetId"] == entry)
}

/// The same session with the fields of its lines in another order.
fn reordered(session: &Session, dice: &mut Dice) -> Vec<u8> {
    let mut lines = Session::new().header(session_header(session));
    for entry in session.entries() {
        let mut entry = shuffled(entry, dice);
        if entry["message"].is_object() {
            entry["message"] = shuffled(&entry["message"].clone(), dice);
        }
        lines = lines.raw(crate::support::text::wire(&entry.to_string()));
    }
    lines.jsonl()
}

fn session_header(session: &Session) -> Value {
    shuffled(&crate::support::author::header(&session.id, &session.cwd), &mut Dice::new(1))
}

fn shuffled(value: &Value, dice: &mut Dice) -> Value {
    let mut fields: Vec<_> = value.as_object().expect("an object").clone().into_iter().collect();
    for at in (1..fields.len()).rev() {
        fields.swap(at, dice.below(at as u64 + 1) as usize);
    }
    Value::Object(fields.into_iter().collect())
}
