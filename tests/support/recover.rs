//! Calls of the recovery tools, as a model makes them.

use pi_stet::recovery::{self, Answer, Caller};
use pi_stet::session::{Leaf, Reading, Session as Opened};
use serde_json::{Map, Value};

use super::session::Session;

/// What a tool answers on the branch of the session's leaf; the text of the complaint if the
/// arguments are bad.
pub fn try_ask(session: &Session, tool: &str, arguments: Value) -> Result<Answer, String> {
    try_ask_file(&session.jsonl(), session.leaf_id(), tool, arguments)
}

pub fn ask(session: &Session, tool: &str, arguments: Value) -> Answer {
    try_ask(session, tool, arguments).expect("good arguments")
}

pub fn try_ask_file(
    file: &[u8],
    leaf: Option<&str>,
    tool: &str,
    arguments: Value,
) -> Result<Answer, String> {
    let session = Opened::from_jsonl(file, Reading::Recover).expect("a session");
    let branch = session.branch(&leaf.map_or(Leaf::Last, Leaf::Id)).expect("a branch");
    let arguments: Map<String, Value> = arguments.as_object().expect("an object").clone();
    let answer = recovery::answer(&branch, tool, &arguments, Caller::Model(tool));
    answer.expect("the session stays as it is").map_err(|bad| bad.0)
}

/// The texts of all pages, from the first to the last.
pub fn all_pages(session: &Session, tool: &str, arguments: &Value) -> Vec<String> {
    let mut pages = Vec::new();
    let mut arguments = arguments.clone();
    loop {
        let answer = ask(session, tool, arguments.clone());
        assert_eq!(answer.page, pages.len() + 1);
        pages.push(answer.text);
        let Some(Value::Object(next)) = answer.next else {
            assert_eq!(pages.len(), answer.pages);
            return pages;
        };
        arguments.as_object_mut().expect("an object").extend(next);
    }
}

/// A page without its title and its last line about other pages.
pub fn body(page: &str) -> &str {
    let page = page.split_once('\n').map_or("", |(_, rest)| rest);
    page.rsplit_once("\n[page ").map_or(page, |(body, _)| body)
}
