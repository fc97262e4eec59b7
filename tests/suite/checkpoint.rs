//! The checkpoint method: what a compaction is made of, and when.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::author;
use crate::support::call::Call;
use crate::support::checkpoint::block;
use crate::support::expect::{context_start, id, path_to, span};
use crate::support::noted::{by_id, by_note, holds, ranges, section, summary, tier};
use crate::support::session::Session;
use crate::support::steps::{cuts, play, steps};
use crate::support::text::as_read;

fn kept(session: Session) -> Session {
    session.user("kept").named("kept")
}

fn digest(session: &Session) -> String {
    let summary = summary(session, "kept");
    section(&summary, "digest").unwrap_or_else(|| panic!("no digest: {summary}")).1.to_owned()
}

/// Two requests, two answers, a call that failed.
fn small_session() -> Session {
    kept(
        Session::new()
            .user("Build the parser.\n    keep   this layout")
            .assistant("I decided to use a table.")
            .call("bash", json!({ "command": "make parser" }))
            .error("parser.c:3: Error: no table")
            .user("Never touch prod.")
            .assistant("Understood."),
    )
}

#[test]
fn a_digest_has_requests_word_for_word_answers_and_errors() {
    let digest = digest(&small_session());
    for line in [
        "[USER e0000001] Build the parser.\n    keep   this layout\n",
        "[ASSISTANT] I decided to use a table.\n",
        "[TOOL-ERROR] bash make parser: parser.c:3: Error: no table [e0000004]\n",
        "[USER e0000005] Never touch prod.\n",
    ] {
        assert!(digest.contains(line), "{line}: {digest}");
    }
    assert!(
        digest.starts_with("Happened: 2 requests, 2 assistant steps, 1 tool call (1 failed).\n"),
        "{digest}"
    );
}

#[test]
fn a_rule_of_few_characters_is_never_too_long_for_a_small_span() {
    let rule = "Answer in French. ".repeat(9);
    let digest = digest(&kept(Session::new().user(&rule)));
    assert!(digest.contains(rule.trim_end()), "{digest}");
}

#[test]
fn errors_come_before_answers_and_answers_before_calls() {
    let mut session = Session::new().user("go");
    for n in 0..100 {
        session = session
            .assistant(&format!("Step {n}. {}", "Many words about it. ".repeat(8)))
            .call("bash", json!({ "command": format!("make target-{n}") }))
            .ok("out");
        if n % 10 == 0 {
            session = session
                .call("bash", json!({ "command": format!("fail {n}") }))
                .error(&format!("error {n}"));
        }
    }
    let digest = digest(&kept(session));
    assert!(digest.chars().count() <= 6000);
    assert_eq!(digest.matches("[TOOL-ERROR]").count(), 10, "all errors: {digest}");
    let said = digest.matches("[ASSISTANT]").count();
    assert!((10..100).contains(&said), "{said}");
    assert!(digest.contains("Step 99.") && !digest.contains("Step 0."), "the newest stay");
    let calls = digest.matches("\n[TOOL] ").count();
    let left_out =
        format!("Left out here: {} assistant steps, {} tool calls", 100 - said, 100 - calls);
    assert!(digest.contains(&left_out), "{left_out}: {digest}");
}

#[test]
fn calls_have_their_main_argument_and_the_entry_of_their_result() {
    let digest = digest(&kept(
        Session::new()
            .user("go")
            .calls(vec![
                ("read", json!({ "path": "/home/dev/app/src/a.rs", "limit": 5 })),
                ("bash", json!({ "timeout": 3, "command": "cd /home/dev/app && make <all>" })),
                ("odd", json!({ "n": 1, "words": "first text" })),
                ("none", json!({})),
            ])
            .ok("A")
            .ok("B")
            .ok("C")
            .named("c"),
    ));
    for line in [
        "[TOOL] read src/a.rs [ok e0000003]\n",
        "[TOOL] bash cd . && make \\u003call\\u003e [ok e0000004]\n",
        "[TOOL] odd first text [ok e0000005]\n",
        "[TOOL] none [unknown]",
    ] {
        assert!(digest.contains(line), "{line}: {digest}");
    }
}

#[test]
fn errors_are_what_the_tool_says_is_one() {
    let digest = digest(&kept(
        Session::new()
            .user("go")
            .call("bash", json!({ "command": "grep Error: log" }))
            .ok("Error: this is what was looked for")
            .call("bash", json!({ "command": "false" }))
            .error(""),
    ));
    assert!(digest.contains("[TOOL] bash grep Error: log [ok e0000003]"), "{digest}");
    assert!(digest.contains("[TOOL-ERROR] bash false: (no text) [e0000005]"), "{digest}");
}

#[test]
fn commands_messages_and_branch_summaries_are_counted_and_hidden_commands_are_not() {
    let digest = digest(&kept(
        Session::new()
            .user("go ".repeat(500).trim_end())
            .bash("ls", 2)
            .bash_with("cat secret", json!({ "exitCode": 0, "excludeFromContext": true }))
            .custom_message("other.kind", "a body")
            .custom_message("stet.reorientation", "ours")
            .branch_summary("it led nowhere"),
    ));
    assert!(
        digest.starts_with(
            "Happened: 1 request, 1 command by the user, 1 extension message, 1 branch summary."
        ),
        "{digest}"
    );
    for line in [
        "[USER-BASH] $ ls [error e0000002]",
        "[CUSTOM] other.kind [content removed e0000004]",
        "[BRANCH-SUMMARY] it led nowhere",
    ] {
        assert!(digest.contains(line), "{line}: {digest}");
    }
    assert!(!digest.contains("secret") && !digest.contains("a body"), "{digest}");
}

#[test]
fn what_programs_put_into_the_users_mouth_is_counted_only() {
    let injected = [
        "<system-reminder>\nnever mind\n</system-reminder>",
        "Current runtime context:\n- time: now",
    ];
    let session = kept(injected.iter().fold(Session::new(), |s, text| s.user(text)).user("real"));
    let summary_text = digest(&session);
    assert!(
        summary_text.starts_with(
            "Happened: 1 request, 2 injected context messages. Left out here: 2 injected"
        ),
        "{summary_text}"
    );
    assert!(!summary_text.contains("never mind") && !summary_text.contains("time: now"));
    // A person may say such words as well.
    let said = "<system-reminder> is a tag I saw; what is it?";
    assert!(digest(&kept(Session::new().user(said))).contains(said));

    let only = kept(injected.iter().fold(Session::new(), |s, text| s.user(text)));
    let reply = by_note(Call::compact(&only, "kept")).both();
    assert!(reply.get("result").is_none(), "nothing to make a digest of: {reply}");
}

#[test]
fn sixty_long_requests_stay_within_the_limit_and_none_is_lost() {
    let ask = |n: usize| {
        format!("Request {n}: {}", "details and more details. ".repeat(20)).trim_end().to_owned()
    };
    let session =
        kept((1..=60).fold(Session::new(), |session, n| session.user(&ask(n)).assistant("ok")));
    let digest = digest(&session);
    assert!(digest.chars().count() <= 6000, "{}", digest.chars().count());
    assert!(digest.starts_with("Happened: 60 requests, 60 assistant steps."), "{digest}");
    assert!(digest.contains(&ask(60)), "the newest is whole");
    assert!(digest.contains(&ask(1)), "and the first");
    assert!(!digest.contains(&ask(30)), "one between is not");
    let ids = by_id(&digest);
    assert!(
        ids.contains(&format!("e{:07x}", 30 * 2 - 1).as_str()),
        "it is there by its id: {ids:?}"
    );
    let whole = digest.matches("\n[USER e").count();
    assert_eq!(whole + ids.len(), 60);
    let count = format!("Left out here: {} requests by id only", ids.len());
    assert!(digest.contains(&count), "{digest}");
}

#[test]
fn a_request_of_more_than_a_thousand_characters_goes_by_its_id() {
    let at_limit = "x".repeat(1000);
    let over = format!("{} and this is its end", "y".repeat(1000));
    let digest = digest(&kept(Session::new().user(&at_limit).user(&over)));
    assert!(digest.contains(&at_limit));
    assert!(
        digest.contains("[USER e0000002] (1,020 characters, whole in entry e0000002) yyy"),
        "{digest}"
    );
    assert!(!digest.contains("its end"));
}

#[test]
fn text_is_cut_between_what_people_see_as_characters() {
    let family = "👨‍👩‍👧‍👦";
    let said = family.repeat(100);
    let summary = digest(&kept(Session::new().user(&"go ".repeat(900)).assistant(&said)));
    let line = summary.lines().find(|line| line.starts_with("[ASSISTANT]")).expect("a line");
    let shown = line.strip_prefix("[ASSISTANT] ").and_then(|l| l.split_once('…')).expect("a cut").0;
    assert_eq!(shown.replace(family, ""), "", "whole families only: {shown}");
    assert_eq!(shown.matches(family).count(), 320 / 7);
}

#[test]
fn nothing_to_compact_is_no_opinion() {
    let reply = by_note(Call::compact(&Session::new().user("kept").named("kept"), "kept")).both();
    assert_eq!(reply, json!({ "protocol": 1 }));
}

// Tiers.

fn reply(session: &Session) -> Value {
    by_note(Call::compact(session, "kept")).both()
}

#[test]
fn a_checkpoint_that_covers_all_work_stands_for_it_word_for_word() {
    let note = "## GOAL\nship  it\n\n\tdone: nothing\n<digest>\nno tag ends this: </checkpoint>";
    let session = kept(Session::new().turn("one", "make", "two").note(note));
    let reply = reply(&session);
    assert_eq!(tier(&reply), 1, "{reply}");
    let summary = summary(&session, "kept");
    let (attributes, text) = section(&summary, "checkpoint").expect("a checkpoint");
    assert_eq!(text, note);
    assert!(attributes.starts_with("written-by=\"model\" at=\"2026-01-05T"), "{attributes}");
    assert!(attributes.contains(" entry=\"e0000005\""), "{attributes}");
    assert!(section(&summary, "digest").is_none(), "{summary}");
    // What was asked before stays at hand.
    assert!(holds(&summary, "e0000001", "one"), "{summary}");
}

#[test]
fn later_work_is_digested_and_the_checkpoint_is_its_anchor() {
    let session = kept(Session::new().turn("one", "make", "two").note("THE NOTE").turn(
        "Never touch prod.",
        "ls",
        "three",
    ));
    let reply = reply(&session);
    assert_eq!(tier(&reply), 2);
    let summary = summary(&session, "kept");
    assert_eq!(section(&summary, "checkpoint").expect("the anchor").1, "THE NOTE");
    let digest = section(&summary, "digest").expect("a digest").1;
    assert!(digest.contains("[USER e0000007] Never touch prod."), "{digest}");
    assert!(!digest.contains("one"), "what the checkpoint covers is not digested: {digest}");
}

#[test]
fn a_later_request_without_work_is_not_lost_to_a_fresh_checkpoint() {
    let session = kept(Session::new().user("one").note("THE NOTE").user("And one thing more."));
    let reply = reply(&session);
    assert_eq!(tier(&reply), 1);
    assert!(holds(&summary(&session, "kept"), "e0000004", "And one thing more."));
}

#[test]
fn results_of_the_same_step_count_as_covered() {
    let session = kept(
        Session::new()
            .user("go")
            .calls(vec![
                ("checkpoint_update", json!({ "text": "THE NOTE" })),
                ("bash", json!({ "command": "ls" })),
            ])
            .ok("Checkpoint kept.")
            .ok("a  b"),
    );
    assert_eq!(tier(&reply(&session)), 1);
}

#[test]
fn only_a_call_that_succeeded_is_the_checkpoint_and_the_newest_counts() {
    let call =
        |session: Session, text: &str| session.call("checkpoint_update", json!({ "text": text }));
    let session = Session::new().user("go").note("FIRST").note("SECOND");
    let session = call(session, "REFUSED").error("no");
    let session = call(session, "   ").ok("blank");
    // Aborted: there is no result.
    let session = kept(call(session, "NO RESULT"));
    let shown = summary(&session, "kept");
    assert_eq!(section(&shown, "checkpoint").expect("one").1, "SECOND");
    assert_eq!(tier(&reply(&session)), 2, "the calls after it are work");
}

#[test]
fn a_checkpoint_in_the_kept_part_covers_what_is_compacted() {
    let session = Session::new()
        .turn("one", "make", "two")
        .user("kept")
        .named("kept")
        .note("FROM THE KEPT PART");
    let reply = reply(&session);
    assert_eq!(tier(&reply), 1);
    assert!(summary(&session, "kept").contains("FROM THE KEPT PART"));
}

#[test]
fn a_checkpoint_of_another_branch_does_not_count() {
    let session = Session::new()
        .turn("one", "make", "two")
        .named("fork")
        .note("ON THE OTHER BRANCH")
        .at("fork")
        .assistant("here");
    assert!(!summary(&kept(session), "kept").contains("OTHER BRANCH"));
}

#[test]
fn an_omitted_call_does_not_count() {
    let session = Session::new().user("go").note("TAKEN BACK").named("result").assistant("x");
    let session = kept(session.omit("result"));
    assert!(section(&summary(&session, "kept"), "checkpoint").is_none());
}

#[test]
fn six_thousand_characters_survive_and_what_is_beyond_is_named() {
    let exact = "é".repeat(6000);
    let shown = summary(&kept(Session::new().user("go").note(&exact)), "kept");
    assert_eq!(section(&shown, "checkpoint").expect("one").1, exact);
    let over = format!("{exact}END");
    let shown = summary(&kept(Session::new().user("go").note(&over)), "kept");
    assert_eq!(section(&shown, "checkpoint").expect("one").1, exact);
    assert!(
        shown.contains("(Cut: the checkpoint had 6,003 characters, 6,000 are kept; entry e0000002 has the whole text.)"),
        "{shown}"
    );
}

#[test]
fn thirty_turns_later_the_text_is_there_to_the_letter() {
    let note = "goal: ünïcode 漢字 👨‍👩‍👧‍👦\n\ttabs  and   blanks\n- done";
    let session = (0..30).fold(Session::new().user("one").note(note), |session, n| {
        session.turn(&format!("request {n}"), "make", "done")
    });
    let mut session = kept(session);
    for round in 0..5 {
        let shown = summary(&session, "kept");
        assert_eq!(section(&shown, "checkpoint").expect("one").1, note, "round {round}");
        session = kept(session.noted("kept").turn(&format!("round {round}"), "ls", "ok"));
    }
}

#[test]
fn compact_with_instructions_is_left_to_a_model_and_says_so() {
    let session = kept(Session::new().user("one").note("THE NOTE"));
    let reply = by_note(Call::compact(&session, "kept")).words("mind the units").both();
    assert!(reply.get("result").is_none(), "{reply}");
    assert_eq!(reply["effects"][0]["level"], "warning");
    // Blanks are no instructions.
    let reply = by_note(Call::compact(&session, "kept")).words("  \n").both();
    assert_eq!(tier(&reply), 1);
}

// The cut inside a turn.

fn split(session: &Session) -> Value {
    let kept = session.id_of("kept");
    let cut = json!({ "firstKeptEntryId": kept, "isSplitTurn": true, "tokensBefore": 50_000 });
    by_note(Call::compact(session, "kept")).with("cut", cut).both()
}

#[test]
fn a_split_turn_is_digested_under_pis_heading_after_what_came_before() {
    let session = Session::new()
        .turn("one", "make", "two")
        .user("a long turn")
        .assistant("its beginning")
        .assistant("its end")
        .named("kept");
    let reply = split(&session);
    let compaction = &reply["result"]["compaction"];
    assert_eq!(compaction["firstKeptEntryId"], session.id_of("kept"));
    assert_eq!(compaction["tokensBefore"], 50_000);
    let text = compaction["summary"].as_str().expect("a summary");
    let digest = section(text, "digest").expect("a digest").1;
    let (before, prefix) =
        digest.split_once("**Turn Context (split turn):**\n").expect("Pi's heading");
    assert!(before.contains("[USER e0000001] one") && !before.contains("a long turn"));
    assert!(prefix.contains("a long turn") && prefix.contains("its beginning"), "{prefix}");
    assert!(!summary(&session, "kept").contains("Turn Context"), "without a split there is none");
}

#[test]
fn a_split_turn_with_only_a_prefix_is_digested_as_well() {
    let session = Session::new()
        .user("the only turn")
        .assistant("its beginning")
        .assistant("its end")
        .named("kept");
    let reply = split(&session);
    assert_eq!(tier(&reply), 2, "{reply}");
    let summary = reply["result"]["compaction"]["summary"].as_str().expect("a summary");
    let digest = section(summary, "digest").expect("a digest").1;
    let prefix = digest.split_once("**Turn Context (split turn):**\n").expect("the heading").1;
    assert!(prefix.starts_with("[USER e0000001] the only turn"), "{prefix}");
}

#[test]
fn work_in_the_prefix_makes_a_checkpoint_stale() {
    let session = Session::new()
        .user("one")
        .note("THE NOTE")
        .user("a long turn")
        .assistant("its beginning")
        .assistant("its end")
        .named("kept");
    assert_eq!(tier(&split(&session)), 2);
}

#[test]
fn a_fresh_checkpoint_stands_for_a_split_turn_too() {
    let session =
        Session::new().user("a long turn").note("THE NOTE").assistant("its end").named("kept");
    let reply = split(&session);
    assert_eq!(tier(&reply), 1);
    let summary = reply["result"]["compaction"]["summary"].as_str().expect("a summary");
    assert!(holds(summary, "e0000001", "a long turn"), "{summary}");
}

// Files and what is carried.

#[test]
fn file_lists_are_a_union_over_all_compactions_and_a_changed_file_is_not_only_read() {
    let work = |session: Session, n: usize| {
        session
            .user("go")
            .call("read", json!({ "path": format!("/home/dev/app/r{n}.rs") }))
            .ok("text")
            .call("edit", json!({ "path": format!("m{n}.rs"), "edits": [{}] }))
            .ok("done")
            .call("write", json!({ "path": "both.rs", "content": "x" }))
            .ok("done")
            .call("read", json!({ "path": "both.rs" }))
            .ok("x")
    };
    let mut session = Session::new();
    for n in 1..=2 {
        session = kept(work(session, n)).noted("kept");
    }
    let summary = session.last_summary();
    assert_eq!(block(summary, "read-files").expect("a list"), ["r1.rs", "r2.rs"]);
    let modified = block(summary, "modified-files").expect("a list");
    let paths: Vec<&str> = modified.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(paths, ["m1.rs", "m2.rs", "both.rs"]);
    let details = session.last_details();
    assert_eq!(details["readFiles"], json!(["r2.rs"]), "details hold what is new");
    assert_eq!(details["modifiedFiles"], json!(["m2.rs", "both.rs"]));
}

#[test]
fn what_was_carried_is_carried_on_within_its_limit() {
    let mut session = Session::new();
    let mut asks = Vec::new();
    for round in 0..8 {
        for n in 0..4 {
            let ask = format!("round {round}, request {n}");
            session = session.user(&ask);
            asks.push((session.last_id().to_owned(), ask));
            session = session.assistant("ok");
        }
        session = kept(session).noted("kept");
        asks.push((session.id_of("kept"), "kept".to_owned()));
        let summary = session.last_summary();
        // The kept entry is below the checkpoint.
        for (id, ask) in &asks[..asks.len() - 1] {
            assert!(holds(summary, id, ask), "round {round} lost {id} {ask}: {summary}");
        }
        if let Some((_, carried)) = section(summary, "carried") {
            assert!(carried.chars().count() <= 1200, "{carried}");
        }
    }
}

#[test]
fn so_many_requests_that_not_even_their_ids_fit_are_known_by_their_range() {
    let many = (0..400).fold(Session::new(), |session, n| session.user(&format!("request {n}")));
    let session = kept(kept(many).noted("kept").assistant("x"));
    let text = summary(&session, "kept");
    let ranges = ranges(&text);
    let [(first, _, count)] = ranges.as_slice() else { panic!("one range: {text}") };
    assert_eq!(*first, "e0000001");
    let carried = section(&text, "carried").expect("carried").1;
    let shown = by_id(carried).len() + carried.matches("\n[USER e").count();
    assert_eq!(count + shown, 400, "{carried}");
    assert!(carried.chars().count() <= 1200);
}

#[test]
fn a_summary_of_pi_is_carried_at_its_beginning_and_by_its_id() {
    let long = format!("The model's own summary. {}", "More of it. ".repeat(200));
    let session = kept(
        Session::new()
            .user("asked before the summary")
            .assistant("x")
            .user("s")
            .named("s")
            .compaction_of_pi(&long, "s")
            .named("pi")
            .assistant("y"),
    );
    let text = summary(&session, "kept");
    let carried = section(&text, "carried").expect("carried").1;
    assert!(carried.contains("[STATE-CARRIED] The model's own summary."), "{carried}");
    assert!(carried.contains(&format!("[whole in {}]", session.id_of("pi"))), "{carried}");
    assert!(holds(&text, "e0000001", "asked before the summary"), "{text}");
    assert!(carried.chars().count() <= 1200);
    // And on through the next one.
    let session = kept(session.noted("kept").assistant("z"));
    assert!(summary(&session, "kept").contains("[STATE-CARRIED] The model's own summary."));
}

#[test]
fn every_summary_is_unique() {
    let session = kept(Session::new().user("one").note("THE NOTE")).noted("kept");
    let session = session.assistant("x").user("again").named("again").noted("again");
    let summaries = session.summaries();
    assert_ne!(summaries[0], summaries[1]);
}

#[test]
fn a_checkpoint_that_makes_nothing_smaller_says_so() {
    let session = kept(Session::new().user("short")).noted("kept");
    assert_eq!(session.last_details()["noProgress"], true);
    assert!(session.last_summary().contains("not smaller"));
    let long = kept(Session::new().user("go").assistant(&"word ".repeat(20_000))).noted("kept");
    assert_eq!(long.last_details().get("noProgress"), None);
}

#[test]
fn images_are_named_by_type_size_and_entry() {
    let image = author::image("image/png", &"iVBORw0K".repeat(40));
    let session = kept(Session::new().user_blocks(vec![author::text("look"), image]));
    assert!(
        digest(&session).contains("[USER e0000001] look\n[image image/png, 240 B, entry e0000001]")
    );
}

// What holds for every session.

/// What the user says in a message, if it is text alone.
fn said(entry: &Value) -> Option<String> {
    let blocks = entry["message"]["content"].as_array()?;
    let texts: Option<Vec<&str>> = blocks.iter().map(|block| block["text"].as_str()).collect();
    Some(texts?.join("\n").trim_matches(['\n', '\r']).to_owned())
}

fn is_known(summary: &str, path: &[&Value], entry: &Value) -> bool {
    let position = |wanted: &str| path.iter().position(|other| id(other) == wanted);
    let in_range = || {
        ranges(summary).iter().any(|(first, last, _)| {
            let (from, to) = (position(first), position(last));
            (from..=to).contains(&position(id(entry)))
        })
    };
    summary.contains(&format!("[USER {}] ", id(entry)))
        || by_id(summary).contains(&id(entry))
        || in_range()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Chains of compactions with any cut, with and without notes: no request that was taken out is
    /// lost, and what stands whole is what was said.
    #[test]
    fn no_request_is_ever_lost(steps in steps(60), notes in any::<u64>()) {
        let mut compactions = 0u64;
        let mut asked: HashSet<String> = HashSet::new();
        let mut one = |session: Session, kept: &str| {
            compactions += 1;
            let noted = notes >> (compactions % 64) & 1 == 1;
            let session = if noted { session.note(&format!("NOTE {compactions}")) } else { session };
            let path: Vec<Value> = path_to(&session, session.leaf_id()).into_iter().cloned().collect();
            let path: Vec<&Value> = path.iter().collect();
            let span = span(&path, kept);
            let reply = by_note(Call::compact(&session, kept)).both();
            let Some(text) = reply["result"]["compaction"]["summary"].as_str() else {
                // Without an opinion there is nothing that a person asked.
                assert!(!span.iter().any(|entry| entry["message"]["role"] == "user"), "{reply}");
                return session.compaction_of_pi("by a model", kept);
            };
            for entry in span.iter().filter(|entry| entry["message"]["role"] == "user") {
                let said = said(entry);
                if said.as_ref().is_some_and(|said| said.trim().is_empty()) {
                    continue;
                }
                assert!(is_known(text, &path, entry), "{} is lost: {text}", id(entry));
                let whole = format!("[USER {}] ", id(entry));
                if let Some(said) = said.filter(|said| said.chars().count() <= 1000)
                    && text.contains(&whole)
                {
                    let said = as_read(&said);
                    assert!(text.contains(&format!("{whole}{said}\n")), "{said:?}: {text}");
                }
                asked.insert(id(entry).to_owned());
            }
            // What an earlier compaction of this branch took out.
            for entry in path[..context_start(&path)].iter().filter(|entry| asked.contains(id(entry))) {
                let omitted = path.iter().any(|edit| {
                    edit["type"] == "context_edit" && edit["targetId"] == entry["id"]
                });
                assert!(omitted || is_known(text, &path, entry), "{} of before is lost: {text}", id(entry));
            }
            for (name, limit) in [("digest", 6000), ("carried", 1200)] {
                let size = section(text, name).map_or(0, |(_, text)| text.chars().count());
                assert!(size <= limit, "{name} has {size}");
            }
            if noted {
                let (_, note) = section(text, "checkpoint").expect("the note");
                assert_eq!(note, format!("NOTE {compactions}"));
            }
            session.save(&reply)
        };
        let session = play(&steps, &mut one).user("⟦last⟧ Go on.").user("⟦end⟧ And stop.");
        if let Some(kept) = cuts(&session).last().cloned() {
            one(session, &kept);
        }
        prop_assert!(compactions > 0);
    }
}
