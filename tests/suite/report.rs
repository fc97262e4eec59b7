//! The report: its figures against the rules, its page against hostile text, its file.

use std::path::Path;

use pi_stet::report::{self, Source, page};
use pi_stet::session::projection::Projection;
use pi_stet::session::{Leaf, Reading, Session as Opened, estimate};
use pi_stet::text::estimate_tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::author;
use crate::support::call::{Call, TempSession, run};
use crate::support::noted::by_note;
use crate::support::session::Session;
use crate::support::steps::{play, steps};

const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/sessions");

/// The positions of the kinds in a list of sizes.
const SUMMARY: usize = 1;
const USER: usize = 2;
const ASSISTANT: usize = 3;
const OUTPUT: usize = 6;

fn report_of(bytes: &[u8], leaf: &Leaf) -> Value {
    let opened = Opened::from_jsonl(bytes, Reading::Recover).expect("a session");
    let branch = opened.branch(leaf).expect("a branch");
    let source = Source { file: None, leaf_given: false, now: "2026-01-06T00:00:00.000Z" };
    let report = report::collect(&branch, &source).expect("a report");
    serde_json::to_value(&report).expect("JSON")
}

fn report(session: &Session) -> Value {
    report_of(&session.jsonl(), &Leaf::Last)
}

fn sizes(value: &Value) -> Vec<u64> {
    value.as_array().expect("sizes").iter().map(|size| size.as_u64().expect("a number")).collect()
}

fn total(value: &Value) -> u64 {
    sizes(value).iter().sum()
}

/// The number of an entry in the report.
fn entry(report: &Value, id: &str) -> usize {
    let entries = report["entries"].as_array().expect("entries");
    entries.iter().position(|entry| entry["id"] == id).expect("the entry")
}

fn row<'r>(report: &'r Value, session: &Session, name: &str) -> &'r Value {
    &report["entries"][entry(report, &session.id_of(name))]
}

fn part<'r>(compaction: &'r Value, name: &str) -> &'r Value {
    let mut parts = compaction["parts"].as_array().expect("parts").iter();
    parts.find(|part| part["name"] == name).unwrap_or_else(|| panic!("no {name}: {compaction}"))
}

/// A question of 10 tokens, an answer that thinks 10, says 5 and calls, an output of 1,000.
fn one_compaction() -> Session {
    let mut session = Session::new().user(&"u".repeat(40)).named("asked");
    let call = session.new_call("bash", json!({ "command": "ls" }));
    let blocks = vec![author::thinking(&"t".repeat(40)), author::text("a".repeat(20)), call];
    session
        .blocks(blocks)
        .named("said")
        .ok(&"o".repeat(4000))
        .named("result")
        .user("kept")
        .named("kept")
        .compacted("kept")
        .user("more")
}

#[test]
fn what_a_compaction_took_and_what_of_it_stands() {
    let session = one_compaction();
    let report = report(&session);
    let compaction = &report["compactions"][0];
    assert_eq!(compaction["method"], "verbatim");
    assert_eq!(compaction["trigger"], "manual");
    assert_eq!(compaction["range"], json!([0, 3]));
    // A call is its name and its arguments: 4 and 16 characters.
    let took = sizes(&compaction["took"]);
    assert_eq!(took, [0, 0, 10, 5, 5, 10, 1000, 0]);
    assert_eq!(sizes(&compaction["stayed"]), [0, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(sizes(&compaction["before"]), [0, 0, 11, 5, 5, 10, 1000, 0]);
    // With their labels: 8 + 40 characters, 13 + 20, and 24 + 18 + 14 of the signature: 48, 33, 56
    // quarters are 12, 20.25 and 34.25 tokens together.
    assert_eq!(sizes(&compaction["stands"]), [0, 0, 12, 9, 14, 0, 0, 0]);
    assert_eq!(compaction["holds"], compaction["stands"]);
    assert_eq!(total(&compaction["trimmed"]), 0);
    let summary = estimate_tokens(session.last_summary());
    assert_eq!(sizes(&compaction["after"]), [0, summary, 1, 0, 0, 0, 0, 0]);
    let parts = compaction["parts"].as_array().expect("parts").iter();
    assert_eq!(parts.map(|part| part["tokens"].as_u64().expect("tokens")).sum::<u64>(), summary);
    assert_eq!(sizes(&report["now"]), [0, summary, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn each_line_of_a_checkpoint_has_its_entry() {
    let session = one_compaction();
    let report = report(&session);
    let number = |name: &str| entry(&report, &session.id_of(name));
    let result = session.id_of("result");
    assert_eq!(
        report["compactions"][0]["lines"],
        json!([
            [number("asked"), "user", format!("[User]: {}", "u".repeat(40))],
            [number("said"), "assistant", format!("[Assistant]: {}", "a".repeat(20))],
            [
                number("said"),
                "calls",
                format!("[Assistant tool calls]: bash(command=\"ls\") [ok {result}]")
            ],
        ])
    );
    let span = part(&report["compactions"][0], "span");
    assert_eq!((span["of"].as_u64(), span.get("gone")), (Some(1), None));
}

#[test]
fn what_became_of_each_entry() {
    let session = one_compaction();
    let report = report(&session);
    for name in ["asked", "said", "result"] {
        assert_eq!(row(&report, &session, name)["out"], 1, "{name}");
    }
    let kept = row(&report, &session, "kept");
    assert_eq!((kept.get("out"), kept["tokens"].as_u64()), (None, Some(1)));
    let said = row(&report, &session, "said");
    assert_eq!((said["tokens"].as_u64(), &said["split"]), (Some(20), &json!([5, 10])));
    assert_eq!(said["texts"][2]["result"], entry(&report, &session.id_of("result")));
    let result = row(&report, &session, "result");
    assert_eq!(result["call"], entry(&report, &session.id_of("said")));
    assert_eq!(report["start"], 3);
}

#[test]
fn what_the_cap_took_is_told_line_by_line() {
    let long = "w".repeat(2000);
    let capped = |call: Call| {
        let budget = json!({ "unit": "chars", "value": 600 });
        call.with("settings", json!({ "cap": { "mode": "on", "budget": budget } }))
    };
    let session = Session::new()
        .user(&long)
        .assistant(&"a".repeat(387))
        .user("short")
        .user("kept")
        .named("kept")
        .compacted_with("kept", capped);
    let report = report(&session);
    let compaction = &report["compactions"][0];
    let span = part(compaction, "span");
    // The assistant's words go first, then the long message is cut to its beginning.
    assert_eq!(span["gone"], json!([1]));
    let stub = format!("[User]: {}… [1,888 more characters, entry e0000001]", "w".repeat(112));
    assert_eq!(span["cut"], json!([[0, stub]]));
    assert_eq!(compaction["trimmedLines"], json!([1, 1]));
    // 2,008 characters became as many quarters as the beginning has: one for each character but two
    // for the ellipsis. The assistant's line was 400 characters.
    let stub = stub.chars().count() as u64 + 1;
    let trimmed = sizes(&compaction["trimmed"]);
    assert_eq!(trimmed[USER], (2008 - stub).div_ceil(4));
    assert_eq!(trimmed.iter().sum::<u64>(), (2008 - stub + 400).div_ceil(4));
    let stands = sizes(&compaction["stands"]);
    assert_eq!((stands[USER], stands[ASSISTANT]), ((stub + 13).div_ceil(4), 0));
}

#[test]
fn retained_texts_are_named_with_their_entries() {
    let session = Session::new()
        .user("Begin.")
        .call("read", json!({ "path": "AGENTS.md" }))
        .ok("Read notes.md first.")
        .call("read", json!({ "path": "notes.md" }))
        .ok("Note 1: no umbrellas.")
        .named("notes")
        .user("What is the rule?")
        .named("rule")
        .label("rule", Some("keep: the rule"))
        .user("kept")
        .named("kept")
        .compacted("kept");
    let report = report(&session);
    let compaction = &report["compactions"][0];
    let startup = &part(compaction, "startup")["parts"][0];
    assert_eq!(startup["what"], "notes.md");
    assert_eq!(startup["text"], "Note 1: no umbrellas.");
    assert_eq!(startup["entry"], entry(&report, &session.id_of("notes")));
    let pin = &part(compaction, "pins")["parts"][0];
    assert_eq!(pin["what"], "user (keep: the rule)");
    assert_eq!(pin["entry"], entry(&report, &session.id_of("rule")));
    assert_eq!(row(&report, &session, "rule")["label"], "keep: the rule");
}

#[test]
fn spans_of_other_methods_are_those_of_the_raw_entries() {
    let session = Session::new()
        .turn("one", "ls", "first")
        .note("Where we are.")
        .user("two")
        .named("two")
        .noted("two")
        .user("three")
        .named("three")
        .compacted("three");
    let report = report(&session);
    let [noted, verbatim] = report["compactions"].as_array().expect("two").as_slice() else {
        panic!("two compactions")
    };
    assert_eq!((&noted["method"], &verbatim["method"]), (&json!("checkpoint"), &json!("verbatim")));
    assert_eq!(part(noted, "checkpoint")["text"], "Where we are.");
    assert_eq!(total(&noted["stands"]), 0);
    // The verbatim checkpoint has a span for each of the two.
    let spans: Vec<_> = verbatim["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .filter(|part| part["name"] == "span")
        .collect();
    assert_eq!(
        spans.iter().map(|span| span["of"].as_u64()).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    assert_eq!(noted["lines"][0][2], "[User]: one");
    assert_eq!(verbatim["lines"].as_array().map(Vec::len), Some(1));
    assert_eq!(verbatim["lines"][0][2], "[User]: two");
}

#[test]
fn summaries_of_others_are_one_part() {
    let of_pi = Session::new().user("one").named("one").compaction_of_pi("A model's words.", "one");
    let of_older = Session::new().user("one").named("one").compaction_of_the_older(
        "Its words.",
        "one",
        Some(json!(["[User]: a"])),
    );
    for (session, method, name, text) in [
        (of_pi, "summary", "summary", "A model's words."),
        (of_older, "older", "older", "Its words."),
    ] {
        let report = report(&session);
        let compaction = &report["compactions"][0];
        assert_eq!(compaction["method"], method);
        assert_eq!(part(compaction, name)["text"], text);
        assert_eq!(part(compaction, name)["tokens"], estimate_tokens(text));
        assert_eq!(compaction["lines"], json!([]));
    }
    // Under a later checkpoint of ours a model's summary is its base.
    let session = Session::new()
        .user("one")
        .named("one")
        .compaction_of_pi("A model's words.", "one")
        .user("two")
        .named("two")
        .compacted("two");
    let report = report(&session);
    let base = part(&report["compactions"][1], "base");
    assert_eq!(base["text"], "A model's words.");
}

#[test]
fn edits_hidden_commands_and_the_prompt_count_as_the_model_saw_them() {
    let session = Session::new()
        .system(&"p".repeat(400))
        .user(&"o".repeat(40))
        .named("omitted")
        .user(&"r".repeat(40))
        .named("replaced")
        .bash_with("cat secret", json!({ "excludeFromContext": true }))
        .named("hidden")
        .omit("omitted")
        .replace("replaced", "four");
    let report = report(&session);
    assert_eq!(sizes(&report["now"]), [100, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(row(&report, &session, "omitted")["edited"], "omitted");
    assert_eq!(row(&report, &session, "replaced")["edited"], "replaced");
    // What the person kept from the model is not shown either.
    let hidden = row(&report, &session, "hidden");
    assert_eq!((hidden.get("texts"), hidden["tokens"].as_u64()), (None, Some(0)));
    assert!(!report.to_string().contains("cat secret"));
}

#[test]
fn other_branches_are_told_from_where_they_leave() {
    let session = Session::new()
        .user("root")
        .named("root")
        .user(&"x".repeat(8))
        .assistant(&"y".repeat(8))
        .at("root")
        .user("zzzz")
        .at("root")
        .user("last");
    let report = report(&session);
    assert_eq!(report["branch"], json!([[0, 1], [4, 1]]));
    assert_eq!(
        report["strands"],
        json!([
            { "from": 0, "first": 1, "last": 2, "entries": 2, "tokens": 4 },
            { "from": 0, "first": 3, "last": 3, "entries": 1, "tokens": 1 },
        ])
    );
    let strands: Vec<_> = report["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| entry["strand"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(strands, [0, 1, 1, 2, 0]);
    // The same file from another leaf.
    let other = session.id_of("e0000003");
    let from_other = report_of(&session.jsonl(), &Leaf::Id(&other));
    assert_eq!(from_other["branch"], json!([[0, 3]]));
}

#[test]
fn older_formats_and_damaged_lines_are_told() {
    let v1 = [
        r#"{"type":"session","id":"v1","timestamp":"2025-12-09T00:00:00.000Z","cwd":"/home/dev/app"}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:01.000Z","message":{"role":"user","content":"12345678","timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2025-12-09T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"kept"}],"timestamp":1}}"#,
        r#"{"type":"message","torn"#,
        r#"{"type":"compaction","timestamp":"2025-12-09T00:00:05.000Z","summary":"Four","firstKeptEntryIndex":2,"tokensBefore":9}"#,
    ]
    .join("\n");
    let report = report_of(v1.as_bytes(), &Leaf::Last);
    assert_eq!(report["session"]["format"], 1.0);
    assert_eq!(report["session"]["damagedLines"], 1);
    assert_eq!(sizes(&report["now"]), [0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(report["compactions"][0]["range"], json!([0, 1]));
    let orphan = Session::new().raw(r#"{"type":"message","id":"a","parentId":"gone","timestamp":"T","message":{"role":"user","content":"x"}}"#);
    let report = report_of(&orphan.jsonl(), &Leaf::Id("a"));
    assert!(
        report["session"]["broken"].as_str().is_some_and(|why| why.contains("not in the file"))
    );
    // The tree may stand at its root.
    let report = report_of(&one_compaction().jsonl(), &Leaf::Root);
    assert_eq!((&report["branch"], &report["samples"]), (&json!([]), &json!([])));
}

#[test]
fn large_texts_are_cut_and_the_whole_size_is_named() {
    let output = "0123456789".repeat(20_000);
    let mut session = Session::new().user("begin");
    for n in 0..50 {
        session = session.call("bash", json!({ "n": n })).ok(&output);
    }
    let report = report(&session.user("a short text"));
    let entries = report["entries"].as_array().expect("entries");
    let texts: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["kind"] == "result")
        .map(|entry| &entry["texts"][0])
        .collect();
    let shown = texts[0]["text"].as_str().expect("a text");
    // Fifty outputs share what the arguments (`n: 0` to `n: 49`) leave of four mebibytes.
    let share = ((4 << 20) - (10 * 4 + 40 * 5)) / 50;
    assert_eq!((shown.len(), texts[0]["chars"].as_u64()), (share, Some(200_000)));
    assert!(texts.iter().all(|text| text["text"] == texts[0]["text"]));
    assert_eq!(report["outputChars"], share);
    assert_eq!(
        entries.last().expect("an entry")["texts"],
        json!([{ "kind": "user", "text": "a short text" }])
    );
    // The figures are those of the whole.
    assert_eq!(sizes(&report["now"])[OUTPUT], 50 * 50_000);
}

/// The figures at every point are those of the projection, which is written another way.
fn agrees_with_the_projection(bytes: &[u8], leaf: &Leaf) -> Result<(), TestCaseError> {
    let opened = Opened::from_jsonl(bytes, Reading::Recover).expect("a session");
    let branch = opened.branch(leaf).expect("a branch");
    let report = report_of(bytes, leaf);
    for sample in report["samples"].as_array().expect("samples") {
        let at = sample[0].as_u64().expect("a position") as usize;
        let context = Projection::at(&branch, at + 1).expect("a context");
        let expected = estimate::context_tokens(&context).expect("a size");
        prop_assert_eq!(total(&sample[1]), expected, "after entry {}", at + 1);
    }
    let now = estimate::context_tokens(&Projection::of(&branch).expect("a context"));
    prop_assert_eq!(total(&report["now"]), now.expect("a size"));
    for compaction in report["compactions"].as_array().expect("compactions") {
        let summary = sizes(&compaction["after"])[SUMMARY];
        let parts = compaction["parts"].as_array().expect("parts").iter();
        let parts: u64 = parts.map(|part| part["tokens"].as_u64().expect("tokens")).sum();
        prop_assert_eq!(parts, summary, "the parts of {}", compaction);
        // The spans of a checkpoint of ours are all read back.
        let unread = compaction["parts"].as_array().expect("parts").iter();
        let unread = unread.filter(|part| part["name"] == "span" && part.get("of").is_none());
        prop_assert_eq!(unread.count(), 0, "{}", compaction);
    }
    Ok(())
}

#[test]
fn recorded_sessions_have_the_figures_of_the_projection() {
    let mut files = 0;
    for file in std::fs::read_dir(SESSIONS).expect("the sessions") {
        let path = file.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let bytes = std::fs::read(&path).expect("a session");
            agrees_with_the_projection(&bytes, &Leaf::Last).expect("the same figures");
            files += 1;
        }
    }
    assert!(files >= 6, "{files}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_session_has_the_figures_of_the_projection(steps in steps(30), checkpoints in any::<bool>()) {
        let session = play(&steps, |session, kept| {
            let call = Call::compact(&session, kept);
            let reply = match checkpoints && session.summaries().len() % 2 == 1 {
                true => by_note(call).both(),
                false => call.both(),
            };
            // A method that has nothing to say leaves it to Pi.
            match reply["result"]["compaction"].is_object() {
                true => session.save(&reply),
                false => session.compaction_of_pi("A model's words.", kept),
            }
        });
        let leaf = session.leaf_id().map_or(Leaf::Root, Leaf::Id);
        agrees_with_the_projection(&session.jsonl(), &leaf)?;
    }
}

// The page.

fn page_of(session: &Session) -> String {
    let bytes = session.jsonl();
    let opened = Opened::from_jsonl(&bytes, Reading::Recover).expect("a session");
    let branch = opened.branch(&Leaf::Last).expect("a branch");
    let source = Source { file: Some("</script><b>.jsonl"), leaf_given: false, now: "" };
    let page = page::render(&report::collect(&branch, &source).expect("a report"));
    String::from_utf8(page.expect("a page")).expect("UTF-8")
}

/// What stands in the page's data block.
fn data(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"data\">").expect("a data block");
    rest.split_once("</script>").expect("its end").0
}

#[test]
fn nothing_in_the_data_can_end_its_block() {
    let hostile =
        "</script><script>alert(1)</script><!-- {{script}} {{data}} \u{2028}\u{2029} ]]> 日志";
    let session = Session::new()
        .header(author::header("</script>", "/<img onerror=alert(1)>"))
        .user(hostile)
        .custom_message(hostile, hostile)
        .label("e0000001", Some(hostile))
        .call("</script>", json!({ "</script>": hostile }))
        .error(hostile);
    let page = page_of(&session);
    let data = data(&page);
    assert!(!data.contains(['<', '\u{2028}', '\u{2029}']), "{data}");
    let read: Value = serde_json::from_str(data).expect("JSON");
    // Line separators are made visible before, as everywhere.
    let shown = hostile.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    assert_eq!(read["entries"][0]["texts"][0]["text"], shown);
    assert_eq!(read["entries"][0]["label"], hostile);
    assert_eq!(read["file"], "</script><b>.jsonl");
    // Two blocks of script: the data and the page's own.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn the_page_loads_nothing_and_allows_only_its_own_script() {
    let page = page_of(&one_compaction());
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").expect("a policy");
    let policy = policy.split_once('"').expect("its end").0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    for word in ["unsafe", "http", "*", "data:"] {
        assert!(!policy.contains(word), "{word} in {policy}");
    }
    for word in [
        "http://",
        "https://",
        "src=",
        "@import",
        "url(",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ] {
        let own = page.replace(data(&page), "").replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(word), "{word} in the page");
    }
    assert!(
        page::is_ours(page.as_bytes()) && !page::is_ours(b"<!doctype html>\n<html lang=\"en\">")
    );
}

// The command.

#[test]
fn the_file_is_for_its_owner_and_replaces_only_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = TempSession::of(&one_compaction());
    let path = session.path().to_str().expect("a path");
    let report = |to: &str| run(&["report", path, "-o", to], b"", folder.path());
    let output = report("map.html");
    assert_eq!((output.status, output.stdout.as_str()), (0, ""), "{}", output.stderr);
    assert!(
        output.stderr.starts_with("pi-stet: map.html, ")
            && output
                .stderr
                .ends_with(" KB: 6 entries, 1 compaction; it holds text of the session\n"),
        "{}",
        output.stderr
    );
    let page = std::fs::read(folder.path().join("map.html")).expect("the page");
    assert!(page.ends_with(b"</html>\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            std::fs::metadata(folder.path().join("map.html")).expect("the page").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    // Again in its place, and nothing is left beside it.
    assert_eq!(report("map.html").status, 0);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
    // On stdout the same page.
    let printed = run(&["report", path, "-o", "-"], b"", folder.path());
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    assert_eq!(
        without_time(&printed.stdout),
        without_time(&String::from_utf8(page).expect("UTF-8"))
    );
}

/// The page without the moment it was made.
fn without_time(page: &str) -> String {
    let (before, after) = page.split_once("\"made\":\"").expect("a time");
    format!("{before}{}", after.split_once('"').expect("its end").1)
}

#[test]
fn what_is_no_report_is_never_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = TempSession::of(&one_compaction());
    let path = session.path().to_str().expect("a path");
    let before = std::fs::read(session.path()).expect("the session");
    let output = run(&["report", path, "-o", path], b"", folder.path());
    assert_eq!(output.status, 2);
    assert!(
        output.stderr.contains(
            "is there already and no report; name another file, or - for standard output"
        ),
        "{}",
        output.stderr
    );
    assert_eq!(std::fs::read(session.path()).expect("the session"), before);
    let into_folder = run(&["report", path, "-o", "."], b"", folder.path());
    assert_eq!(into_folder.status, 2);
    assert!(into_folder.stderr.contains(". is no regular file"), "{}", into_folder.stderr);
    let nowhere = run(&["report", path, "-o", "no/such/folder.html"], b"", folder.path());
    assert_eq!(nowhere.status, 2);
    assert!(
        nowhere.stderr.starts_with("pi-stet: cannot write no/such/folder.html: "),
        "{}",
        nowhere.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_stays_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = TempSession::of(&one_compaction());
    let path = session.path().to_str().expect("a path");
    std::fs::write(folder.path().join("real.html"), "").expect("an empty file");
    std::os::unix::fs::symlink("real.html", folder.path().join("link.html")).expect("a link");
    let output = run(&["report", path, "-o", "link.html"], b"", folder.path());
    assert_eq!(output.status, 0, "{}", output.stderr);
    let is_link = |name: &str| Path::new(&folder.path().join(name)).is_symlink();
    assert!(is_link("link.html") && !is_link("real.html"));
    assert!(std::fs::read(folder.path().join("real.html")).expect("the page").len() > 1000);
}
