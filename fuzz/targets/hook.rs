//! The hook from end to end: compactions one after the other on any branch. Each reply is one, what
//! was compacted holds what it promises, and every other event is answered on the outcome.

use pi_stet::error::Error;
use pi_stet::json::elements;
use pi_stet::session::{Header, Leaf, Reading, Session};
use pi_stet::verify;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::choices::Choices;
use super::reply;
use super::story::Story;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let settings = settings(&mut choices);
    let cuts = [choices.byte(), choices.byte(), choices.byte()];
    let trigger = choices.of(&["manual", "threshold", "overflow", "\"\n</x>"]).to_owned();
    let words = choices.flag().then(|| choices.text());
    let mut story = Story::of(choices);
    let told = std::mem::take(&mut story.lines);
    let part = told.len() / cuts.len() + 1;
    for (number, (lines, cut)) in told.chunks(part).zip(cuts).enumerate() {
        story.lines.extend_from_slice(lines);
        let payload = json!({ "reason": trigger, "willRetry": false, "customInstructions": words });
        let Some(kept) = kept(&story, cut) else { continue };
        let cut =
            json!({ "firstKeptEntryId": kept, "isSplitTurn": cut & 1 == 1, "tokensBefore": 1000 });
        let envelope = envelope(&story, "session_before_compact", &payload, &settings, Some(&cut));
        let reply = reply::of(envelope.as_bytes()).expect("an envelope");
        let compaction = &reply["result"]["compaction"];
        if compaction.is_object() {
            assert_eq!(compaction["firstKeptEntryId"], kept);
            story.lines.push(entry(&format!("c{number:07x}"), compaction));
            holds(&story);
        }
    }
    for (event, payload) in others() {
        let envelope = envelope(&story, event, &payload, &settings, None);
        reply::of(envelope.as_bytes()).expect("an envelope");
    }
}

fn settings(choices: &mut Choices) -> Value {
    let method = choices.of(&["verbatim", "verbatim", "checkpoint"]);
    let cap = match choices.below(4) {
        0 => {
            json!({ "mode": "on", "budget": { "unit": "chars", "value": 1 + choices.below(256) * 16 } })
        }
        1 => {
            json!({ "mode": "on", "budget": { "unit": "tokens", "value": 1 + choices.below(256) * 4 } })
        }
        _ => json!({ "mode": "off", "budget": { "unit": "percent", "value": 25 } }),
    };
    json!({ "method": method, "cap": cap, "trimTo": 1 + choices.below(100), "checkpoint": choices.flag() })
}

/// One of the ids of the branch.
fn kept(story: &Story, cut: u8) -> Option<String> {
    with_branch(story, |branch| {
        let position = usize::from(cut) * branch.len() / 256;
        branch.get(position).map(|entry| branch.session.id(entry).to_owned())
    })
    .ok()?
}

fn with_branch<T>(
    story: &Story,
    look: impl FnOnce(&pi_stet::session::Branch) -> T,
) -> Result<T, Error> {
    let branch = RawValue::from_string(story.branch()).expect("each line is an object");
    assert_eq!(elements((&*branch).into()).len(), story.lines.len());
    let header =
        Header { id: story.id.clone(), cwd: story.cwd.clone(), version: 3.0, parent_session: None };
    let session = Session::from_branch(&branch, header, Default::default(), Reading::AsPi)?;
    Ok(look(&session.branch(&Leaf::Last)?))
}

/// The guarantee, on every compaction of the branch.
fn holds(story: &Story) {
    let report = with_branch(story, |branch| verify::verify(branch, &story.cwd))
        .expect("it was compacted")
        .expect("memory stays as it is");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// A compaction as Pi saves it.
fn entry(id: &str, compaction: &Value) -> String {
    let mut entry = json!({
        "type": "compaction", "id": id, "parentId": null, "timestamp": "2026-01-06T00:00:00.000Z",
    });
    if let (Value::Object(entry), Value::Object(fields)) = (&mut entry, compaction.clone()) {
        entry.extend(fields);
    }
    entry.to_string()
}

fn envelope(
    story: &Story,
    event: &str,
    payload: &Value,
    settings: &Value,
    cut: Option<&Value>,
) -> String {
    let mut envelope = json!({
        "protocol": 1,
        "event": event,
        "host": { "hasUI": false, "inRun": true, "pendingMessages": true },
        "model": { "provider": "fake", "id": "fake-1", "contextWindow": 100_000 },
        "now": 1_767_657_600_000u64,
        "dryRun": true,
        "settings": settings,
        "payload": payload,
    });
    if let Some(cut) = cut {
        envelope["cut"] = cut.clone();
    }
    // The lines go in as they are.
    let text = envelope.to_string();
    let session = json!({ "id": story.id, "cwd": story.cwd }).to_string();
    let (text, session) = (text.strip_suffix('}'), session.strip_suffix('}'));
    let (text, session) = (text.expect("an object"), session.expect("an object"));
    format!("{text},\"session\":{session},\"branch\":{}}}}}", story.branch())
}

fn others() -> Vec<(&'static str, Value)> {
    let tool = |name: &str, params: Value| {
        ("tool", json!({ "name": name, "toolCallId": "call_0", "params": params }))
    };
    vec![
        ("session_start", json!({ "reason": "resume" })),
        ("session_tree", json!({ "newLeafId": null })),
        (
            "session_compact",
            json!({ "compactionId": "c0000000", "fromExtension": true, "answered": true }),
        ),
        ("session_compact_failed", json!({ "reason": "manual", "aborted": false })),
        ("before_agent_start", json!({ "messageType": "user" })),
        (
            "context_with_system",
            json!({ "messages": [{ "role": "system" }, { "role": "assistant", "timestamp": 1 }] }),
        ),
        ("turn_end", json!({ "turnIndex": 1 })),
        ("command", json!({ "name": "stet", "args": "" })),
        ("command", json!({ "name": "checkpoint", "args": "" })),
        ("command", json!({ "name": "compaction-method", "args": "verbatim rebuild" })),
        tool("context_list_entries", json!({ "page": 1 })),
        tool("context_grep", json!({ "pattern": "e" })),
        tool("context_grep", json!({ "terms": "parser lib" })),
        tool("context_lookup", json!({ "question": "what was read?" })),
        tool("checkpoint_update", json!({ "text": "goal" })),
    ]
}
