//! The rules one by one.

use pi_stet::hook;
use pi_stet::orientation::CUSTOM_TYPE;
use serde_json::{Value, json};

use super::conversation::{Conversation, Message};

/// A conversation with an answer in the kept tail, compacted by `kind`; and the compaction's id.
fn compacted(kind: &str) -> (Conversation, String) {
    let mut conversation = Conversation::default();
    conversation.user("Old question");
    conversation.answer();
    let kept = conversation.user("Kept question");
    conversation.work(2);
    conversation.answer();
    let id = conversation.compact(kind, &kept);
    conversation.clock = 1000;
    (conversation, id)
}

const NOWHERE: [usize; 0] = [];

fn places(messages: &[Message]) -> Vec<usize> {
    messages.iter().enumerate().filter(|(_, m)| m.is_ours()).map(|(at, _)| at).collect()
}

#[test]
fn a_run_after_a_compaction_of_ours_gets_it_once() {
    for kind in ["stet.verbatim", "stet.checkpoint"] {
        let (mut conversation, id) = compacted(kind);
        let message = conversation.added_to_a_run();
        assert_eq!(message["customType"], CUSTOM_TYPE);
        assert_eq!(message["details"], json!({ "compactionId": id }));
        conversation.user("New question");
        conversation.ours(&id);
        assert_eq!(conversation.added_to_a_run(), Value::Null);
        let kept = conversation.user("Another question");
        conversation.compact(kind, &kept);
        assert_ne!(conversation.added_to_a_run(), Value::Null, "the next compaction needs its own");
    }
}

#[test]
fn compactions_of_others_get_none_and_end_ours() {
    for kind in ["mech-compact", "", "stetson"] {
        let (mut conversation, id) = compacted("stet.verbatim");
        conversation.ours(&id);
        let kept = conversation.user("New question");
        conversation.ours(&id);
        conversation.compact(kind, &kept);
        assert_eq!(conversation.added_to_a_run(), Value::Null, "{kind}");
        assert_eq!(places(&conversation.request()), NOWHERE, "{kind}");
    }
    let mut fresh = Conversation::default();
    fresh.user("Question");
    assert_eq!(fresh.added_to_a_run(), Value::Null);
    assert!(!fresh.send(&fresh.transcript()).1);
}

#[test]
fn until_the_first_answer_it_is_last_and_then_before_that_answer() {
    let (mut conversation, _) = compacted("stet.verbatim");
    conversation.user("New question");
    let first = conversation.request();
    assert_eq!(places(&first), [first.len() - 1], "inserted");
    conversation.work(3);
    let second = conversation.request();
    assert_eq!(places(&second), [first.len() - 1]);
    assert_eq!(second[first.len()].role(), "assistant");
}

#[test]
fn a_copy_that_was_saved_late_is_moved_to_its_place() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.work(1);
    let without = conversation.request();
    conversation.ours(&id);
    conversation.user("Next question");
    let with = conversation.request();
    assert_eq!(places(&with), places(&without));
    assert_eq!(with.len(), without.len() + 1);
}

#[test]
fn a_failed_answer_counts_unless_it_was_omitted() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.user("New question");
    conversation.ours(&id);
    let failed = conversation.answer();
    conversation.user("Another question");
    let request = conversation.request();
    assert_eq!(places(&request), [request.len() - 3]);
    conversation.omit(&failed);
    let request = conversation.request();
    assert_eq!(places(&request), [request.len() - 1]);
}

#[test]
fn others_are_taken_out_whatever_they_name() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.user("New question");
    for details in
        [json!({ "compactionId": "e1" }), json!({}), json!(null), json!({ "compactionId": 7 })]
    {
        conversation.note(CUSTOM_TYPE, details);
    }
    conversation.ours(&id);
    conversation.ours(&id);
    conversation.note("a-note-of-someone", json!({ "compactionId": id }));
    let request = conversation.request();
    assert_eq!(places(&request), [request.len() - 1]);
    assert_eq!(request[request.len() - 2].skeleton["customType"], "a-note-of-someone");
}

#[test]
fn of_two_copies_the_first_stays() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.user("New question");
    conversation.ours(&id);
    let sent = conversation.request();
    conversation.answer();
    conversation.ours(&id);
    // As a newer version might put it.
    conversation.entries.last_mut().unwrap()["content"] = json!("Other words");
    conversation.user("Another question");
    assert_eq!(conversation.request()[..sent.len()], sent);
}

#[test]
fn an_answer_of_the_same_moment_in_the_tail_is_not_taken_for_the_first_one() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.clock = 0;
    conversation.user("New question");
    conversation.ours(&id);
    let first = conversation.request();
    conversation.work(1);
    assert_eq!(conversation.request()[..first.len()], first);
}

#[test]
fn an_answer_that_another_extension_took_out_is_passed_over() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.user("New question");
    conversation.ours(&id);
    let first = conversation.answer();
    conversation.user("Another question");
    conversation.clock += 1;
    conversation.answer();
    conversation.user("A third question");
    let mut transcript = conversation.transcript();
    let first = json!(first).to_string();
    transcript.retain(|message| message.body != first);
    let (request, _) = conversation.send(&transcript);
    assert_eq!(places(&request), [request.len() - 3], "before the answer that is left");
}

#[test]
fn no_request_is_made_to_end_in_an_answer() {
    let (mut conversation, id) = compacted("stet.verbatim");
    conversation.user("New question");
    conversation.answer();
    conversation.ours(&id);
    let request = conversation.request();
    assert_eq!(places(&request), [request.len() - 1]);
}

#[test]
fn what_was_omitted_on_purpose_stays_away() {
    let (mut conversation, id) = compacted("stet.verbatim");
    let ours = conversation.ours(&id);
    conversation.user("New question");
    conversation.omit(&ours);
    assert_eq!(places(&conversation.request()), NOWHERE);
    assert_eq!(conversation.added_to_a_run(), Value::Null);
}

/// The effect that sends the message, if there is one.
fn sent(reason: &str, will_retry: bool, host: Value, api: &str) -> Option<Value> {
    let (conversation, id) = compacted("stet.verbatim");
    let envelope = json!({
        "protocol": 1, "event": "session_compact", "host": host,
        "session": { "id": "s", "cwd": "/", "branch": conversation.entries },
        "model": { "provider": "p", "id": "m", "api": api },
        "payload": { "compactionId": id, "reason": reason, "willRetry": will_retry },
    });
    let reply =
        serde_json::to_value(hook::answer(envelope.to_string().as_bytes()).unwrap()).unwrap();
    let effects = reply["effects"].as_array().unwrap();
    effects.iter().find(|effect| effect["type"] == "sendMessage").cloned()
}

#[test]
fn work_that_goes_on_is_steered_unless_something_is_queued() {
    let host = |in_run: bool, pending: bool| json!({ "inRun": in_run, "pendingMessages": pending });
    let how = |reason, will_retry, host, api| {
        sent(reason, will_retry, host, api)
            .map(|effect| (effect.get("deliverAs").cloned(), effect.get("triggerTurn").cloned()))
    };
    let steered = Some((Some(json!("steer")), None));
    let saved = Some((None, Some(json!(false))));
    assert_eq!(how("threshold", false, host(true, false), "openai"), steered, "between two turns");
    assert_eq!(how("overflow", true, host(false, false), "openai"), steered, "before a repetition");
    assert_eq!(how("threshold", false, host(true, true), "openai"), saved);
    assert_eq!(how("overflow", true, host(false, true), "openai"), saved);
    assert_eq!(how("threshold", false, host(false, true), "openai"), saved);
    assert_eq!(how("threshold", false, host(true, false), "pi-virtual"), saved);
    assert_eq!(how("threshold", false, host(false, false), "openai"), None, "the run has ended");
    assert_eq!(how("manual", false, host(false, false), "openai"), None);
    assert_eq!(how("manual", false, host(false, true), "openai"), None);
}
