//! Envelopes that are none, or not of this protocol: one reply all the same, and the exit status.

use serde_json::{Value, json};

use crate::support::call::{Call, TempSession, run};
use crate::support::session::Session;

fn hook(stdin: &[u8]) -> (i32, Value) {
    let output = run(&["hook"], stdin, std::path::Path::new("."));
    assert_eq!(output.stderr, "", "a host reads stdout only");
    assert_eq!(output.stdout.lines().count(), 1, "one reply: {}", output.stdout);
    let reply: Value = serde_json::from_str(&output.stdout).expect("the reply is JSON");
    assert_eq!(reply["protocol"], 1, "{reply}");
    (output.status, reply)
}

fn session() -> Session {
    Session::new().user("one").assistant("two").user("kept").named("kept")
}

/// Says what is wrong in one line, and what to do in another.
fn assert_error(reply: &Value, code: &str, says: &str) {
    assert_eq!(reply["error"]["code"], code, "{reply}");
    assert_eq!(reply.get("result"), None, "{reply}");
    let (message, hint) = (&reply["error"]["message"], &reply["error"]["hint"]);
    for text in [message, hint] {
        let text = text.as_str().expect("a text");
        assert!(!text.is_empty() && !text.contains('\n'), "{reply}");
    }
    assert!(message.as_str().is_some_and(|text| text.contains(says)), "{says}: {reply}");
}

#[test]
fn what_is_no_envelope_ends_with_status_2() {
    for (stdin, says) in [
        (&b""[..], "empty"),
        (b"  \n\n", "empty"),
        (b"not JSON", "expected"),
        (b"{\"protocol\":1", "EOF"),
        (b"[]", ""),
        (b"null", ""),
        (b"{}", "protocol"),
        (b"{\"protocol\":1}", "event"),
        (b"{\"protocol\":1,\"event\":7}", "expected a string"),
        (b"[1,\"session_compact_failed\"]", "expected"),
        (b"{\"protocol\":1,\"event\":\"session_start\",\"session\":\"here\"}", ""),
        (b"{\"protocol\":1,\"event\":\"session_start\"} {\"protocol\":1}", "trailing"),
        (b"\xff\xfe\x00", ""),
    ] {
        let (status, reply) = hook(stdin);
        assert_eq!(status, 2, "{:?}: {reply}", String::from_utf8_lossy(stdin));
        assert_error(&reply, "bad-envelope", says);
    }
}

#[test]
fn another_protocol_is_named_whatever_else_it_holds() {
    for protocol in ["2", "0", "\"1\"", "null", "[1]"] {
        let envelope = format!("{{\"event\":{{\"of\":\"another\"}},\"protocol\":{protocol}}}");
        let (status, reply) = hook(envelope.as_bytes());
        assert_eq!(status, 2, "{reply}");
        assert_error(&reply, "wrong-protocol", protocol);
    }
}

#[test]
fn an_event_that_is_not_in_the_manifest_is_named() {
    let (status, reply) = hook(b"{\"protocol\":1,\"event\":\"session_dreams\"}");
    assert_eq!(status, 0);
    assert_error(&reply, "unknown-event", "session_dreams");
}

#[test]
fn a_payload_of_the_wrong_type_is_an_error_and_an_absent_one_is_not() {
    for payload in [
        json!([]),
        json!([1]),
        json!("text"),
        json!({ "reason": 5 }),
        json!({ "customInstructions": ["a"] }),
    ] {
        let call = Call::compact(&session(), "kept").with("payload", payload);
        let (status, reply) = hook(&call.inline_bytes());
        assert_eq!(status, 0, "{reply}");
        assert_error(&reply, "bad-envelope", "payload");
    }
    let (_, reply) = hook(&Call::compact(&session(), "kept").without("payload").inline_bytes());
    assert!(reply["result"].is_object(), "{reply}");
}

#[test]
fn a_session_that_is_missing_or_of_the_wrong_type_is_an_error() {
    let call = Call::compact(&session(), "kept");
    let plain = serde_json::to_vec(&call.envelope).expect("JSON");
    let (_, reply) = hook(&plain);
    assert_error(&reply, "bad-envelope", "session");

    let (_, reply) = hook(&call.bytes_with(json!({ "id": "s", "cwd": "" })));
    assert_error(&reply, "bad-envelope", "neither `file` nor `branch`");

    for branch in [json!({}), json!("entries"), json!(5)] {
        let (_, reply) = hook(&call.bytes_with(json!({ "id": "s", "cwd": "", "branch": branch })));
        assert_error(&reply, "bad-envelope", "branch");
    }
    // What is no entry is passed over, like a damaged line.
    let nothing = json!({ "id": "s", "cwd": "", "branch": [5, null, "x", {}] });
    assert_eq!(hook(&call.bytes_with(nothing)), (0, json!({ "protocol": 1 })));

    let (status, reply) = hook(&call.bytes_with(json!({ "id": 5, "cwd": "", "branch": [] })));
    assert_eq!(status, 2, "{reply}");
    assert_error(&reply, "bad-envelope", "`session.id`: expected a string, found integer `5`");
}

#[test]
fn a_leaf_is_a_text_or_null() {
    let file = TempSession::of(&session());
    for leaf in [json!(5), json!([]), json!({ "id": "x" }), json!(true)] {
        let field = json!({
            "id": session().id, "cwd": "", "file": file.path(), "leafId": leaf,
        });
        let (_, reply) = hook(&Call::compact(&session(), "kept").bytes_with(field));
        assert_error(&reply, "bad-envelope", "`session.leafId` is neither a text nor null");
    }
}

#[test]
fn an_id_that_stands_twice_is_an_error_inline() {
    let line = json!({ "type": "message", "id": "a", "parentId": null, "message": { "role": "user", "content": "x" } });
    let field = json!({ "id": "s", "cwd": "", "branch": [line, line] });
    let (_, reply) = hook(&Call::compact(&session(), "kept").bytes_with(field));
    assert_error(&reply, "bad-envelope", "two entries of `session.branch` have the id \"a\"");
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_it_should_be() {
    for (field, value, says) in [
        (
            "host",
            json!({ "hasUI": "yes" }),
            "`host.hasUI`: expected a boolean, found string \"yes\"",
        ),
        ("host", json!(5), "`host`: expected an object, found integer `5`"),
        ("cut", json!({ "firstKeptEntryId": 7 }), "`cut.firstKeptEntryId`: expected a string"),
        ("cut", json!({}), "`cut.firstKeptEntryId` is missing"),
        (
            "model",
            json!({ "provider": "p", "id": "m", "contextWindow": "big" }),
            "`model.contextWindow`: expected a number",
        ),
        (
            "contextFiles",
            json!([{ "path": "a", "content": "b" }, { "path": 1 }]),
            "`contextFiles[1].path`: expected a string",
        ),
        ("now", json!(1.5), "`now`: expected a whole number"),
        ("answers", json!({ "cap-1": 5 }), "`answers.cap-1`: expected an object"),
        ("settings", json!([]), "`settings`: expected an object"),
        ("payload", json!({ "reason": 5 }), "`payload.reason`: expected a string"),
        (
            "payload",
            json!({ "willRetry": null }),
            "`payload.willRetry`: expected a boolean, found null",
        ),
    ] {
        let call = Call::compact(&session(), "kept").with(field, value);
        let (_, reply) = hook(&call.inline_bytes());
        assert_error(&reply, "bad-envelope", says);
        let message = reply["error"]["message"].as_str().expect("a text");
        for ours in ["struct ", "RawValue", "i64", "u64", "f64", " at line "] {
            assert!(!message.contains(ours), "{message}");
        }
    }
}

/// What is quoted in an error can be anything, of any length.
#[test]
fn an_error_is_one_line_that_somebody_reads() {
    let long = "\u{1b}[2J\n".repeat(100_000);
    for envelope in [
        json!({ "protocol": { "a": long } }),
        json!({ "protocol": 1, "event": long }),
        json!({ "protocol": 1, "event": "command", "payload": { "name": long }, "session": { "branch": [] } }),
        json!({ "protocol": 1, "event": "session_start", "session": { "file": long, "id": "x" } }),
        json!({ "protocol": 1, "event": "session_start", "now": long }),
        json!({ "protocol": 1, "event": "tool", "payload": { "name": long } }),
    ] {
        let (_, reply) = hook(envelope.to_string().as_bytes());
        let message = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply:.300}"));
        assert!(
            message.chars().count() <= 601 && !message.contains(['\u{1b}', '\n']),
            "{message:.700?}"
        );
    }
    // What is only ignored is said in a notice.
    let settings = json!({ "method": long });
    let envelope = json!({ "protocol": 1, "event": "session_start", "session": { "branch": [] }, "settings": settings });
    let (_, reply) = hook(envelope.to_string().as_bytes());
    let notices = reply["effects"].as_array().expect("effects");
    let notice = notices.iter().find(|effect| effect["type"] == "notify").expect("a notice");
    let text = notice["message"].as_str().expect("a text");
    assert!(text.chars().count() < 200 && !text.contains(['\u{1b}', '\n']), "{text:.300?}");
}

#[test]
fn a_cut_that_is_missing_or_half_is_an_error() {
    let (_, reply) = hook(&Call::compact(&session(), "kept").without("cut").inline_bytes());
    assert_error(&reply, "bad-envelope", "cut");
    let half = Call::compact(&session(), "kept").with("cut", json!({ "tokensBefore": 5 }));
    let (status, reply) = hook(&half.inline_bytes());
    assert_eq!(status, 2, "{reply}");
    assert_error(&reply, "bad-envelope", "firstKeptEntryId");
}

#[test]
fn unknown_fields_are_ignored_and_absent_ones_have_defaults() {
    let mut call = Call::compact(&session(), "kept").with("fromTheFuture", json!({ "x": 1 }));
    call.envelope["host"]["novelty"] = json!([1]);
    call.envelope["cut"]["novelty"] = json!(true);
    call.envelope["payload"]["novelty"] = json!(null);
    let (status, reply) = hook(&call.without("host").inline_bytes());
    assert_eq!(status, 0);
    assert!(reply["result"].is_object(), "{reply}");
}

#[test]
fn a_call_that_is_recorded_says_what_it_found_out_and_replays_without_its_file() {
    let method = session().state("stet.method", json!({ "method": "verbatim" }));
    let call = Call::compact(&method, "kept").with("record", json!(true));
    let reply = call.both();
    assert_eq!(reply["resolved"]["settings"]["method"], "verbatim", "{reply}");
    let mut again =
        Call::compact(&method, "kept").with("settings", reply["resolved"]["settings"].clone());
    again.envelope["dryRun"] = true.into();
    let replayed = again.inline();
    assert_eq!(replayed["result"], reply["result"]);
    assert_eq!(replayed.get("resolved"), None);
}
