//! Pages: whatever the entries hold, all pages together are the whole answer, nothing lost and
//! nothing twice.

use pi_stet::recovery::{self, Answer, Caller, GREP, LIST, SHOW, Transcript};
use pi_stet::session::{Branch, Leaf, Reading, Session};
use serde_json::{Map, Value, json};

use super::choices::Choices;
use super::story::Story;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    // Some texts are long, so that there is more than one page.
    let times = 1 + choices.below(64);
    let long = choices.text().repeat(times);
    let pattern = choices.text();
    let mut story = Story::of(choices);
    let message = json!({ "role": "user", "content": long });
    story.entry("message", json!({ "message": message }));
    let file = story.jsonl();
    let Ok(session) = Session::from_jsonl(file.as_bytes(), Reading::Recover) else { return };
    let branch = session.branch(&Leaf::Last).expect("a branch");

    shown_entries(&branch);
    listed_entries(&branch);
    for arguments in [json!({ "pattern": pattern }), json!({ "terms": pattern })] {
        if let Some(pages) = pages(&branch, GREP, &arguments) {
            assert!(pages.iter().all(|page| page.chars().count() <= recovery::SEARCH_PAGE + 1_000));
        }
    }
}

/// All pages of an answer; `None` where the arguments were bad or nothing was found.
fn pages(branch: &Branch, tool: &str, arguments: &Value) -> Option<Vec<String>> {
    let mut arguments = arguments.as_object().expect("an object").clone();
    let mut pages = Vec::new();
    loop {
        let answer = ask(branch, tool, &arguments)?;
        assert_eq!(answer.page, pages.len() + 1);
        pages.push(answer.text);
        let Some(Value::Object(next)) = answer.next else {
            assert_eq!(pages.len(), answer.pages, "the last page is the last one");
            return Some(pages);
        };
        arguments.extend(next);
    }
}

fn ask(branch: &Branch, tool: &str, arguments: &Map<String, Value>) -> Option<Answer> {
    let answer = recovery::answer(branch, tool, arguments, Caller::Model(tool));
    let answer = answer.expect("memory stays as it is").ok()?;
    answer.found.then_some(answer)
}

/// Up to eight entries, put together again from their pages.
fn shown_entries(branch: &Branch) {
    let mut ids: Vec<&str> =
        branch.iter().rev().map(|(_, entry)| branch.session.id(entry)).collect();
    ids.truncate(8);
    let transcript = Transcript::through(branch, None).expect("all of it");
    let mut expected = String::new();
    for id in &ids {
        let entry = transcript.entry(id).expect("memory stays as it is").expect("an entry");
        let body =
            if entry.sections.is_empty() { "(nothing to show)".to_owned() } else { entry.body() };
        expected.push_str(&format!("{}\n{body}\n\n", entry.header()));
    }
    let pages = pages(branch, SHOW, &json!({ "ids": ids })).expect("they are there");
    let mut together = String::new();
    let count = pages.len();
    for (at, page) in pages.iter().enumerate() {
        assert!(page.chars().count() <= recovery::ENTRY_PAGE + 1_000);
        let page = if count > 1 {
            page.rsplit_once("\n[page ").expect("a page says which it is").0
        } else {
            page
        };
        let continued = page.split_once('\n').filter(|_| at > 0);
        match continued {
            Some((first, rest)) if first.ends_with(", continued inside of a line)") => {
                assert_eq!(together.pop(), Some('\n'));
                together.push_str(rest);
            }
            Some((first, rest)) if first.ends_with(", continued)") => together.push_str(rest),
            _ => together.push_str(page),
        }
        together.push('\n');
    }
    // A page ends without the blank lines at its end.
    assert_eq!(squeezed(&together), squeezed(&expected));
}

fn squeezed(text: &str) -> String {
    text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Each entry is one row of the listing.
fn listed_entries(branch: &Branch) {
    let Some(pages) = pages(branch, LIST, &json!({})) else { return };
    let rows = pages.iter().flat_map(|page| {
        let page = page.split_once('\n').map_or("", |(_, rest)| rest);
        let page = page.rsplit_once("\n[page ").map_or(page, |(rows, _)| rows);
        page.lines().map(|row| row.split("  ").next().unwrap_or_default().to_owned())
    });
    let ids: Vec<String> =
        branch.iter().map(|(_, entry)| branch.session.id(entry).to_owned()).collect();
    assert_eq!(rows.collect::<Vec<_>>(), ids);
}
