//! What models write for arguments, and what the manifest promises of them.

use std::collections::BTreeSet;

use pi_stet::manifest::manifest;
use pi_stet::recovery::{GREP, LIST, LOOKUP, SHOW, TOOLS};
use serde_json::{Value, json};

use crate::support::call::Call;
use crate::support::recover::{ask, try_ask};
use crate::support::session::Session;

fn session() -> Session {
    let lines: String = (1..=30).map(|n| format!("plum {n}\n")).collect();
    Session::new().call("bash", json!({ "command": "x" })).ok(&lines).user("a plum").named("user")
}

#[test]
fn numbers_are_brought_into_range() {
    let session = session();
    let matches = |arguments: Value| {
        let answer = ask(&session, GREP, arguments).text;
        answer.lines().filter(|line| line.starts_with('>')).count()
    };
    for arguments in [
        json!({ "pattern": "plum 15", "before": "1", "after": 1.9 }),
        json!({ "pattern": "plum 15", "before": -7, "after": 1e300 }),
        json!({ "pattern": "plum 15", "before": u64::MAX, "after": null }),
        json!({ "pattern": "plum 15", "page": 0, "maxMatches": 0 }),
        json!({ "pattern": "plum 15", "page": -1 }),
    ] {
        assert_eq!(matches(arguments.clone()), 1, "{arguments}");
    }
    let one_line_each =
        ask(&session, GREP, json!({ "pattern": "plum 15", "before": "1", "after": 1.9 }));
    assert_eq!(one_line_each.text.lines().count(), 2 + 3);
    let first = ask(&session, GREP, json!({ "pattern": "plum", "maxMatches": 2 }));
    assert_eq!(first.text.lines().count(), 1 + 2, "{}", first.text);
    assert!(
        first.text.contains("31 matching lines") && first.text.contains("2 of them are listed")
    );
    let beyond = ask(&session, GREP, json!({ "pattern": "plum", "page": 1_000_000 }));
    assert!(
        !beyond.found && beyond.text.starts_with("There is no page 1000000"),
        "{}",
        beyond.text
    );
}

/// For an engine that tries one way after the other each of them is the work of ages.
#[test]
fn no_pattern_takes_for_ever() {
    let line = "a".repeat(50_000);
    let session = Session::new().user(&line).user(&"x=".repeat(20_000)).user("a plum");
    for pattern in [
        "(a+)+$b",
        "(a*)*b",
        "(a|aa)+c",
        "(a|a?)+c",
        "(.*a){20}b",
        "(x+x+)+y",
        "((a{0,200}){0,200})c",
        "(?:a?){5000}b",
        "a{1000}{1000}{1000}",
        "[\\w\\W]{900}[^a]{900}b",
        "^(a|[ab]|[abc])*$d",
        &"(".repeat(4_000),
        &"(a".repeat(300),
        &"a|".repeat(2_000),
    ] {
        let answer = ask(&session, GREP, json!({ "pattern": pattern }));
        assert_eq!(answer.found, pattern.starts_with("a|"), "{pattern:.40}: {:.300}", answer.text);
        assert!(answer.text.len() < 60_000, "{pattern:.40}: {} bytes", answer.text.len());
    }
    let longer = try_ask(&session, GREP, json!({ "pattern": "a|".repeat(3_000) }));
    assert!(longer.expect_err("it is refused").contains("longer than 4096 bytes"));
    assert!(ask(&session, GREP, json!({ "pattern": "(a|aa)+ plum" })).found);
}

#[test]
fn what_cannot_be_meant_is_told_clearly() {
    let session = session();
    for (tool, arguments, told) in [
        (GREP, json!({}), "Give `pattern`"),
        (GREP, json!({ "pattern": "" }), "Give `pattern`"),
        (GREP, json!({ "pattern": "a", "terms": "b" }), "not both"),
        (GREP, json!({ "pattern": 7 }), "`pattern` must be a text"),
        (GREP, json!({ "pattern": "x".repeat(5_000) }), "`pattern` is longer"),
        (GREP, json!({ "pattern": "a", "before": "NaN" }), "`before` must be a whole number"),
        (GREP, json!({ "pattern": "a", "after": "many" }), "`after` must be a whole number"),
        (GREP, json!({ "pattern": "a", "caseSensitive": "yes" }), "`caseSensitive` must be"),
        (GREP, json!({ "pattern": "a", "in": ["users"] }), "it takes user, assistant"),
        (GREP, json!({ "pattern": "a", "in": 3 }), "`in` must be"),
        (LIST, json!({ "page": [1] }), "`page` must be a whole number"),
        (LIST, json!({ "throughEntry": "nobody" }), "throughEntry names no entry"),
        (SHOW, json!({}), "`ids` must name"),
        (SHOW, json!({ "ids": [1] }), "`ids` must be"),
        (SHOW, json!({ "ids": ["1", "2", "3", "4", "5", "6", "7", "8", "9"] }), "eight at most"),
    ] {
        let complaint = try_ask(&session, tool, arguments.clone()).expect_err("bad arguments");
        assert!(complaint.contains(told), "{tool} {arguments}: {complaint}");
        let payload = json!({ "name": tool, "toolCallId": "c", "params": arguments });
        let reply = Call::new("tool", &session).with("payload", payload).both();
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        assert_eq!(reply["result"]["content"][0]["text"], complaint.as_str());
    }
}

#[test]
fn one_id_is_taken_for_a_list_and_an_unknown_one_is_named() {
    let session = session();
    let id = session.id_of("user");
    for arguments in [json!({ "ids": &id }), json!({ "id": &id }), json!({ "ids": [&id] })] {
        assert!(ask(&session, SHOW, arguments).text.ends_with("a plum"));
    }
    let some = ask(&session, SHOW, json!({ "ids": ["gone", &id] }));
    assert!(
        some.found && some.missing == 1 && some.text.starts_with("No entry gone on this branch")
    );
    let none = json!({ "name": SHOW, "toolCallId": "c", "params": { "ids": ["gone"] } });
    let reply = Call::new("tool", &session).with("payload", none).both();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
}

/// Every parameter of the schemas does something, and what they forbid is refused or mended.
#[test]
fn the_schemas_say_what_is_taken() {
    let session = session();
    let manifest = manifest();
    for tool in manifest.tools.iter().filter(|tool| TOOLS.contains(&tool.name.as_str())) {
        let schema = &tool.parameters;
        let validator = jsonschema::validator_for(schema).expect("a schema");
        let names: BTreeSet<&str> = schema["properties"]
            .as_object()
            .expect("properties")
            .keys()
            .map(String::as_str)
            .collect();
        let (expected, example) = match tool.name.as_str() {
            LIST => (vec!["in", "page", "throughEntry", "tool"], json!({})),
            GREP => (
                vec![
                    "after",
                    "before",
                    "caseSensitive",
                    "in",
                    "maxMatches",
                    "page",
                    "pattern",
                    "terms",
                    "throughEntry",
                    "tool",
                ],
                json!({ "pattern": "plum" }),
            ),
            SHOW => {
                (vec!["ids", "page", "throughEntry"], json!({ "ids": [session.id_of("user")] }))
            }
            LOOKUP => (vec!["question"], json!({ "question": "What?" })),
            other => panic!("an unknown tool {other}"),
        };
        assert!(names.iter().copied().eq(expected.iter().copied()), "{}: {names:?}", tool.name);
        assert!(validator.is_valid(&example), "{}", tool.name);
        if tool.name == LOOKUP {
            continue;
        }
        assert!(try_ask(&session, &tool.name, example.clone()).is_ok());
        for (name, bad) in [
            ("in", json!(["users"])),
            ("page", json!("x")),
            ("ids", json!([])),
            ("caseSensitive", json!(3)),
        ] {
            if !names.contains(name) {
                continue;
            }
            let mut arguments = example.clone();
            arguments[name] = bad;
            assert!(!validator.is_valid(&arguments), "{}: {name}", tool.name);
            assert!(try_ask(&session, &tool.name, arguments).is_err(), "{}: {name}", tool.name);
        }
    }
    let kinds = &manifest.tools.iter().find(|tool| tool.name == GREP).expect("grep").parameters;
    for kind in kinds["properties"]["in"]["items"]["enum"].as_array().expect("the kinds") {
        assert!(try_ask(&session, LIST, json!({ "in": [kind] })).is_ok(), "{kind}");
    }
}

/// What a model has to know stands in the descriptions: when to recover, and when not.
#[test]
fn descriptions_name_triggers_and_limits() {
    let manifest = manifest();
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(TOOLS.iter().all(|tool| names.contains(tool)), "{names:?}");
    let lookup = manifest.tools.iter().find(|tool| tool.name == LOOKUP).expect("the lookup");
    for word in [
        "word for word",
        "came from",
        "contradict",
        "not for",
        "read them",
        "ask",
        "other sessions",
        "abandoned branches",
        "context_grep",
    ] {
        assert!(lookup.description.to_lowercase().contains(word), "{word}: {}", lookup.description);
    }
    assert_eq!(serde_json::to_value(lookup.execution_mode).expect("JSON"), "sequential");
    let all: String = manifest.tools.iter().map(|tool| tool.description.as_str()).collect();
    for word in ["exact", "compacted", "as it is now"] {
        assert!(all.contains(word), "{word}");
    }
}

/// Advertising, reminder and skill each say it in their own words.
#[test]
fn no_sentence_stands_in_two_places() {
    let skill = include_str!("../../pi-extension/skills/context-retrieval/SKILL.md");
    let reminder = pi_stet::orientation::TEXT;
    let descriptions: String = manifest()
        .tools
        .iter()
        .filter(|tool| TOOLS.contains(&tool.name.as_str()))
        .map(|tool| tool.description.clone() + "\n")
        .collect();
    let places =
        [("skill", skill), ("reminder", reminder), ("descriptions", descriptions.as_str())];
    for (at, (name, text)) in places.iter().enumerate() {
        assert!(sentences(text).len() > 5, "{name}");
        for (other, other_text) in &places[at + 1..] {
            let shared: Vec<_> =
                sentences(text).intersection(&sentences(other_text)).cloned().collect();
            assert!(shared.is_empty(), "{name} and {other}: {shared:?}");
        }
    }
}

fn sentences(text: &str) -> BTreeSet<String> {
    let sentences = text.split(['.', ':', ';', '\n']).map(|sentence| {
        let words = sentence.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").to_lowercase()
    });
    sentences.filter(|sentence| sentence.split(' ').count() > 4).collect()
}
