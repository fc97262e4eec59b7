//! Sessions for the targets: told by choices, or the lines of a file as they are.

use pi_stet::json::Fields;
use serde_json::{Value, json};

use super::choices::Choices;

pub struct Story {
    pub id: String,
    pub cwd: String,
    /// One JSON object each, without line breaks.
    pub lines: Vec<String>,
    /// The ids of the entries that were told.
    ids: Vec<String>,
    calls: Vec<(String, String)>,
    count: usize,
}

/// More would only cost time.
const MOST_LINES: usize = 60;

impl Story {
    /// Of bytes that begin like JSON the lines of a file; else a told one.
    pub fn of(choices: Choices) -> Story {
        let rest = choices.rest();
        if rest.first() == Some(&b'{') {
            Story::copied(rest)
        } else {
            Story::told(&mut Choices::new(rest))
        }
    }

    fn new() -> Story {
        Story {
            id: "0199a000-0000-7000-8000-000000000001".to_owned(),
            cwd: "/home/dev/app".to_owned(),
            lines: Vec::new(),
            ids: Vec::new(),
            calls: Vec::new(),
            count: 0,
        }
    }

    fn copied(file: &[u8]) -> Story {
        let mut story = Story::new();
        for line in file.split(|byte| *byte == b'\n').take(MOST_LINES) {
            let line = pi_stet::json::mend(line);
            let Some(fields) = Fields::parse(line.trim()) else { continue };
            if fields.string("type").as_deref() == Some("session") {
                story.cwd = fields.string("cwd").unwrap_or(story.cwd);
            } else {
                story.lines.push(line.trim().to_owned());
            }
        }
        story
    }

    pub fn told(choices: &mut Choices) -> Story {
        let mut story = Story::new();
        if choices.flag() {
            story.cwd =
                ["", "/", "..", "a/../b", "/home/dev/app/", "/w"][choices.below(6)].to_owned();
        }
        while !choices.is_empty() && story.lines.len() < MOST_LINES {
            story.step(choices);
        }
        story
    }

    fn step(&mut self, choices: &mut Choices) {
        let text = |choices: &mut Choices| json!({ "type": "text", "text": choices.text() });
        match choices.below(16) {
            0 | 1 => {
                let content = json!([text(choices)]);
                self.message(json!({ "role": "user", "content": content }));
            }
            2 => {
                let image =
                    json!({ "type": "image", "mimeType": choices.text(), "data": "iVBORw0K" });
                let content = json!([image, text(choices)]);
                self.message(json!({ "role": "user", "content": content }));
            }
            3..=5 => self.assistant(choices),
            6 | 7 => self.result(choices),
            8 => {
                let message = json!({
                    "role": "bashExecution", "command": choices.text(), "output": choices.text(),
                    "exitCode": choices.below(2), "cancelled": choices.flag(), "excludeFromContext": choices.flag(),
                });
                self.message(message);
            }
            9 => {
                let custom_type = choices.of(&[
                    "review",
                    "stet.reorientation",
                    "\n</x>",
                    "stet.method",
                    "stet.cap",
                ]);
                let fields = json!({ "customType": custom_type, "content": choices.text(), "display": true });
                self.entry("custom_message", fields);
            }
            10 => {
                let settings = [
                    ("stet.method", json!({ "method": "checkpoint" })),
                    ("stet.method", json!({ "method": "verbatim", "rebuild": true })),
                    ("stet.method", json!({ "method": "summary" })),
                    (
                        "stet.cap",
                        json!({ "mode": "on", "budget": { "unit": "chars", "value": 1500 } }),
                    ),
                    ("stet.checkpoint", json!({ "on": true })),
                    ("other", json!({ "x": 1 })),
                ];
                let (custom_type, data) = &settings[choices.below(settings.len())];
                self.entry("custom", json!({ "customType": custom_type, "data": data }));
            }
            11 => {
                let target = self.target(choices);
                let replacement = match choices.below(3) {
                    0 => Value::Null,
                    1 => json!({ "content": choices.text() }),
                    _ => json!({ "content": [text(choices)] }),
                };
                self.entry(
                    "context_edit",
                    json!({ "targetId": target, "replacement": replacement }),
                );
            }
            12 => {
                let target = self.target(choices);
                let label = choices.of(&["keep", "keep: \"why\"\n</pinned>", "bookmark", ""]);
                self.entry("label", json!({ "targetId": target, "label": label }));
            }
            13 => self.entry("branch_summary", json!({ "fromId": "x", "summary": choices.text() })),
            14 => self.foreign_compaction(choices),
            _ => {
                let sections = json!({ "project_context": format!(
                    "<project_instructions path=\"/home/dev/app/AGENTS.md\">Read src/lib.rs and {}</project_instructions>",
                    choices.text()
                ) });
                self.message(json!({ "role": "system", "content": "", "sections": sections }));
            }
        }
    }

    fn assistant(&mut self, choices: &mut Choices) {
        let blocks: Vec<Value> = (0..choices.below(4))
            .map(|_| match choices.below(4) {
                0 => json!({ "type": "thinking", "thinking": choices.text() }),
                1 => self.call(choices),
                2 => self.call(choices),
                _ => json!({ "type": "text", "text": choices.text() }),
            })
            .collect();
        let end = choices.of(&["stop", "toolUse", "aborted", "error", "length"]);
        self.message(json!({ "role": "assistant", "content": blocks, "stopReason": end }));
    }

    fn call(&mut self, choices: &mut Choices) -> Value {
        let tool = choices.of(&["read", "bash", "edit", "write", "checkpoint_update", "weather\n"]);
        let path =
            choices.of(&["src/lib.rs", "/home/dev/app/src/../src/lib.rs", "../x", "a\nb", ""]);
        let arguments = match choices.below(5) {
            0 => json!({ "path": path, "content": choices.text() }),
            1 => json!({ "path": path, "edits": [{ "oldText": "a", "newText": "b" }] }),
            2 => json!({ "command": choices.text() }),
            3 => json!({ "text": choices.text() }),
            _ => json!({ "path": path, "offset": choices.below(3) }),
        };
        let id = format!("call_{}", choices.below(6));
        self.calls.push((id.clone(), tool.to_owned()));
        json!({ "type": "toolCall", "id": id, "name": tool, "arguments": arguments })
    }

    fn result(&mut self, choices: &mut Choices) {
        let (id, tool) = match self.calls.len() {
            0 => ("call_0".to_owned(), "read".to_owned()),
            n => self.calls[n - 1 - choices.below(n)].clone(),
        };
        let content = json!([{ "type": "text", "text": choices.text() }]);
        let mut message =
            json!({ "role": "toolResult", "toolCallId": id, "toolName": tool, "content": content });
        if choices.below(8) > 0 {
            message["isError"] = choices.flag().into();
        }
        if choices.below(8) == 0 {
            let nested =
                json!({ "name": "edit", "arguments": { "path": "src/lib.rs" }, "status": "ok" });
            message["nestedCalls"] = json!({ "calls": [nested] });
        }
        self.message(message);
    }

    /// What Pi or another extension left.
    fn foreign_compaction(&mut self, choices: &mut Choices) {
        let kept = self.target(choices);
        let details = match choices.below(4) {
            0 => json!({ "readFiles": ["a.rs"], "modifiedFiles": [] }),
            1 => {
                json!({ "kind": "mech-compact", "span": { "lines": ["[User]: hello", choices.text()] } })
            }
            2 => json!({ "kind": "mech-compact" }),
            _ => json!({ "kind": "other" }),
        };
        let fields = json!({
            "summary": choices.text(), "firstKeptEntryId": kept, "tokensBefore": 100, "details": details,
        });
        self.entry("compaction", fields);
    }

    fn target(&mut self, choices: &mut Choices) -> String {
        match self.ids.len() {
            0 => "none".to_owned(),
            n => self.ids[n - 1 - choices.below(n)].clone(),
        }
    }

    fn message(&mut self, message: Value) {
        self.entry("message", json!({ "message": message }));
    }

    /// Adds an entry as Pi would write it.
    pub fn entry(&mut self, kind: &str, fields: Value) {
        self.count += 1;
        let id = format!("e{:07x}", self.count);
        let mut entry = json!({
            "type": kind, "id": id, "parentId": self.ids.last(),
            "timestamp": format!("2026-01-05T09:{:02}:{:02}.000Z", self.count / 60 % 60, self.count % 60),
        });
        if let (Value::Object(entry), Value::Object(fields)) = (&mut entry, fields) {
            entry.extend(fields);
        }
        self.ids.push(id);
        self.lines.push(entry.to_string());
    }

    /// The session file.
    pub fn jsonl(&self) -> String {
        let header = json!({ "type": "session", "version": 3, "id": self.id, "cwd": self.cwd });
        let mut file = format!("{header}\n");
        for line in &self.lines {
            file.push_str(line);
            file.push('\n');
        }
        file
    }

    /// The same as an inline branch.
    pub fn branch(&self) -> String {
        format!("[{}]", self.lines.join(","))
    }
}
