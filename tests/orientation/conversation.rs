//! A conversation as Pi keeps it: a branch of entries, and the transcript that Pi makes of it before
//! a request. Answers come from the binary's own entry point, so that what is tested is what runs.

use pi_stet::hook;
use pi_stet::orientation::{CUSTOM_TYPE, TEXT};
use serde_json::{Value, json};

/// A message of a transcript: what the hook is told about it, and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub skeleton: Value,
    pub body: String,
}

impl Message {
    pub fn role(&self) -> &str {
        self.skeleton["role"].as_str().unwrap()
    }

    pub fn is_ours(&self) -> bool {
        self.skeleton["customType"] == CUSTOM_TYPE
    }
}

#[derive(Debug, Default, Clone)]
pub struct Conversation {
    pub entries: Vec<Value>,
    /// The next message's time; a test moves it as clocks move.
    pub clock: i64,
}

impl Conversation {
    fn push(&mut self, mut entry: Value) -> String {
        let id = format!("e{}", self.entries.len() + 1);
        entry["id"] = json!(id);
        entry["timestamp"] = json!("2026-01-05T09:00:00.000Z");
        self.entries.push(entry);
        id
    }

    fn message(&mut self, message: Value) -> String {
        self.push(json!({ "type": "message", "message": message }))
    }

    pub fn user(&mut self, text: &str) -> String {
        self.message(json!({ "role": "user", "content": text, "timestamp": self.clock }))
    }

    pub fn answer(&mut self) -> String {
        self.message(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Yes." }], "stopReason": "stop", "timestamp": self.clock }))
    }

    /// An answer with calls, and their results.
    pub fn work(&mut self, calls: usize) {
        let id = |n: usize| format!("call{n}");
        let blocks: Vec<Value> = (0..calls)
            .map(|n| json!({ "type": "toolCall", "id": id(n), "name": "bash", "arguments": {} }))
            .collect();
        self.message(json!({ "role": "assistant", "content": blocks, "stopReason": "toolUse", "timestamp": self.clock }));
        for n in 0..calls {
            self.message(json!({ "role": "toolResult", "toolCallId": id(n), "toolName": "bash", "content": [], "isError": false, "timestamp": self.clock }));
        }
    }

    pub fn note(&mut self, custom_type: &str, details: Value) -> String {
        self.push(json!({ "type": "custom_message", "customType": custom_type, "content": TEXT, "display": true, "details": details }))
    }

    pub fn ours(&mut self, compaction: &str) -> String {
        self.note(CUSTOM_TYPE, json!({ "compactionId": compaction }))
    }

    pub fn omit(&mut self, target: &str) {
        self.push(json!({ "type": "context_edit", "targetId": target, "replacement": null }));
    }

    /// Keeps everything from the entry `kept` on.
    pub fn compact(&mut self, kind: &str, kept: &str) -> String {
        let summary = format!("Summary {}", self.entries.len());
        self.push(json!({ "type": "compaction", "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 1, "details": { "kind": kind } }))
    }

    /// What Pi would send: the latest compaction, what it kept, what followed, without what was
    /// omitted.
    pub fn transcript(&self) -> Vec<Message> {
        let compaction = self.entries.iter().rposition(|entry| entry["type"] == "compaction");
        let start = compaction.map_or(0, |at| {
            let kept = &self.entries[at]["firstKeptEntryId"];
            self.entries.iter().position(|entry| entry["id"] == *kept).unwrap_or(at)
        });
        let in_range = || self.entries.iter().skip(start);
        let omitted = |entry: &Value| {
            in_range().any(|edit| edit["type"] == "context_edit" && edit["targetId"] == entry["id"])
        };
        let mut transcript = vec![Message {
            skeleton: json!({ "role": "system", "timestamp": 0 }),
            body: "system".into(),
        }];
        if let Some(at) = compaction {
            let skeleton = json!({ "role": "compactionSummary", "timestamp": 0 });
            transcript.push(Message { skeleton, body: self.entries[at]["id"].to_string() });
        }
        transcript.extend(in_range().filter(|entry| !omitted(entry)).filter_map(message_of));
        transcript
    }

    fn ask(&self, event: &str, payload: Value) -> Value {
        let envelope = json!({
            "protocol": 1, "event": event, "payload": payload,
            "session": { "id": "s", "cwd": "/", "branch": self.entries },
        });
        let reply = hook::answer(envelope.to_string().as_bytes()).unwrap();
        let reply = serde_json::to_value(reply).unwrap();
        assert_eq!(reply.get("error"), None, "{reply}");
        reply["result"].clone()
    }

    /// What `before_agent_start` adds to a run.
    pub fn added_to_a_run(&self) -> Value {
        self.ask("before_agent_start", json!({ "messageType": "user" }))["message"].clone()
    }

    /// The transcript as it is sent, and whether the hook had changed anything.
    pub fn send(&self, transcript: &[Message]) -> (Vec<Message>, bool) {
        let skeletons: Vec<&Value> = transcript.iter().map(|message| &message.skeleton).collect();
        let result = self.ask("context_with_system", json!({ "messages": skeletons }));
        let Some(items) = result["messages"].as_array() else {
            assert_eq!(result, Value::Null);
            return (transcript.to_vec(), false);
        };
        let item = |item: &Value| match item.as_u64() {
            Some(index) => transcript[usize::try_from(index).unwrap()].clone(),
            None => Message { body: body_of_custom(item), skeleton: skeleton_of_custom(item) },
        };
        (items.iter().map(item).collect(), true)
    }

    pub fn request(&self) -> Vec<Message> {
        self.send(&self.transcript()).0
    }
}

fn message_of(entry: &Value) -> Option<Message> {
    match entry["type"].as_str()? {
        "message" => {
            let message = &entry["message"];
            let skeleton = json!({ "role": message["role"], "timestamp": message["timestamp"] });
            Some(Message { skeleton, body: entry["id"].to_string() })
        }
        "custom_message" => {
            Some(Message { skeleton: skeleton_of_custom(entry), body: body_of_custom(entry) })
        }
        _ => None,
    }
}

fn skeleton_of_custom(message: &Value) -> Value {
    json!({ "role": "custom", "customType": message["customType"], "details": message["details"], "timestamp": 0 })
}

/// What the model would read: two copies of ours look the same to it.
fn body_of_custom(message: &Value) -> String {
    format!("{}: {}", message["customType"], message["content"])
}
