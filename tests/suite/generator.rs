//! The generator of long sessions: what benches measure must be a session, and always the same.

use pi_stet::session::{Leaf, Reading, Session as Opened};

use crate::support::checkpoint::{spans, stable_part};
use crate::support::generate::{Shape, write_session};

fn write(shape: &Shape) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    write_session(&path, shape).expect("room for the session");
    std::fs::read(path).expect("the session")
}

#[test]
fn one_seed_gives_one_session_of_the_size_asked_for() {
    let shape = Shape { compactions: 3, ..Shape::new(11, 600_000) };
    let file = write(&shape);
    assert!((600_000..900_000).contains(&file.len()), "{} bytes", file.len());
    assert!(file == write(&shape), "the same seed gives the same bytes");
    assert!(file != write(&Shape { seed: 12, ..shape }), "another seed gives others");
}

#[test]
fn it_has_everything_that_real_sessions_have() {
    let file = write(&Shape { compactions: 4, output: 600, ..Shape::new(3, 2_000_000) });
    let opened = Opened::from_jsonl(&file, Reading::AsPi).expect("a session");
    assert_eq!(opened.malformed_lines, 0);
    let branch = opened.branch(&Leaf::Last).expect("a branch");
    assert!(branch.broken.is_none());
    assert!(branch.len() < opened.len(), "there are branches that were left");

    let text = String::from_utf8(file).expect("UTF-8");
    let lines: Vec<serde_json::Value> = text
        .replace("\\ud83d", "?")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let has = |key: &str, value: &str| {
        lines.iter().any(|line| line[key] == value || line["message"][key] == value)
    };
    for kind in ["compaction", "context_edit", "label", "custom", "custom_message", "model_change"]
    {
        assert!(has("type", kind), "{kind}");
    }
    for role in ["user", "assistant", "toolResult", "bashExecution"] {
        assert!(has("role", role), "{role}");
    }
    for needle in ["nestedCalls", "\"type\":\"image\"", "\\ud83d", "ABANDONED"] {
        assert!(text.contains(needle), "{needle}");
    }

    let summaries: Vec<&str> = lines.iter().filter_map(|line| line["summary"].as_str()).collect();
    assert_eq!(summaries.len(), 4);
    for pair in summaries.windows(2) {
        assert!(pair[1].starts_with(stable_part(pair[0])));
    }
    assert_eq!(spans(summaries[3]).len(), 4);
    assert!(!summaries[3].contains("ABANDONED"));
}
