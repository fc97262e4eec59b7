//! Writes session entries as Pi writes them: same fields, same order, one clock, ids in a row.

use serde_json::{Map, Value, json};

/// 2026-01-05T09:00:00.000Z, when every made-up session begins.
pub const BEGIN_MS: i64 = 1_767_603_600_000;

#[derive(Debug, Clone)]
pub struct Author {
    count: u32,
    /// Milliseconds since 1970.
    pub clock: i64,
    /// The parent of the next entry.
    pub leaf: Option<String>,
}

impl Default for Author {
    fn default() -> Author {
        Author { count: 0, clock: BEGIN_MS, leaf: None }
    }
}

impl Author {
    /// An entry whose fields follow the base fields, which is most of them.
    pub fn entry(&mut self, kind: &str, fields: Value) -> Value {
        let mut entry = Map::new();
        entry.insert("type".into(), kind.into());
        self.base_fields(&mut entry);
        entry.extend(object(fields));
        Value::Object(entry)
    }

    /// `custom` and `custom_message`: Pi writes the base fields last.
    pub fn custom_entry(&mut self, kind: &str, fields: Value) -> Value {
        let mut entry = Map::new();
        entry.insert("type".into(), kind.into());
        entry.extend(object(fields));
        self.base_fields(&mut entry);
        Value::Object(entry)
    }

    /// A message entry; the message gets its time where Pi puts it for this role.
    pub fn message(&mut self, message: Value) -> Value {
        self.entry("message", json!({ "message": message }))
    }

    fn base_fields(&mut self, entry: &mut Map<String, Value>) {
        self.count += 1;
        self.clock += 1_000;
        let id = format!("e{:07x}", self.count);
        entry.insert("id".into(), id.clone().into());
        entry.insert("parentId".into(), json!(self.leaf));
        entry.insert("timestamp".into(), iso(self.clock).into());
        self.leaf = Some(id);
    }

    pub fn user(&mut self, content: Value) -> Value {
        let timestamp = self.clock + 999;
        self.message(json!({ "role": "user", "content": content, "timestamp": timestamp }))
    }

    pub fn assistant(&mut self, content: Value, stop_reason: &str) -> Value {
        let mut message = object(json!({
            "role": "assistant",
            "content": content,
            "api": "openai-completions",
            "provider": "fake",
            "model": "fake-1",
            "usage": {
                "input": 1000, "output": 24, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0, "totalTokens": 1024,
                "cost": { "input": 0.001, "output": 0.00002, "cacheRead": 0, "cacheWrite": 0, "total": 0.00102 }
            },
            "stopReason": stop_reason,
            "timestamp": self.clock + 400,
        }));
        if stop_reason == "error" {
            message.insert("errorMessage".into(), "503 The model is overloaded.".into());
        }
        message.insert("responseId".into(), format!("resp-{}", self.count).into());
        message.insert("durationMs".into(), 600.into());
        message.insert("thinkingLevel".into(), "off".into());
        self.message(Value::Object(message))
    }

    /// `is_error` may be `null`: then the flag is left out.
    pub fn tool_result(
        &mut self,
        call: &str,
        tool: &str,
        content: Value,
        is_error: Option<bool>,
    ) -> Value {
        let mut message = object(json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool, "content": content, "details": {},
        }));
        if let Some(is_error) = is_error {
            message.insert("isError".into(), is_error.into());
        }
        message.insert("durationMs".into(), 15.into());
        message.insert("timestamp".into(), (self.clock + 999).into());
        self.message(Value::Object(message))
    }
}

pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// A time as Pi writes it.
pub fn iso(epoch_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(epoch_ms).expect("a time of this century");
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

pub fn header(id: &str, cwd: &str) -> Value {
    json!({ "type": "session", "version": 3, "id": id, "timestamp": iso(BEGIN_MS), "cwd": cwd })
}

pub fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

pub fn thinking(text: &str) -> Value {
    json!({ "type": "thinking", "thinking": text, "thinkingSignature": "sig" })
}

pub fn image(mime_type: &str, base64: &str) -> Value {
    json!({ "type": "image", "data": base64, "mimeType": mime_type })
}

pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
}
