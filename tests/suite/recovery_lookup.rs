//! The lookup, step by step, with a model that answers what a test writes down.

use pi_stet::recovery::LOOKUP;
use serde_json::{Value, json};

use crate::support::call::{Call, TempSession};
use crate::support::lookup::{
    QUESTION, calls, failure, grep, last_page, lookup, message, run, says, session,
};
use crate::support::session::Session;

#[test]
fn a_search_and_an_answer() {
    let session = session();
    let id = session.id_of("output");
    let run = run(
        lookup(&session),
        json!({}),
        &[
            grep("answer is"),
            says(&format!(
                "4711 kilograms, as \"the answer is 4711 kilograms of sand\" in entry {id} says."
            )),
        ],
    );
    assert_eq!((run.status(), run.is_error()), ("answered", false));
    assert!(
        !run.text().contains("unverified") && !run.text().contains("Incomplete"),
        "{}",
        run.text()
    );
    assert_eq!(run.result["usage"]["totalTokens"], 24);
    assert_eq!(run.result["usage"]["cost"]["total"], 1);
    let first = &run.asked[0]["complete"];
    let opening = first["messages"][0]["content"][0]["text"].as_str().expect("a text");
    assert!(
        opening.contains(QUESTION) && opening.contains("the answer is 4711 kilograms of sand"),
        "{opening}"
    );
    assert!(opening.chars().count() < 4_400);
    let tools: Vec<_> =
        first["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(tools, ["list_entries", "grep", "show_entry"]);
    assert_eq!(first["sessionId"], run.asked[1]["complete"]["sessionId"]);
    assert!(last_page(&run.asked[1]).contains("the answer is 4711"));
    assert_eq!(run.asked[1]["progress"], "lookup, step 2: grep answer is");
}

#[test]
fn invented_citations_are_marked() {
    let session = session();
    let answer = "Entry 00000000 says \"the answer is 4712 kilograms of gravel\".";
    let run = run(lookup(&session), json!({}), &[says(answer)]);
    assert_eq!(
        run.text(),
        "Entry 00000000 [unverified: no such entry] says \"the answer is 4712 kilograms of gravel\" [unverified: stands nowhere in the record]."
    );
}

#[test]
fn the_turns_end_in_a_write_up_without_tools() {
    let session = session();
    let turns = json!({ "lookupTurns": 2 });
    for (write_up, found) in [
        (says("What I have: 4711."), "What I have: 4711."),
        (message(json!([]), "stop"), "searching for it"),
        (failure("provider", "503 overloaded"), "searching for it"),
        (message(json!([]), "aborted"), "searching for it"),
        (says(&"long ".repeat(10_000)), "long long"),
    ] {
        let with_text = message(
            json!([
                { "type": "text", "text": "searching for it" },
                { "type": "toolCall", "id": "c", "name": "grep", "arguments": { "pattern": "two" } },
            ]),
            "toolUse",
        );
        let run = run(lookup(&session), turns.clone(), &[grep("one"), with_text, write_up]);
        let last = &run.asked[2]["complete"];
        assert!(last["tools"].as_array().expect("tools").is_empty());
        assert!(last["messages"].to_string().contains("The search is over"));
        assert!(run.text().starts_with(found), "{}", run.text());
        assert!(run.text().chars().count() <= 12_000);
        assert_eq!(run.text().matches("[Incomplete: ").count(), 1, "{}", run.text());
        assert_eq!(run.text().matches("use context_grep and context_show_entry").count(), 1);
        assert!(run.text().ends_with("instead of asking again."), "{}", run.text());
        assert_eq!(run.status(), "partial");
    }
}

#[test]
fn pages_that_were_offered_cost_no_turn_and_the_ceiling_ends_them() {
    let session = session();
    let turns = json!({ "lookupTurns": 1 });
    let pin = session.last_id();
    let page =
        |n: u32| calls(&[("grep", json!({ "pattern": "row", "page": n, "throughEntry": pin }))]);
    let run =
        run(lookup(&session), turns.clone(), &[grep("row"), page(2), page(3), says("enough")]);
    assert!(last_page(&run.asked[1]).contains(&format!(
        "; next: grep with the same parameters and {{\"page\":2,\"throughEntry\":\"{pin}\"}}"
    )));
    assert!(run.asked[1]["complete"]["messages"].to_string().contains("No more new searches"));
    assert!(last_page(&run.asked[2]).contains("[page 2 of"));
    // Three calls in all: the third page ends the search.
    assert!(run.asked[3]["complete"]["messages"].to_string().contains("3-call total limit"));
    assert_eq!(run.status(), "partial");
}

#[test]
fn what_was_not_offered_costs_a_turn() {
    let session = session();
    let pin = session.last_id();
    let page2 = json!({ "pattern": "row", "page": 2, "throughEntry": pin });
    for second in [
        calls(&[("grep", json!({ "pattern": "row", "page": 2 }))]),
        calls(&[("grep", json!({ "pattern": "row", "page": 3, "throughEntry": pin }))]),
        calls(&[("grep", json!({ "pattern": "rows", "page": 2, "throughEntry": pin }))]),
        calls(&[("grep", page2.clone()), ("grep", page2.clone())]),
        calls(&[("grep", page2.clone()), ("list_entries", json!({}))]),
        calls(&[("write_file", json!({}))]),
    ] {
        let run = run(
            lookup(&session),
            json!({ "lookupTurns": 1 }),
            &[grep("row"), second, says("done")],
        );
        let messages = &run.asked[2]["complete"]["messages"];
        assert!(messages.to_string().contains("1-turn limit"), "not run: {messages}");
        assert_eq!(run.status(), "partial");
    }
    // With the defaults written out it is the same page.
    let same = calls(&[(
        "grep",
        json!({ "pattern": "row", "page": 2, "throughEntry": pin, "caseSensitive": false }),
    )]);
    let run =
        run(lookup(&session), json!({ "lookupTurns": 1 }), &[grep("row"), same, says("done")]);
    assert!(last_page(&run.asked[2]).contains("[page 2 of"));
    assert_eq!(run.status(), "answered");
}

#[test]
fn calls_of_one_response_and_their_pages_are_bounded() {
    let session = session();
    let many: Vec<(&str, Value)> =
        (0..50).map(|_| ("show_entry", json!({ "ids": [session.id_of("output")] }))).collect();
    let answers = [calls(&many), calls(&many), calls(&many), calls(&many), says("done")];
    let run = run(lookup(&session), json!({}), &answers);
    for reply in &run.asked {
        let messages = reply["complete"]["messages"].as_array().expect("messages");
        let pages: usize = messages
            .iter()
            .filter(|message| message["role"] == "toolResult")
            .map(|message| message["content"][0]["text"].as_str().expect("a text").len())
            .sum();
        assert!(pages <= 230_000, "{pages}");
    }
    let messages = run.asked[1]["complete"]["messages"].to_string();
    assert_eq!(messages.matches("Not run: 8 searches at most in one response.").count(), 42);
    // A small model gets less.
    let small = lookup(&session)
        .with("model", json!({ "provider": "p", "id": "m", "contextWindow": 16_000 }));
    let run = run_of_small(small, &answers);
    assert!(run < 80_000, "{run}");
}

fn run_of_small(call: Call, answers: &[Value]) -> usize {
    let run = run(call, json!({}), answers);
    let messages = run.asked.last().expect("a step")["complete"]["messages"]
        .as_array()
        .expect("messages")
        .clone();
    let results = messages.iter().filter(|message| message["role"] == "toolResult");
    results.map(|message| message["content"][0]["text"].as_str().map_or(0, str::len)).sum()
}

#[test]
fn a_provider_that_fails_costs_no_findings_and_no_attempt() {
    let session = session();
    let first = run(lookup(&session), json!({}), &[failure("provider", "503 overloaded")]);
    assert_eq!((first.status(), first.is_error()), ("failed", true));
    assert!(first.text().starts_with("context_lookup failed: 503 overloaded"), "{}", first.text());
    assert!(
        first.text().contains("the answer is 4711 kilograms"),
        "what fits best: {}",
        first.text()
    );

    let with_text = message(
        json!([
            { "type": "text", "text": "So far: 4711." },
            { "type": "toolCall", "id": "c", "name": "grep", "arguments": { "pattern": "sand" } },
        ]),
        "toolUse",
    );
    for end in [failure("provider", "503 overloaded"), message(json!([]), "error")] {
        let later = run(lookup(&session), json!({}), &[with_text.clone(), end]);
        assert!(later.text().starts_with("So far: 4711."), "{}", later.text());
        assert_eq!((later.status(), later.is_error()), ("failed", true));
        assert!(later.result["usage"]["totalTokens"].as_u64() >= Some(12));
    }
    // The failed attempts stand on the branch and the next one may go.
    let again = session
        .error("context_lookup failed: 503")
        .but(|entry| entry["message"]["details"] = json!({ "status": "failed" }))
        .call(LOOKUP, json!({ "question": QUESTION }));
    assert_eq!(run(lookup(&again), json!({}), &[says("4711")]).status(), "answered");
}

#[test]
fn without_a_model_the_entries_themselves_are_the_answer() {
    let session = session();
    let run = run(lookup(&session).without("model"), json!({}), &[]);
    assert_eq!((run.status(), run.is_error()), ("noModel", false));
    assert!(run.text().contains("the answer is 4711 kilograms of sand"), "{}", run.text());
    assert!(run.text().contains(&session.id_of("output")) && run.text().chars().count() <= 12_000);
    let late =
        self::run(lookup(&session), json!({}), &[failure("noModel", "no model is selected")]);
    assert_eq!(late.status(), "noModel");
    let unresolved = self::run(
        lookup(&session),
        json!({ "lookupModel": "nobody/nothing" }),
        &[failure("unresolvedModel", "there is no model nobody/nothing")],
    );
    assert_eq!(unresolved.asked[0]["complete"]["model"], "nobody/nothing");
    assert_eq!((unresolved.status(), unresolved.is_error()), ("failed", true));
    assert!(
        unresolved.text().contains("there is no model nobody/nothing"),
        "{}",
        unresolved.text()
    );
}

#[test]
fn an_answer_without_text_or_cut_short_says_so() {
    let session = session();
    let empty = run(lookup(&session), json!({}), &[says("  ")]);
    assert_eq!(empty.status(), "failed");
    assert!(empty.text().starts_with("The model gave no answer"), "{}", empty.text());
    let cut = message(json!([{ "type": "text", "text": "It was 47" }]), "length");
    let cut = run(lookup(&session), json!({}), &[cut]);
    assert_eq!(cut.status(), "partial");
    assert!(cut.text().starts_with("It was 47\n\n[Incomplete: "), "{}", cut.text());
}

/// What each entry behind the last lookup means for the next one.
#[test]
fn one_attempt_until_other_work_is_done() {
    let used = || {
        session()
            .ok("4711")
            .but(|entry| entry["message"]["details"] = json!({ "status": "answered" }))
            .named("used")
    };
    let question = || json!({ "question": QUESTION });
    let blocked = |session: Session, limit: u64| {
        let reply = lookup(&session).with("settings", json!({ "lookupMaxCalls": limit })).inline();
        reply["result"]["details"]["status"] == "blocked"
    };
    assert!(blocked(used().call(LOOKUP, question()), 1));
    assert!(!blocked(used().call(LOOKUP, question()), 2));
    assert!(!blocked(used().call(LOOKUP, question()), 0), "0 is no limit");
    let still_blocked: Vec<(&str, Session)> = vec![
        ("narration", used().assistant("Hm.").call(LOOKUP, question())),
        (
            "our tools",
            used().call("context_grep", json!({ "pattern": "x" })).ok("x").call(LOOKUP, question()),
        ),
        ("metadata", used().model_change().label("used", Some("x")).call(LOOKUP, question())),
        ("a custom message", used().custom_message("x", "y").call(LOOKUP, question())),
    ];
    for (what, session) in still_blocked {
        assert!(blocked(session, 1), "{what}");
    }
    let open_again: Vec<(&str, Session)> = vec![
        ("a user message", used().user("More.").call(LOOKUP, question())),
        ("a command", used().bash("ls", 0).call(LOOKUP, question())),
        ("another tool", used().call("read", json!({})).ok("x").call(LOOKUP, question())),
        (
            "another tool that failed",
            used().call("read", json!({})).error("x").call(LOOKUP, question()),
        ),
        ("another branch", used().at("output").call(LOOKUP, question())),
    ];
    for (what, session) in open_again {
        assert!(!blocked(session, 1), "{what}");
    }
}

#[test]
fn of_siblings_only_the_first_goes() {
    let siblings = Session::new().user("x").calls(vec![
        (LOOKUP, json!({ "question": QUESTION })),
        (LOOKUP, json!({ "question": QUESTION })),
        (LOOKUP, json!({ "question": QUESTION })),
    ]);
    let status = |id: &str| {
        let payload =
            json!({ "name": LOOKUP, "toolCallId": id, "params": { "question": QUESTION } });
        let reply = Call::new("tool", &siblings).with("payload", payload).inline();
        (reply["complete"].is_object(), reply["result"]["details"]["status"].clone())
    };
    assert_eq!(status("call_1"), (true, Value::Null));
    assert_eq!(status("call_2"), (false, "blocked".into()));
    assert_eq!(status("call_3"), (false, "blocked".into()));
}

#[test]
fn three_failures_in_a_row_are_enough() {
    let mut session = session();
    for _ in 0..3 {
        session = session
            .error("context_lookup failed")
            .but(|entry| entry["message"]["details"] = json!({ "status": "failed" }))
            .call(LOOKUP, json!({ "question": QUESTION }));
    }
    let reply = lookup(&session).inline();
    let text = reply["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.contains("failed three times in a row") && text.contains("context_grep"),
        "{text}"
    );
}

#[test]
fn another_session_can_be_searched_in_place_of_this_one() {
    let other = Session::new()
        .user("the password is swordfish")
        .named("a")
        .user("swordfish was abandoned")
        .at("a")
        .assistant("noted");
    let file = TempSession::of(&other);
    let path = file.path().to_str().expect("a path");
    let grep = |path: &str| {
        let payload = json!({ "name": "context_grep", "toolCallId": "c", "params": { "pattern": "swordfish" } });
        let call = Call::new("tool", &session()).with("payload", payload);
        call.with("settings", json!({ "lookupSessionFile": path })).inline()
    };
    let text = grep(path)["result"]["content"][0]["text"].clone();
    assert!(text.as_str().is_some_and(|text| text.starts_with("1 matching line ")), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.jsonl");
    std::fs::write(&empty, "").expect("a file");
    let notes = folder.path().join("notes.jsonl");
    std::fs::write(&notes, "just notes\n").expect("a file");
    let missing = folder.path().join("missing.jsonl");
    for path in [
        "relative.jsonl",
        folder.path().to_str().unwrap(),
        empty.to_str().unwrap(),
        notes.to_str().unwrap(),
        missing.to_str().unwrap(),
    ] {
        let reply = grep(path);
        assert_eq!(reply["result"]["isError"], true, "{path}: {reply}");
        let text = reply["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("PI_STET_LOOKUP_SESSION_FILE: "), "{text}");
    }
    assert!(!missing.exists());
}
