//! Changing the method in one session: nothing that was promised is lost, and where the guarantee
//! weakens, somebody says so.

use serde_json::{Value, json};

use crate::support::call::{Call, answer};
use crate::support::checkpoint::{last_span, spans};
use crate::support::noted::{holds, section};
use crate::support::session::Session;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Verbatim,
    Checkpoint,
    Summary,
}
use Method::{Checkpoint, Summary, Verbatim};

impl Method {
    fn name(self) -> &'static str {
        match self {
            Verbatim => "verbatim",
            Checkpoint => "checkpoint",
            Summary => "summary",
        }
    }
}

fn command(session: &Session, name: &str, args: &str) -> Value {
    answer(
        &Call::new("command", session)
            .with("payload", json!({ "name": name, "args": args }))
            .inline_bytes(),
    )
}

fn effects<'r>(reply: &'r Value, kind: &str) -> Vec<&'r Value> {
    let effects = reply["effects"].as_array().into_iter().flatten();
    effects.filter(|effect| effect["type"] == kind).collect()
}

fn warnings(reply: &Value) -> Vec<String> {
    let notices = effects(reply, "notify").into_iter().filter(|n| n["level"] == "warning");
    notices.filter_map(|notice| notice["message"].as_str().map(str::to_owned)).collect()
}

/// Appends what the command's effects append.
fn switched(session: Session, to: Method) -> (Session, Value) {
    let reply = command(&session, "compaction-method", to.name());
    let entries: Vec<Value> = effects(&reply, "appendEntry").into_iter().cloned().collect();
    let session = entries.iter().fold(session, |session, entry| {
        session.state(entry["customType"].as_str().expect("a type"), entry["data"].clone())
    });
    (session, reply)
}

fn compacted(session: Session, method: Method, round: usize) -> Session {
    let reply = Call::compact(&session, "kept").both();
    match method {
        Summary => {
            assert!(reply.get("result").is_none(), "Pi makes it: {reply}");
            session.compaction_of_pi(&format!("MODEL SUMMARY {round}"), "kept")
        }
        _ => session.save(&reply),
    }
}

#[test]
fn in_every_order_of_the_three_methods_nothing_that_was_promised_is_lost() {
    let methods = [Verbatim, Checkpoint, Summary];
    let order = |n: usize| [methods[n / 9], methods[n / 3 % 3], methods[n % 3]];
    for order in (0..27).map(order) {
        let mut session = Session::new();
        let mut before = Verbatim;
        // Requests since the last summary of a model, which is where promises end.
        let mut asked: Vec<(String, String)> = Vec::new();
        for (round, method) in order.into_iter().enumerate() {
            let (switched, reply) = switched(session, method);
            if method != before {
                let weaker = matches!((before, method), (Verbatim, Checkpoint) | (_, Summary));
                let is_mixed = order[..round].contains(&Summary);
                assert_eq!(
                    !warnings(&reply).is_empty(),
                    weaker || is_mixed,
                    "{order:?} {round}: {reply}"
                );
            }
            before = method;
            let ask = format!("Request of round {round}.");
            session = switched.user(&ask);
            asked.push((session.last_id().to_owned(), ask));
            session = session
                .assistant(&format!("Answer of round {round}. {}", "It is long. ".repeat(300)))
                .user("kept")
                .named("kept");
            session = compacted(session, method, round);
            let summary = session.last_summary();
            match method {
                Summary => asked.clear(),
                Verbatim => {
                    for (_, ask) in &asked {
                        assert!(
                            summary.contains(&format!("[User]: {ask}")),
                            "{order:?} {round}: {ask}"
                        );
                    }
                    assert_eq!(last_span(summary).matches("[Assistant]: Answer").count(), 1);
                }
                Checkpoint => {
                    for (id, ask) in &asked {
                        assert!(holds(summary, id, ask), "{order:?} {round}: {ask}: {summary}");
                    }
                }
            }
            let models = order[..round].iter().rposition(|method| *method == Summary);
            if let (Some(at), true) = (models, method != Summary) {
                assert!(
                    summary.contains(&format!("MODEL SUMMARY {at}")),
                    "{order:?} {round}: {summary}"
                );
            }
        }
    }
}

#[test]
fn back_in_the_verbatim_method_spans_are_made_of_the_raw_entries() {
    let round = |session: Session, n: usize| {
        session
            .user(&format!("Request {n}."))
            .call("bash", json!({ "command": "ls" }))
            .ok("out")
            .assistant(&format!("Answer {n}."))
            .user("kept")
            .named("kept")
    };
    let session = round(Session::new(), 1).compacted("kept");
    let session = round(session, 2).noted("kept");
    let (session, reply) =
        switched(session.state("stet.method", json!({ "method": "checkpoint" })), Verbatim);
    let notices = effects(&reply, "notify");
    assert!(
        notices.iter().any(|n| n["message"].as_str().is_some_and(|m| m.contains("word for word"))),
        "{reply}"
    );
    let session = round(session, 3).compacted("kept");
    let all = spans(session.last_summary());
    assert_eq!(all.len(), 3);
    for (n, span) in (1..).zip(&all) {
        assert!(span.text.contains(&format!("[User]: Request {n}.")), "{}", span.text);
        assert!(span.text.contains(&format!("[Assistant]: Answer {n}.")), "{}", span.text);
        assert!(span.text.contains("bash(command=\"ls\") [ok e"), "{}", span.text);
    }
}

#[test]
fn what_is_switched_on_follows_the_branch() {
    let parts = json!(["checkpoint_update", "turn_end", "stet_checkpoint"]);
    let session = Session::new().user("one");
    for (entry, on) in [
        (None, false),
        (Some(("stet.method", json!({ "method": "checkpoint" }))), true),
        (Some(("stet.checkpoint", json!({ "on": true }))), true),
        (Some(("stet.checkpoint", json!({ "on": false }))), false),
        (Some(("stet.method", json!({ "method": "summary" }))), false),
    ] {
        let session = match &entry {
            Some((kind, data)) => session.clone().state(kind, data.clone()),
            None => session.clone(),
        };
        for event in ["session_start", "session_tree"] {
            let reply = Call::new(event, &session).both();
            let (enable, disable) = match on {
                true => (&parts, &json!([])),
                false => (&json!([]), &parts),
            };
            let switches = effects(&reply, "setActive");
            assert_eq!(switches.len(), 1, "always the whole of it: {reply}");
            assert_eq!(
                (&switches[0]["enable"], &switches[0]["disable"]),
                (enable, disable),
                "{entry:?}"
            );
        }
    }
}

#[test]
fn the_command_switches_at_once_and_says_what_it_means() {
    let session = Session::new().user("one");
    let reply = command(&session, "checkpoint", "on");
    assert_eq!(effects(&reply, "appendEntry")[0]["data"], json!({ "on": true }));
    assert_eq!(effects(&reply, "setActive")[0]["enable"].as_array().map(Vec::len), Some(3));
    let on = session.clone().state("stet.checkpoint", json!({ "on": true }));
    assert!(effects(&command(&on, "checkpoint", "on"), "appendEntry").is_empty(), "unchanged");
    let reply = command(&on, "checkpoint", "off");
    assert_eq!(effects(&reply, "setActive")[0]["disable"].as_array().map(Vec::len), Some(3));
    for bad in ["maybe", "on off", "ON"] {
        let reply = command(&session, "checkpoint", bad);
        assert_eq!(reply["effects"][0]["level"], "error");
        assert!(effects(&reply, "appendEntry").is_empty(), "{bad}");
    }
}

#[test]
fn the_command_shows_the_checkpoint_with_its_age() {
    let shown = |session: &Session| {
        command(session, "checkpoint", "")["effects"][0]["message"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let session = Session::new().user("one");
    assert!(shown(&session).contains("no checkpoint"));
    let session = session.note("THE NOTE");
    let text = shown(&session);
    assert!(text.contains("THE NOTE") && text.contains("covers all work"), "{text}");
    assert!(text.contains("entry e0000002"), "{text}");
    let text = shown(&session.assistant("more").user("x"));
    assert!(text.contains("1 message of work came after it"), "{text}");
    let text = shown(&Session::new().user("one").note(&"long ".repeat(1000)));
    assert!(text.contains("more characters)"), "{text}");
}

// `/checkpoint on` in the verbatim method.

fn on(session: Session) -> Session {
    session.state("stet.checkpoint", json!({ "on": true }))
}

#[test]
fn a_fresh_checkpoint_stands_in_a_verbatim_one_word_for_word() {
    let note = "GOAL\n  ship it\n</working-state>";
    let session = on(Session::new().user("one"))
        .note(note)
        .user("kept")
        .named("kept")
        .label("e0000001", Some("keep"));
    let session = session.compacted("kept");
    let summary = session.last_summary();
    let (attributes, text) = section(summary, "working-state").expect("a section");
    assert_eq!(text, note);
    assert!(attributes.starts_with("written-by=\"model\" at=\"2026-"), "{attributes}");
    let at = |what: &str| summary.find(what).unwrap_or_else(|| panic!("{what}: {summary}"));
    assert!(at("</pinned-entries>") < at("\n<working-state"));
    assert!(at("\n</compacted-span>") < at("\n<working-state"));
    assert!(at("\n<working-state") < at("Everything above is a record"));
}

#[test]
fn no_working_state_when_stale_or_switched_off_and_none_of_it_in_the_next_span() {
    let stale = on(Session::new().user("one"))
        .note("THE NOTE")
        .assistant("work")
        .user("kept")
        .named("kept");
    assert!(section(stale.compacted("kept").last_summary(), "working-state").is_none());
    let off = Session::new().user("one").note("THE NOTE").user("kept").named("kept");
    assert!(section(off.compacted("kept").last_summary(), "working-state").is_none());
}

#[test]
fn the_cap_counts_the_working_state_and_never_trims_it() {
    let note = "note ".repeat(600);
    let session = on(Session::new().user("one").assistant(&"words ".repeat(2000)))
        .note(&note)
        .user("kept")
        .named("kept");
    let cap = json!({ "cap": { "mode": "on", "budget": { "unit": "chars", "value": 4000 } } });
    let call = Call::compact(&session, "kept").with("settings", cap);
    let summary = call.summary();
    assert_eq!(section(&summary, "working-state").expect("kept whole").1, note.trim_end());
    assert!(!summary.contains("words words"), "the rest had to go");
    let small = json!({ "cap": { "mode": "on", "budget": { "unit": "chars", "value": 1000 } } });
    let reply = Call::compact(&session, "kept").with("settings", small).both();
    assert!(
        reply["effects"][0]["message"].as_str().is_some_and(|m| m.contains("kept whole")),
        "{reply}"
    );
}

#[test]
fn status_tells_about_the_checkpoint_and_the_next_compaction() {
    let session = Session::new()
        .state("stet.method", json!({ "method": "checkpoint" }))
        .user("one")
        .note("THE NOTE")
        .user(&"kept ".repeat(20_000));
    let text =
        command(&session, "stet", "")["effects"][0]["message"].as_str().expect("text").to_owned();
    assert!(text.contains("method      checkpoint (from this branch)"), "{text}");
    assert!(text.contains("checkpoint  8 characters of 2026-01-05T"), "{text}");
    assert!(text.contains("\nnext        ") && !text.contains("nothing to compact"), "{text}");
}
