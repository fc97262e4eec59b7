//! The conversation with the lookup's model, in Pi's message types.

use serde_json::{Map, Value, json};

use crate::recovery::arguments::Query;
use crate::recovery::{GREP, LIST, SHOW};
use crate::text::clip;

/// The tools as the lookup's model calls them, and as we do.
pub const TOOL_NAMES: [(&str, &str); 3] =
    [("list_entries", LIST), ("grep", GREP), ("show_entry", SHOW)];

#[derive(Debug, Clone)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Map<String, Value>,
}

impl Call {
    pub fn tool(&self) -> Option<&'static str> {
        TOOL_NAMES.iter().find(|(name, _)| *name == self.name).map(|(_, ours)| *ours)
    }

    /// The same for calls that ask for the same page, whether they name the defaults or not.
    pub fn key(&self) -> Option<String> {
        Query::read(self.tool()?, &self.arguments).ok().map(|query| format!("{query:?}"))
    }

    pub fn describe(&self) -> String {
        let what = ["pattern", "terms", "ids"].iter().find_map(|key| self.arguments.get(*key));
        let what = what.map_or_else(String::new, |value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        });
        format!("{} {}", self.name, clip(&what, 80))
    }
}

/// Every call turns a page that was offered, each only once.
pub fn turns_pages_only(keys: &[Option<String>], offered: &[String]) -> bool {
    keys.iter().enumerate().all(|(at, key)| {
        key.as_ref().is_some_and(|key| offered.contains(key)) && !keys[..at].contains(key)
    })
}

pub fn tool_calls(message: &Map<String, Value>) -> Vec<Call> {
    let blocks =
        message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
    blocks
        .iter()
        .filter(|block| block["type"] == "toolCall")
        .map(|block| Call {
            id: text(block, "id"),
            name: text(block, "name"),
            arguments: block["arguments"].as_object().cloned().unwrap_or_default(),
        })
        .collect()
}

pub fn text_of(message: &Map<String, Value>) -> String {
    let blocks =
        message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Adds numbers up, those inside objects (`cost`) too.
pub fn add_usage(sum: &mut Map<String, Value>, usage: Option<&Value>) {
    let Some(Value::Object(usage)) = usage else { return };
    for (key, value) in usage {
        match value {
            Value::Number(number) => {
                let before = sum.get(key).and_then(Value::as_f64).unwrap_or(0.0);
                sum.insert(
                    key.clone(),
                    crate::json::number(before + number.as_f64().unwrap_or(0.0)),
                );
            }
            Value::Object(_) => {
                let inner = sum.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(inner) = inner {
                    add_usage(inner, Some(value));
                }
            }
            _ => {}
        }
    }
}

/// Takes the oldest pages out of the conversation until the rest fits.
pub fn make_room(messages: &mut [Value], most: usize) {
    let size = |message: &Value| message["content"][0]["text"].as_str().map_or(0, str::len);
    let results = |message: &&mut Value| message["role"] == "toolResult";
    let mut total: usize =
        messages.iter().filter(|message| message["role"] == "toolResult").map(size).sum();
    for message in messages.iter_mut().filter(results) {
        if total <= most {
            return;
        }
        total -= size(message);
        message["content"][0]["text"] =
            json!("(This page made room for later ones; ask for it again if you need it.)");
    }
}
