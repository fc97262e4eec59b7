//! Lookups, with a model that answers what a test writes down.

use pi_stet::recovery::LOOKUP;
use serde_json::{Value, json};

use super::call::Call;
use super::session::Session;

/// A session with something to look up; the call itself is its last entry.
pub fn session() -> Session {
    let output: String =
        (1..=900).map(|n| format!("row {n} of the long table of numbers {}\n", n * 7)).collect();
    Session::new()
        .user("Find the number.")
        .call("bash", json!({ "command": "make" }))
        .ok(&format!("{output}the answer is 4711 kilograms of sand\n"))
        .named("output")
        .user("What was it?")
        .call(LOOKUP, json!({ "question": QUESTION }))
}

pub const QUESTION: &str = "How many kilograms of sand was the answer?";

pub fn lookup(session: &Session) -> Call {
    let id = session.entries().next_back().map(|entry| {
        let blocks = entry["message"]["content"].as_array().cloned().unwrap_or_default();
        blocks.last().map_or(Value::Null, |block| block["id"].clone())
    });
    let payload = json!({ "name": LOOKUP, "toolCallId": id, "params": { "question": QUESTION } });
    Call::new("tool", session).with("payload", payload)
}

/// The host's part: each answer of the model in turn, until there is a result.
pub struct Run {
    /// The replies that asked for a completion.
    pub asked: Vec<Value>,
    pub result: Value,
}

impl Run {
    pub fn text(&self) -> &str {
        self.result["content"][0]["text"].as_str().expect("a text")
    }

    pub fn status(&self) -> &str {
        self.result["details"]["status"].as_str().expect("a status")
    }

    pub fn is_error(&self) -> bool {
        self.result["isError"] == true
    }
}

pub fn run(call: Call, settings: Value, answers: &[Value]) -> Run {
    let mut asked: Vec<Value> = Vec::new();
    let mut call = call.with("settings", settings);
    for answer in answers.iter().map(Some).chain([None]) {
        let reply = call.inline();
        if reply["result"].is_object() {
            assert!(answer.is_none(), "ended before {answer:?}: {reply}");
            return Run { asked, result: reply["result"].clone() };
        }
        let answer = answer.unwrap_or_else(|| {
            panic!("one more completion is asked for: {}", reply["complete"]["messages"])
        });
        let left = |reply: &Value| reply["stepsLeft"].as_u64().expect("the steps that are left");
        if let Some(before) = asked.last() {
            assert!(left(&reply) < left(before), "the bound shrinks");
        }
        assert!(left(&reply) > 0);
        assert!(
            reply["progress"].as_str().is_some_and(|text| text.starts_with("lookup, step ")),
            "{reply}"
        );
        // Caching is the provider's affair.
        assert!(!reply["complete"].to_string().contains("cacheRetention"));
        call = call.with("state", reply["state"].clone()).with("completion", answer.clone());
        asked.push(reply);
    }
    unreachable!("the chain ends in None")
}

pub fn message(content: Value, stop_reason: &str) -> Value {
    json!({ "message": {
        "role": "assistant", "content": content, "stopReason": stop_reason,
        "usage": { "input": 10, "output": 2, "totalTokens": 12, "cost": { "total": 0.5 } },
    } })
}

pub fn says(text: &str) -> Value {
    message(json!([{ "type": "text", "text": text }]), "stop")
}

pub fn calls(calls: &[(&str, Value)]) -> Value {
    let blocks: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| json!({ "type": "toolCall", "id": format!("c{at}"), "name": name, "arguments": arguments }))
        .collect();
    message(blocks.into(), "toolUse")
}

pub fn grep(pattern: &str) -> Value {
    calls(&[("grep", json!({ "pattern": pattern }))])
}

pub fn failure(kind: &str, message: &str) -> Value {
    json!({ "error": { "kind": kind, "message": message } })
}

/// The newest tool result that the model was given.
pub fn last_page(reply: &Value) -> String {
    let messages = reply["complete"]["messages"].as_array().expect("messages");
    let mut results = messages.iter().filter(|message| message["role"] == "toolResult");
    results
        .next_back()
        .and_then(|result| result["content"][0]["text"].as_str())
        .expect("a page")
        .to_owned()
}
