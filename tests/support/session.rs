//! Sessions that read like sentences:
//! `Session::new().user("…").call("bash", json!({…})).ok("…").user("…").named("kept").compacted("kept")`.

use std::collections::{HashMap, VecDeque};

use pi_stet::session::{Leaf, Reading, Session as Opened};
use pi_stet::verify::verify;
use serde_json::{Value, json};

use super::author::{self, Author};
use super::call::Call;
use super::text::wire;

#[derive(Debug, Clone)]
pub struct Session {
    pub id: String,
    pub cwd: String,
    header: Value,
    lines: Vec<Line>,
    names: HashMap<String, String>,
    author: Author,
    /// Calls that have no result yet: id and tool.
    open_calls: VecDeque<(String, String)>,
    calls: u32,
    labels: HashMap<String, String>,
}

#[derive(Debug, Clone)]
enum Line {
    Entry(Value),
    Raw(Vec<u8>),
}

impl Session {
    pub fn new() -> Session {
        let (id, cwd) = ("0199a000-0000-7000-8000-000000000001", "/home/dev/app");
        Session {
            id: id.into(),
            cwd: cwd.into(),
            header: author::header(id, cwd),
            lines: Vec::new(),
            names: HashMap::new(),
            author: Author::default(),
            open_calls: VecDeque::new(),
            calls: 0,
            labels: HashMap::new(),
        }
    }

    /// Another header line, such as that of an older format.
    pub fn header(mut self, header: Value) -> Session {
        self.header = header;
        self
    }

    // What the people say.

    pub fn user(self, text: &str) -> Session {
        self.user_blocks(vec![author::text(text)])
    }

    pub fn user_blocks(mut self, blocks: Vec<Value>) -> Session {
        let entry = self.author.user(blocks.into());
        self.push(entry)
    }

    /// Old files and other tools write a plain string.
    pub fn user_string(mut self, text: &str) -> Session {
        let entry = self.author.user(text.into());
        self.push(entry)
    }

    pub fn assistant(self, text: &str) -> Session {
        self.blocks(vec![author::text(text)])
    }

    pub fn assistant_ended(mut self, stop_reason: &str, blocks: Vec<Value>) -> Session {
        let entry = self.author.assistant(blocks.into(), stop_reason);
        self.push(entry)
    }

    pub fn blocks(self, blocks: Vec<Value>) -> Session {
        let calls = blocks.iter().any(|block| block["type"] == "toolCall");
        self.assistant_ended(if calls { "toolUse" } else { "stop" }, blocks)
    }

    // Tools.

    /// One call in a message of its own.
    pub fn call(self, name: &str, arguments: Value) -> Session {
        self.calls(vec![(name, arguments)])
    }

    /// Calls of one message; their results come in any order with `ok`, `error`, `result`.
    pub fn calls(self, calls: Vec<(&str, Value)>) -> Session {
        self.says_and_calls(None, calls)
    }

    pub fn says_and_calls(mut self, text: Option<&str>, calls: Vec<(&str, Value)>) -> Session {
        let mut blocks: Vec<Value> = text.map(author::text).into_iter().collect();
        for (name, arguments) in calls {
            let block = self.new_call(name, arguments);
            blocks.push(block);
        }
        self.blocks(blocks)
    }

    /// A call block with a new id that waits for its result.
    pub fn new_call(&mut self, name: &str, arguments: Value) -> Value {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        self.open_calls.push_back((id.clone(), name.to_owned()));
        author::call(&id, name, arguments)
    }

    /// The oldest open call succeeds.
    pub fn ok(self, output: &str) -> Session {
        self.next_result(output, false)
    }

    /// The newest open call succeeds, whatever became of the others.
    pub fn newest_ok(mut self, output: &str) -> Session {
        let (call, tool) = self.open_calls.pop_back().expect("a call waits for its result");
        self.result(&call, &tool, output, Some(false))
    }

    pub fn error(self, output: &str) -> Session {
        self.next_result(output, true)
    }

    fn next_result(mut self, output: &str, is_error: bool) -> Session {
        let (call, tool) = self.open_calls.pop_front().expect("a call waits for its result");
        self.result(&call, &tool, output, Some(is_error))
    }

    pub fn result(
        mut self,
        call: &str,
        tool: &str,
        output: &str,
        is_error: Option<bool>,
    ) -> Session {
        let content = json!([author::text(output)]);
        let entry = self.author.tool_result(call, tool, content, is_error);
        self.push(entry)
    }

    /// The oldest open call succeeds; a script inside it made these calls.
    pub fn ok_with_nested(mut self, calls: Value) -> Session {
        let (call, tool) = self.open_calls.pop_front().expect("a call waits for its result");
        let mut entry = self.author.tool_result(&call, &tool, json!([]), Some(false));
        entry["message"]["nestedCalls"] = json!({ "calls": calls, "complete": true });
        self.push(entry)
    }

    /// The user's own command (`!cmd`).
    pub fn bash(self, command: &str, exit_code: i32) -> Session {
        self.bash_with(command, json!({ "exitCode": exit_code }))
    }

    /// With other fields over the usual ones; `!!` is `{"excludeFromContext":true}`.
    pub fn bash_with(mut self, command: &str, fields: Value) -> Session {
        let mut message = author::object(json!({
            "role": "bashExecution", "command": command, "output": "output of the user's command\n",
            "cancelled": false, "truncated": false, "timestamp": self.author.clock + 999,
        }));
        message.extend(author::object(fields));
        let entry = self.author.message(message.into());
        self.push(entry)
    }

    // What extensions and Pi itself add.

    pub fn custom_message(mut self, custom_type: &str, content: &str) -> Session {
        let fields = json!({ "customType": custom_type, "content": content, "display": true });
        let entry = self.author.custom_entry("custom_message", fields);
        self.push(entry)
    }

    pub fn state(mut self, custom_type: &str, data: Value) -> Session {
        let fields = json!({ "customType": custom_type, "data": data });
        let entry = self.author.custom_entry("custom", fields);
        self.push(entry)
    }

    pub fn branch_summary(self, summary: &str) -> Session {
        self.entry("branch_summary", json!({ "fromId": "e0000001", "summary": summary }))
    }

    pub fn label(mut self, target: &str, label: Option<&str>) -> Session {
        let target = self.id_of(target);
        match label {
            Some(label) => self.labels.insert(target.clone(), label.into()),
            None => self.labels.remove(&target),
        };
        let mut fields = json!({ "targetId": target });
        if let Some(label) = label {
            fields["label"] = label.into();
        }
        self.entry("label", fields)
    }

    pub fn omit(self, target: &str) -> Session {
        let target = self.id_of(target);
        self.entry("context_edit", json!({ "targetId": target, "replacement": null }))
    }

    pub fn replace(self, target: &str, text: &str) -> Session {
        let target = self.id_of(target);
        let replacement = json!({ "content": [author::text(text)] });
        self.entry("context_edit", json!({ "targetId": target, "replacement": replacement }))
    }

    pub fn system(mut self, prompt: &str) -> Session {
        let message = json!({
            "role": "system", "content": "", "sections": { "preamble": prompt }, "timestamp": self.author.clock,
        });
        let entry = self.author.message(message);
        self.push(entry)
    }

    pub fn model_change(self) -> Session {
        self.entry("model_change", json!({ "provider": "fake", "modelId": "fake-1" }))
    }

    /// An entry of any type: `fields` follow the base fields.
    pub fn entry(mut self, kind: &str, fields: Value) -> Session {
        let entry = self.author.entry(kind, fields);
        self.push(entry)
    }

    pub fn message(mut self, message: Value) -> Session {
        let entry = self.author.message(message);
        self.push(entry)
    }

    /// A line that is put into the file as it is and that no later entry builds on.
    pub fn raw(mut self, line: impl Into<Vec<u8>>) -> Session {
        self.lines.push(Line::Raw(line.into()));
        self
    }

    /// Changes the newest entry in place, for what the other sentences cannot say.
    pub fn but(mut self, change: impl FnOnce(&mut Value)) -> Session {
        let Some(Line::Entry(entry)) = self.lines.last_mut() else {
            panic!("there is no entry to change");
        };
        change(entry);
        self.author.leaf = entry["id"].as_str().map(str::to_owned);
        self
    }

    // Compactions.

    /// Any compaction: `fields` follow the base fields.
    pub fn compaction(self, summary: &str, kept: &str, fields: Value) -> Session {
        let mut all = author::object(json!({
            "summary": summary, "firstKeptEntryId": self.id_of(kept), "tokensBefore": 50_000,
        }));
        all.extend(author::object(fields));
        self.entry("compaction", all.into())
    }

    /// What Pi's own compaction leaves: a model's summary.
    pub fn compaction_of_pi(self, summary: &str, kept: &str) -> Session {
        let details = json!({ "readFiles": [], "modifiedFiles": [] });
        self.compaction(summary, kept, json!({ "details": details }))
    }

    /// What the older verbatim extension leaves; `lines: None` is its form from before spans.
    pub fn compaction_of_the_older(
        self,
        summary: &str,
        kept: &str,
        lines: Option<Value>,
    ) -> Session {
        let mut details = json!({ "kind": "mech-compact", "readFiles": ["/home/dev/app/old-read.rs"], "modifiedFiles": ["old-edit.rs"] });
        if let Some(lines) = lines {
            details["span"] = json!({
                "at": "2025-12-01T10:00:00.000Z", "from": "2025-12-01T08:00:00.000Z", "to": "2025-12-01T09:00:00.000Z",
                "reason": "threshold", "tokensBefore": 90_000, "lines": lines,
            });
        }
        self.compaction(summary, kept, json!({ "details": details, "fromHook": true }))
    }

    /// Our own compaction, as Pi saves it. Both forms of the envelope must give the same one.
    pub fn compacted(self, kept: &str) -> Session {
        self.compacted_with(kept, |call| call)
    }

    pub fn compacted_with(self, kept: &str, change: impl FnOnce(Call) -> Call) -> Session {
        let kept = self.id_of(kept);
        let reply = change(Call::compact(&self, &kept)).both();
        self.save(&reply)
    }

    /// Appends the compaction of a reply, which must be what it promises.
    pub fn save(self, reply: &Value) -> Session {
        let saved = self.save_unseen(reply);
        // What came before it may be damaged on purpose.
        let mut broken = saved.broken_promises();
        broken.retain(|(compaction, _)| compaction == saved.last_id());
        assert_eq!(broken, Vec::new(), "{}", saved.last_summary());
        saved
    }

    /// What `pi-stet verify` finds on the branch: the compaction, and what does not hold in it.
    pub fn broken_promises(&self) -> Vec<(String, String)> {
        let file = self.jsonl();
        let opened = Opened::from_jsonl(&file, Reading::AsPi).expect("a session");
        let branch = opened.branch(&Leaf::Id(self.last_id())).expect("a branch");
        let report = verify(&branch, &self.cwd).expect("it stays as it is");
        report.problems.into_iter().map(|problem| (problem.compaction, problem.what)).collect()
    }

    fn save_unseen(mut self, reply: &Value) -> Session {
        let compaction = &reply["result"]["compaction"];
        assert!(compaction.is_object(), "the reply has no compaction: {reply}");
        let mut fields = author::object(compaction.clone());
        fields.insert("fromHook".into(), true.into());
        let entry = self.author.entry("compaction", fields.into());
        self.push(entry)
    }

    // The tree.

    pub fn named(mut self, name: &str) -> Session {
        let id = self.last_id().to_owned();
        self.names.insert(name.into(), id);
        self
    }

    /// Goes on at another entry: what follows is a branch of its own.
    pub fn at(mut self, entry: &str) -> Session {
        self.author.leaf = Some(self.id_of(entry));
        self
    }

    pub fn at_root(mut self) -> Session {
        self.author.leaf = None;
        self
    }

    fn push(mut self, entry: Value) -> Session {
        self.lines.push(Line::Entry(entry));
        self
    }

    // Looking at it.

    /// The id behind a name; what is no name is an id.
    pub fn id_of(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    pub fn last_id(&self) -> &str {
        self.leaf_id().expect("the session has an entry")
    }

    pub fn leaf_id(&self) -> Option<&str> {
        self.author.leaf.as_deref()
    }

    /// All entries in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.lines.iter().filter_map(|line| match line {
            Line::Entry(entry) => Some(entry),
            Line::Raw(_) => None,
        })
    }

    pub fn labels(&self) -> &HashMap<String, String> {
        &self.labels
    }

    /// The summaries of the file's compactions, in file order.
    pub fn summaries(&self) -> Vec<&str> {
        let compactions = self.entries().filter(|entry| entry["type"] == "compaction");
        compactions.filter_map(|entry| entry["summary"].as_str()).collect()
    }

    pub fn last_summary(&self) -> &str {
        self.summaries().last().expect("a compaction")
    }

    pub fn last_details(&self) -> &Value {
        let mut compactions = self.entries().rev().filter(|entry| entry["type"] == "compaction");
        &compactions.next().expect("a compaction")["details"]
    }

    /// The file.
    pub fn jsonl(&self) -> Vec<u8> {
        let mut out = (wire(&self.header.to_string()) + "\n").into_bytes();
        for line in &self.lines {
            match line {
                Line::Entry(entry) => out.extend_from_slice(wire(&entry.to_string()).as_bytes()),
                Line::Raw(bytes) => out.extend_from_slice(bytes),
            }
            out.push(b'\n');
        }
        out
    }
}
