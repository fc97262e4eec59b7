//! Long sessions from a seed, straight into a writer: the same seed gives the same bytes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::author::{self, Author};
use super::call::answer;
use super::text::{lone, wire};

/// How a session should be.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub seed: u64,
    /// Bytes that the file gets at least.
    pub bytes: u64,
    /// Our own compactions, spread evenly; the last part of the file is not compacted.
    pub compactions: u32,
    /// Bytes of that last part; as many as of the others where it says nothing.
    pub last_part: Option<u64>,
    /// Bytes of a tool's output, on average.
    pub output: u64,
    /// Of a thousand requests so many come with a picture,
    pub pictures: u64,
    /// and behind so many of a thousand turns a branch is begun and left.
    pub branches: u64,
}

impl Shape {
    pub fn new(seed: u64, bytes: u64) -> Shape {
        Shape {
            seed,
            bytes,
            compactions: 0,
            last_part: None,
            output: 6_000,
            pictures: 25,
            branches: 100,
        }
    }

    /// Bytes of the file when its part `n` of `parts` ends.
    fn end_of(&self, n: u64, parts: u64) -> u64 {
        match self.last_part {
            Some(last) if n < parts => self.bytes.saturating_sub(last) * n / (parts - 1),
            _ => self.bytes * n / parts,
        }
    }
}

pub const ID: &str = "0199a000-0000-7000-8000-00000000beef";
pub const CWD: &str = "/home/dev/app";

/// Splitmix64: enough for made-up text, and no dependency.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    pub fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// What work is talked about with.
const WORDS: [&str; 40] = [
    "the",
    "parser",
    "fails",
    "when",
    "a",
    "line",
    "is",
    "empty",
    "because",
    "we",
    "never",
    "check",
    "its",
    "length",
    "before",
    "reading",
    "`src/lib.rs`",
    "must",
    "not",
    "change",
    "and",
    "test",
    "function",
    "returns",
    "error:",
    "\"expected\"",
    "value",
    "after",
    "buffer",
    "index",
    "to",
    "config",
    "session",
    "build",
    "with",
    "result",
    "then",
    "thread",
    "of",
    "3",
];
/// One word in fifty.
const RARE: [&str; 4] = ["schön", "日志", "🙂", "—"];
const PATHS: [&str; 8] = [
    "/home/dev/app/src/lib.rs",
    "src/parser/mod.rs",
    "README.md",
    "/etc/hosts",
    "tests/parser.rs",
    "docs/a b.md",
    "./Cargo.toml",
    "src/日志.rs",
];

/// A session in the making.
pub struct Generator<W: Write> {
    out: W,
    author: Author,
    dice: Dice,
    written: u64,
    calls: u64,
    shape: Shape,
    /// Something a later edit can name.
    last_result: Option<String>,
    last_user: Option<String>,
}

impl<W: Write> Generator<W> {
    pub fn new(out: W, shape: &Shape) -> io::Result<Generator<W>> {
        let mut generator = Generator {
            out,
            author: Author::default(),
            dice: Dice::new(shape.seed),
            written: 0,
            calls: 0,
            shape: *shape,
            last_result: None,
            last_user: None,
        };
        generator.line(&author::header(ID, CWD))?;
        Ok(generator)
    }

    fn line(&mut self, entry: &Value) -> io::Result<()> {
        let line = wire(&entry.to_string());
        self.written += line.len() as u64 + 1;
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")
    }

    /// Turns until the file has this size; it ends in a finished turn.
    pub fn up_to(&mut self, bytes: u64) -> io::Result<()> {
        while self.written < bytes {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        self.user()?;
        for _ in 0..self.dice.below(6) {
            self.work()?;
        }
        match self.dice.below(1_000) {
            0..=299 => self.other()?,
            300..=399 => self.edit()?,
            n if (400..400 + self.shape.branches).contains(&n) => self.abandoned_branch()?,
            _ => {}
        }
        let text = self.prose(60);
        self.says(vec![author::text(text)], "stop")
    }

    fn user(&mut self) -> io::Result<()> {
        let text = self.prose(25);
        let mut content = vec![author::text(text)];
        if self.dice.below(1_000) < self.shape.pictures {
            let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf"
                .repeat(1 + self.dice.below(2_000) as usize);
            content.push(author::image("image/png", &base64));
        }
        let entry = self.author.user(content.into());
        self.last_user = self.author.leaf.clone();
        self.line(&entry)
    }

    /// One to three calls, sometimes with words before them, and their results.
    fn work(&mut self) -> io::Result<()> {
        let mut blocks = vec![author::thinking(&self.prose(40))];
        if self.dice.below(3) == 0 {
            blocks.push(author::text(self.prose(15)));
        }
        let mut calls = Vec::new();
        for _ in 0..1 + self.dice.below(3) {
            self.calls += 1;
            let id = format!("call_{}", self.calls);
            let path = self.dice.of(&PATHS);
            let (tool, arguments) = match self.dice.below(5) {
                0 => (
                    "bash",
                    json!({ "command": format!("cd {CWD} && cargo test -- {}", self.prose(4)), "timeout": 60 }),
                ),
                1 => (
                    "edit",
                    json!({ "path": path, "edits": [{ "oldText": self.prose(9), "newText": self.prose(9) }] }),
                ),
                2 => ("write", json!({ "path": path, "content": self.prose(120) })),
                3 => ("codemode", json!({ "code": "await tools.read({ path: 'src/lib.rs' })" })),
                _ => ("read", json!({ "path": path, "offset": 1 })),
            };
            blocks.push(author::call(&id, tool, arguments));
            calls.push((id, tool));
        }
        self.says(blocks, "toolUse")?;
        for (id, tool) in calls {
            let lines = 1 + self.dice.below(self.shape.output / 30);
            let output: String = (0..lines).map(|n| format!("{n}: {}\n", self.prose(5))).collect();
            let failed = self.dice.below(9) == 0;
            let mut entry =
                self.author.tool_result(&id, tool, json!([author::text(output)]), Some(failed));
            if tool == "codemode" {
                let call = json!({ "id": format!("{id}/1"), "name": "read", "arguments": { "path": "src/lib.rs" }, "status": "ok" });
                entry["message"]["nestedCalls"] = json!({ "calls": [call], "complete": true });
            }
            self.last_result = self.author.leaf.clone();
            self.line(&entry)?;
        }
        Ok(())
    }

    fn says(&mut self, blocks: Vec<Value>, end: &str) -> io::Result<()> {
        let entry = self.author.assistant(blocks.into(), end);
        self.line(&entry)
    }

    /// What is neither asked nor answered.
    fn other(&mut self) -> io::Result<()> {
        let target = self.author.leaf.clone();
        let text = self.prose(12);
        let entry = match self.dice.below(5) {
            0 => self.author.message(json!({
                "role": "bashExecution", "command": text, "output": "ok\n", "exitCode": 0,
                "cancelled": false, "truncated": false, "timestamp": author::BEGIN_MS,
            })),
            1 => self.author.custom_entry(
                "custom_message",
                json!({ "customType": "review.comment", "content": text, "display": true }),
            ),
            2 => self.author.custom_entry(
                "custom",
                json!({ "customType": "review.state", "data": { "text": text } }),
            ),
            3 => self.author.entry("label", json!({ "targetId": target, "label": "bookmark" })),
            _ => self
                .author
                .entry("model_change", json!({ "provider": "fake", "modelId": "fake-1" })),
        };
        self.line(&entry)
    }

    /// A question and an answer that the user left again.
    fn abandoned_branch(&mut self) -> io::Result<()> {
        let back_to = self.author.leaf.clone();
        let text = self.prose(20);
        let entry = self.author.user(json!([author::text(format!("ABANDONED {text}"))]));
        self.line(&entry)?;
        self.says(vec![author::text("ABANDONED answer")], "aborted")?;
        self.author.leaf = back_to;
        Ok(())
    }

    fn edit(&mut self) -> io::Result<()> {
        let Some(target) = self.last_result.clone() else { return Ok(()) };
        let replacement = match self.dice.below(2) {
            0 => Value::Null,
            _ => json!({ "content": [author::text("(shortened)")] }),
        };
        let entry = self
            .author
            .entry("context_edit", json!({ "targetId": target, "replacement": replacement }));
        self.line(&entry)
    }

    fn prose(&mut self, words: u64) -> String {
        let mut text = String::new();
        for n in 0..=words / 2 + self.dice.below(words) {
            if n > 0 {
                text.push(if self.dice.below(14) == 0 { '\n' } else { ' ' });
            }
            text.push_str(match self.dice.below(50) {
                0 => self.dice.of(&RARE),
                _ => self.dice.of(&WORDS),
            });
        }
        if self.dice.below(5_000) == 0 {
            text.push(lone(0xD83D));
        }
        text
    }
}

/// Writes a session file of this shape, compacted by ourselves as Pi would have it done.
pub fn write_session(path: &Path, shape: &Shape) -> io::Result<()> {
    let mut generator = Generator::new(BufWriter::new(File::create(path)?), shape)?;
    let parts = u64::from(shape.compactions) + 1;
    for part in 1..=parts {
        generator.up_to(shape.end_of(part, parts))?;
        generator.out.flush()?;
        if part < parts {
            let compaction = compaction(path, &generator)?;
            let entry = generator.author.entry("compaction", compaction);
            generator.line(&entry)?;
        }
    }
    generator.out.flush()
}

/// The fields of our compaction of the file so far; what was said since the last request is kept.
fn compaction<W: Write>(path: &Path, generator: &Generator<W>) -> io::Result<Value> {
    let envelope = json!({
        "protocol": 1,
        "event": "session_before_compact",
        "session": { "id": ID, "cwd": CWD, "file": path, "leafId": generator.author.leaf },
        "cut": { "firstKeptEntryId": generator.last_user, "tokensBefore": 180_000 },
        "payload": { "reason": "threshold" },
        "settings": { "cap": { "mode": "off", "budget": { "unit": "percent", "value": 25 } } },
        "now": generator.author.clock,
    });
    let reply = answer(envelope.to_string().as_bytes());
    let mut compaction = reply["result"]["compaction"].clone();
    if !compaction.is_object() {
        return Err(io::Error::other(format!("no compaction: {reply}")));
    }
    compaction["fromHook"] = true.into();
    Ok(compaction)
}
