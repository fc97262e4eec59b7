//! The written protocol holds: schemas, page and examples agree with the binary and with each
//! other, and a host written from the page alone passes the examples.
//!
//! `SNAPSHOTS=overwrite cargo test --test protocol` renews replies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pi_stet::protocol::{schema, schema_names};
use serde_json::{Value, json};
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-stet");
const RENEW: &str = "SNAPSHOTS=overwrite cargo test --test protocol";

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `actual` is what the file holds, to the byte; the variable renews the file instead.
fn assert_file(path: &Path, actual: &str) {
    let expected = Data::read_from(path, Some(DataFormat::Text)).raw();
    let actual = Data::text(actual.to_owned()).raw();
    if let Err(difference) = Assert::new().action_env("SNAPSHOTS").try_eq(None, actual, expected) {
        panic!("{difference}\nIf that is meant, renew the file: {RENEW}");
    }
}

/// Without the variables that would change an answer.
fn clean(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("PI_STET_") || text.starts_with("MECH_COMPACT_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs with `input` on stdin.
fn run(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn manifest() -> Value {
    let mut command = clean(BINARY);
    command.arg("manifest");
    serde_json::from_slice(&run(command, b"").stdout).unwrap()
}

struct Example {
    name: String,
    /// As it is on disk, with `{{dir}}`.
    envelope: String,
    reply: PathBuf,
    status: i32,
}

impl Example {
    fn all() -> Vec<Example> {
        let dir = at("protocol/examples");
        let mut names: Vec<String> = fs::read_dir(&dir)
            .unwrap()
            .filter_map(|file| {
                let name = file.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".envelope.json").map(str::to_owned)
            })
            .collect();
        names.sort();
        assert!(!names.is_empty());
        names.into_iter().map(|name| Example::named(&name)).collect()
    }

    fn named(name: &str) -> Example {
        let file = |end: &str| at("protocol/examples").join(format!("{name}.{end}"));
        let status = fs::read_to_string(file("status")).unwrap_or_else(|_| "0".into());
        Example {
            name: name.to_owned(),
            envelope: read(&file("envelope.json")),
            reply: file("reply.json"),
            status: status.trim().parse().unwrap(),
        }
    }

    fn envelope(&self) -> Option<Value> {
        serde_json::from_str(&self.envelope).ok()
    }

    fn reply_text(&self) -> String {
        read(&self.reply)
    }

    fn reply(&self) -> Value {
        serde_json::from_str(&self.reply_text()).unwrap()
    }

    fn summary(&self) -> String {
        self.reply()["result"]["compaction"]["summary"].as_str().unwrap().to_owned()
    }
}

fn examples_dir() -> String {
    at("protocol/examples").to_str().unwrap().to_owned()
}

struct Schema(jsonschema::Validator);

impl Schema {
    fn named(name: &str) -> Schema {
        let schema: Value = serde_json::from_str(schema(name).unwrap()).unwrap();
        Schema(jsonschema::draft202012::new(&schema).unwrap())
    }

    fn faults(&self, value: &Value) -> Vec<String> {
        self.0.iter_errors(value).map(|e| format!("{e} at {:?}", e.instance_path())).collect()
    }

    fn holds(&self, value: &Value, what: &str) {
        assert_eq!(self.faults(value), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn the_manifest_fits_its_schema() {
    Schema::named("manifest").holds(&manifest(), "the manifest");
}

#[test]
fn examples_fit_the_schemas() {
    let (envelopes, replies) = (Schema::named("envelope"), Schema::named("reply"));
    for example in Example::all() {
        let (name, reply) = (&example.name, example.reply());
        replies.holds(&reply, name);
        let outcomes = ["result", "ask", "complete", "error"];
        assert!(outcomes.iter().filter(|o| reply.get(**o).is_some()).count() <= 1, "{name}");
        // Status 2 says exactly this: what arrived is no envelope.
        let faults = example.envelope().map(|envelope| envelopes.faults(&envelope));
        if example.status == 2 {
            assert_ne!(faults, Some(Vec::new()), "{name}");
            continue;
        }
        assert_eq!(faults, Some(Vec::new()), "{name}");
        let envelope = example.envelope().unwrap();
        let event = envelope["event"].as_str().unwrap();
        if schema_names().contains(&event) {
            Schema::named(event).holds(&envelope["payload"], name);
        }
    }
}

#[test]
fn examples_are_answered_to_the_byte() {
    for example in Example::all() {
        let mut command = clean(BINARY);
        command.arg("hook");
        let envelope = example.envelope.replace("{{dir}}", &examples_dir());
        let output = run(command, envelope.as_bytes());
        assert_eq!(output.status.code(), Some(example.status), "{}", example.name);
        assert_eq!(text(output.stderr), "", "{}", example.name);
        assert_file(&example.reply, &text(output.stdout).replace(&examples_dir(), "{{dir}}"));
    }
}

#[test]
fn both_forms_of_a_session_give_the_same_reply() {
    let inline = Example::named("10-compact-inline").reply_text();
    assert_eq!(inline, Example::named("11-compact-by-reference").reply_text());
}

#[test]
fn a_second_checkpoint_begins_with_the_first() {
    let first = Example::named("10-compact-inline").summary();
    let end = first.rfind("</compacted-span>\n").unwrap() + "</compacted-span>\n".len();
    assert!(Example::named("12-compact-again").summary().starts_with(&first[..end]));
}

#[test]
fn a_replay_gives_what_was_recorded() {
    let (recording, replay) = (Example::named("40-recording"), Example::named("41-replay"));
    let mut recorded = recording.envelope().unwrap();
    let resolved = recording.reply()["resolved"].clone();
    recorded.as_object_mut().unwrap().remove("record");
    recorded["settings"] = resolved["settings"].clone();
    recorded["files"] = resolved["files"].clone();
    recorded["dryRun"] = json!(true);
    assert_eq!(replay.envelope().unwrap(), recorded);

    let mut reply = recording.reply();
    reply.as_object_mut().unwrap().shift_remove("resolved");
    assert_eq!(replay.reply_text(), format!("{reply}\n"));
}

/// The page.
struct Page(String);

impl Page {
    fn read() -> Page {
        Page(read(&at("protocol/README.md")))
    }

    /// The cells of each row of the table that begins with this header.
    fn table(&self, header: &str) -> Vec<Vec<&str>> {
        let (_, table) = self.0.split_once(header).unwrap_or_else(|| panic!("no table {header}"));
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
    }

    /// The code blocks in JSON, each with what the page says it is.
    fn blocks(&self) -> Vec<(&str, Value)> {
        let blocks = self.0.split("```json ").skip(1);
        blocks
            .map(|block| {
                let (kind, rest) = block.split_once('\n').unwrap();
                let (json, _) = rest.split_once("```").unwrap();
                (kind, serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}")))
            })
            .collect()
    }

    fn names(&self, what: &str) -> bool {
        let quoted = [format!("`{what}`"), format!("\"{what}\""), format!("`{what}:")];
        quoted.iter().any(|form| self.0.contains(form))
    }
}

#[test]
fn the_page_names_every_field_and_value_of_the_schemas() {
    fn collect(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                found.extend(fields.get("const").and_then(Value::as_str).map(str::to_owned));
                if let Some(Value::Array(values)) = fields.get("enum") {
                    found.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
                }
                fields.values().for_each(|value| collect(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for name in schema_names() {
        collect(&serde_json::from_str(schema(name).unwrap()).unwrap(), &mut found);
    }
    let page = Page::read();
    let missing: Vec<_> = found.into_iter().filter(|name| !page.names(name)).collect();
    assert_eq!(missing, Vec::<String>::new(), "protocol/README.md does not say what these are");
}

#[test]
fn the_page_marks_the_events_that_the_manifest_has() {
    let manifest = manifest();
    let mut answered: BTreeSet<String> = manifest["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| hook["event"].as_str().unwrap().to_owned())
        .collect();
    for (event, list) in [("tool", "tools"), ("command", "commands")] {
        if !manifest[list].as_array().unwrap().is_empty() {
            answered.insert(event.to_owned());
        }
    }
    let page = Page::read();
    let marked: BTreeSet<String> = page
        .table("| event | when | payload | result | answered |")
        .into_iter()
        .filter(|row| row[4] == "yes")
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    assert_eq!(marked, answered, "the last column of the events' table in protocol/README.md");
}

#[test]
fn the_page_lists_the_errors_of_the_examples_with_their_status() {
    let page = Page::read();
    let rows = page.table("| code | status | meaning | what a host does |");
    for example in Example::all() {
        if let Some(code) = example.reply()["error"]["code"].as_str() {
            let row = rows.iter().find(|row| row[0] == format!("`{code}`"));
            let row = row.unwrap_or_else(|| panic!("{code} is not in the table"));
            assert!(row[1].split(", ").any(|s| s == example.status.to_string()), "{code}");
        }
    }
}

/// Where a test named on the page is, and how its file names it: `` `FILE::NAME` `` is in
/// `tests/suite`, `` `FILE` "WORDS" `` in that file.
fn named_tests(section: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut parts = section.split('`').peekable();
    while let Some(before) = parts.next() {
        let (Some(code), Some(after)) = (parts.next(), parts.peek()) else { break };
        assert!(!before.ends_with('\\'), "an escaped quote: {before}");
        if let Some((file, name)) = code.split_once("::") {
            found.push((format!("tests/suite/{file}.rs"), format!("fn {name}(")));
        } else if code.ends_with(".test.mjs") {
            let words = after.strip_prefix(" \"").and_then(|rest| rest.split_once('"'));
            let (words, _) = words.unwrap_or_else(|| panic!("{code} without a test's name"));
            found.push((code.to_owned(), format!("\"{words}\"")));
        }
    }
    found
}

#[test]
fn the_page_names_tests_that_are_there() {
    let page = Page::read();
    let (_, section) = page.0.split_once("## Threats\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("another one behind it");
    let tests = named_tests(section);
    // Each row of its tables has one.
    let rows = section.lines().filter(|line| line.starts_with("| to "));
    for row in rows {
        assert!(!named_tests(row).is_empty(), "no test shows this: {row}");
    }
    assert!(tests.len() > 30, "{} tests", tests.len());
    for (file, name) in tests {
        assert!(read(&at(&file)).contains(&name), "{file} has no test {name}");
    }
}

#[test]
fn the_pages_own_examples_fit_the_schemas() {
    let (envelopes, replies) = (Schema::named("envelope"), Schema::named("reply"));
    let page = Page::read();
    assert!(page.blocks().len() > 4);
    for (kind, value) in page.blocks() {
        match kind {
            "reply" => replies.holds(&value, &value.to_string()),
            field => {
                let envelope = json!({ "protocol": 1, "event": "session_start", field: value });
                envelopes.holds(&envelope, &envelope.to_string());
            }
        }
    }
}

#[test]
fn the_pages_small_host_works() {
    let page = Page::read();
    let (_, code) = page.0.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let program = format!(
        "{code}
import sys
e = json.load(sys.stdin)
print(json.dumps(call(e['event'], e['payload'], e['session'], cut=e['cut'], model=e['model'], now=e['now'])))
print(compaction(e['session'], e['model'], 'nowhere', 0, 'manual'))"
    );
    let mut command = clean("python3");
    let mut path = Path::new(BINARY).parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    command.arg("-c").arg(program).env("PATH", path);
    let example = Example::named("10-compact-inline");
    let output = run(command, example.envelope.as_bytes());
    assert_eq!(text(output.stderr), "");
    let printed = text(output.stdout);
    let mut lines = printed.lines();
    let result: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(result, example.reply()["result"]);
    let error = lines.next().unwrap();
    assert!(error.starts_with("pi-stet: the session file does not match the call"), "{error}");
    assert_eq!(lines.next(), Some("None"));
}

/// What the host that was written from the page did, line by line.
fn host(binary: &str, envelope: &Path, answers: &Value) -> Vec<Value> {
    let mut command = clean("python3");
    let script = at("tests/protocol/host.py");
    command.arg(script).arg(binary).arg(envelope).arg(answers.to_string());
    let output = run(command, b"");
    assert_eq!(text(output.stderr), "", "{}", envelope.display());
    text(output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a host prints for a reply that ends a call.
fn lines_of(reply: &Value) -> Vec<Value> {
    let effects = reply["effects"].as_array().cloned().unwrap_or_default();
    let mut lines: Vec<Value> = effects.iter().map(|effect| json!({ "effect": effect })).collect();
    lines.push(match (reply.get("result"), reply.get("error")) {
        (Some(result), _) => json!({ "result": result }),
        (_, Some(error)) => json!({ "error": error }),
        _ => json!({ "noOpinion": true }),
    });
    lines
}

fn envelope_file(example: &str) -> PathBuf {
    at(&format!("protocol/examples/{example}.envelope.json"))
}

#[test]
fn a_host_from_the_page_alone_fits_in_a_hundred_lines() {
    assert!(read(&at("tests/protocol/host.py")).lines().count() <= 100);
}

#[test]
fn a_host_from_the_page_alone_passes_the_examples() {
    for example in Example::all() {
        let reply: Value =
            serde_json::from_str(&example.reply_text().replace("{{dir}}", &examples_dir()))
                .unwrap();
        let expected = match example.name.as_str() {
            // The file is gone; the host repeats the call with what it has in memory.
            "50-session-stale" => {
                let mut lines = vec![json!({ "repeat": "inline" })];
                lines.extend(lines_of(&Example::named("10-compact-inline").reply()));
                lines
            }
            // The same for a file that is no session; in memory the branch is empty.
            "57-not-a-session" => vec![json!({ "repeat": "inline" }), json!({ "noOpinion": true })],
            // Nobody answers this host: that is a dismissed question.
            name if reply.get("ask").is_some() => {
                let answer = json!({ "cancelled": true });
                let mut lines =
                    vec![json!({ "step": reply["ask"], "progress": null, "answer": answer })];
                assert_eq!(name, "22-cap-asks");
                lines.extend(lines_of(&Example::named("25-cap-cancelled").reply()));
                lines
            }
            _ => lines_of(&reply),
        };
        let did = host(BINARY, &envelope_file(&example.name), &json!([]));
        assert_eq!(did, expected, "{}", example.name);
    }
}

#[test]
fn a_host_from_the_page_alone_holds_the_dialogue_of_the_size_guard() {
    let asks = envelope_file("22-cap-asks");
    let apply = json!({ "value": "Apply the cap this time" });
    let did = host(BINARY, &asks, &json!([apply]));
    assert_eq!(did.last(), lines_of(&Example::named("23-cap-applied").reply()).last());
    let did = host(BINARY, &asks, &json!([{ "timedOut": true }]));
    assert_eq!(did[1..], lines_of(&Example::named("24-cap-not-answered").reply()));

    // The budget that is typed in is an entry on the branch before the next step looks for it.
    let answers = json!([{ "value": "Change the budget" }, { "value": "500c" }, apply]);
    let did = host(BINARY, &asks, &answers);
    let titles: Vec<&str> = did.iter().filter_map(|line| line["step"]["title"].as_str()).collect();
    assert_eq!(titles.len(), 3);
    assert!(titles[2].contains("(500c)"), "{titles:?}");
    assert_eq!(did.last().unwrap()["result"]["compaction"]["firstKeptEntryId"], "e000000b");
}

#[test]
fn a_host_from_the_page_alone_works_with_another_binary() {
    let dir = tempfile::tempdir().unwrap();
    let binary = at("tests/protocol/second-binary.py");
    let call = |event: &str, answers: Value| {
        let envelope = json!({
            "protocol": 1, "event": event, "host": { "hasUI": true }, "payload": {},
            "session": { "id": "s", "cwd": "/", "branch": [] },
        });
        let file = dir.path().join("visit.json");
        fs::write(&file, envelope.to_string()).unwrap();
        host(binary.to_str().unwrap(), &file, &answers)
    };

    let said = json!({ "message": { "role": "assistant", "content": [] } });
    let did = call("visit", json!([{ "value": "tea" }, { "value": false }, said]));
    let kinds: Vec<_> =
        did.iter().map(|line| line.as_object().unwrap().keys().next().unwrap().as_str()).collect();
    assert_eq!(kinds, ["effect", "effect", "step", "step", "step", "result"]);
    assert_eq!(did[3]["progress"], "the water boils");
    let result = json!({ "drink": { "value": "tea" }, "sugar": { "value": false }, "said": said });
    assert_eq!(did[5]["result"], result);

    for (event, failure) in [
        ("garbage", "no reply, status 0"),
        ("crash", "no reply, status 1"),
        ("hang", "no reply, status -9"),
        ("flood", "no reply, status -9"),
        ("two-outcomes", "not a reply of protocol 1"),
        ("other-protocol", "not a reply of protocol 1"),
        ("endless", "more steps than it had announced"),
    ] {
        let did = call(event, json!([]));
        assert_eq!(did.last(), Some(&json!({ "failure": failure })), "{event}");
    }
}
