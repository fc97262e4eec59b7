//! Sessions with facts in them, from a seed: each fact is one line that stands once, among others
//! that look like it, somewhere in eight rounds of work that were all compacted since.

pub mod finding;
pub mod kinds;
pub mod noise;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::author::{self, Author};
use super::call::answer;
use super::generate::{CWD, Dice, ID};
use super::text::wire;
use kinds::{KINDS, Kind, Place, among, in_long_line};

/// Rounds of work; after each there is a compaction.
const ROUNDS: u64 = 8;
/// Lines of the same make as each fact, with other names and numbers.
const LOOK_ALIKES: u64 = 6;

#[derive(Debug, Clone)]
pub struct Fact {
    pub kind: &'static str,
    /// As it was said or printed.
    pub line: String,
    /// The entry that holds it.
    pub entry: String,
}

struct Story<W: Write> {
    out: W,
    author: Author,
    dice: Dice,
    written: u64,
    calls: u64,
    last_user: Option<String>,
    facts: Vec<Fact>,
}

/// Writes a session of at least so many bytes; gives back its facts.
pub fn write_story(path: &Path, seed: u64, bytes: u64) -> io::Result<Vec<Fact>> {
    let mut story = Story {
        out: BufWriter::new(File::create(path)?),
        author: Author::default(),
        dice: Dice::new(seed),
        written: 0,
        calls: 0,
        last_user: None,
        facts: Vec::new(),
    };
    story.line(&author::header(ID, CWD))?;
    for round in 1..=ROUNDS {
        story.round(bytes * round / ROUNDS)?;
        story.compact(path)?;
    }
    // What is said after the last compaction.
    story.turn()?;
    story.out.flush()?;
    Ok(story.facts)
}

impl<W: Write> Story<W> {
    /// Work until the file has that many bytes; each fact and its look-alikes stand somewhere in it.
    fn round(&mut self, until: u64) -> io::Result<()> {
        let mut planted: Vec<(&Kind, String, bool)> = Vec::new();
        for kind in &KINDS {
            planted.push((kind, (kind.line)(&mut self.dice), true));
            for _ in 0..LOOK_ALIKES {
                planted.push((kind, (kind.line)(&mut self.dice), false));
            }
        }
        let begin = self.written;
        let (total, mut left) = (planted.len() as u64, planted);
        while self.written < until || !left.is_empty() {
            self.turn()?;
            // As much of what is to be planted as of the round is written.
            let share = (self.written - begin) as f64 / until.saturating_sub(begin).max(1) as f64;
            let due = ((total as f64 * share) as u64).min(total);
            while !left.is_empty() && total - (left.len() as u64) < due {
                let at = self.dice.below(left.len() as u64) as usize;
                let (kind, line, is_fact) = left.swap_remove(at);
                self.plant(kind, &line)?;
                if is_fact {
                    let entry = self.author.leaf.clone().unwrap_or_default();
                    self.facts.push(Fact { kind: kind.name, line, entry });
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let ask = noise::prose(&mut self.dice);
        self.user(&ask)?;
        for _ in 0..1 + self.dice.below(5) {
            let lines = self.dice.below(120);
            let output = noise::lines(&mut self.dice, lines).join("\n");
            let arguments = match self.dice.below(3) {
                0 => (
                    "bash",
                    json!({ "command": format!("cargo test {} 2>&1 | tail -n {}", noise::name(&mut self.dice), lines) }),
                ),
                1 => ("read", json!({ "path": noise::path(&mut self.dice) })),
                _ => ("grep", json!({ "pattern": noise::name(&mut self.dice), "path": "src" })),
            };
            let thought = noise::prose(&mut self.dice);
            self.tool(&thought, arguments.0, arguments.1, &output)?;
        }
        let answer = noise::prose(&mut self.dice);
        self.says(vec![author::text(answer)], "stop")
    }

    /// Puts a line at its place; the entry with it is the leaf then.
    fn plant(&mut self, kind: &Kind, line: &str) -> io::Result<()> {
        let (before, after) = (self.dice.below(24), self.dice.below(24));
        let thought = noise::prose(&mut self.dice);
        match kind.place {
            Place::User => {
                let text = among(&mut self.dice, line, before / 8, after / 8);
                self.user(&text)
            }
            Place::Assistant => {
                let text = format!(
                    "{}\n{line}\n{}",
                    noise::prose(&mut self.dice),
                    noise::prose(&mut self.dice)
                );
                self.says(vec![author::text(text)], "stop")
            }
            Place::Thought => {
                let text = format!(
                    "{}\n{line}\n{}",
                    noise::prose(&mut self.dice),
                    noise::prose(&mut self.dice)
                );
                self.says(vec![author::thinking(&text), author::text(thought)], "stop")
            }
            Place::Output => {
                let output = among(&mut self.dice, line, before, after);
                let command = json!({ "command": format!("make {}", noise::noun(&mut self.dice)) });
                self.tool(&thought, "bash", command, &output)
            }
            Place::LongLine => {
                let output = in_long_line(&mut self.dice, line, 6_000);
                self.tool(
                    &thought,
                    "bash",
                    json!({ "command": "curl -s localhost/state" }),
                    &output,
                )
            }
            Place::Written => {
                let content = among(&mut self.dice, line, before * 4, after * 4);
                let path = noise::path(&mut self.dice);
                self.argument("write", json!({ "path": path, "content": content }))
            }
            Place::Edited => {
                let new = among(&mut self.dice, line, before / 6, after / 6);
                let (path, old) = (noise::path(&mut self.dice), noise::line(&mut self.dice));
                self.argument(
                    "edit",
                    json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }),
                )
            }
            Place::Bash => {
                let output = among(&mut self.dice, line, before / 2, after / 2);
                let entry = self.author.message(json!({
                    "role": "bashExecution", "command": "df -h", "output": output, "exitCode": 0,
                    "cancelled": false, "truncated": false, "timestamp": self.author.clock,
                }));
                self.line(&entry)
            }
        }
    }

    /// A fact in a call's arguments: the call is the leaf, its result follows with the next line.
    fn argument(&mut self, tool: &str, arguments: Value) -> io::Result<()> {
        let call = self.call(tool, arguments);
        self.says(vec![call], "toolUse")
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        author::call(&format!("call_{}", self.calls), tool, arguments)
    }

    fn tool(
        &mut self,
        thought: &str,
        tool: &str,
        arguments: Value,
        output: &str,
    ) -> io::Result<()> {
        let call = self.call(tool, arguments);
        self.says(vec![author::thinking(thought), call], "toolUse")?;
        let failed = self.dice.below(9) == 0;
        let id = format!("call_{}", self.calls);
        let entry = self.author.tool_result(&id, tool, json!([author::text(output)]), Some(failed));
        self.line(&entry)
    }

    fn user(&mut self, text: &str) -> io::Result<()> {
        let entry = self.author.user(json!([author::text(text)]));
        self.last_user = self.author.leaf.clone();
        self.line(&entry)
    }

    fn says(&mut self, blocks: Vec<Value>, end: &str) -> io::Result<()> {
        let entry = self.author.assistant(blocks.into(), end);
        self.line(&entry)
    }

    fn line(&mut self, entry: &Value) -> io::Result<()> {
        let line = wire(&entry.to_string());
        self.written += line.len() as u64 + 1;
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")
    }

    /// Our own compaction, as Pi saves it.
    fn compact(&mut self, path: &Path) -> io::Result<()> {
        self.turn()?;
        self.out.flush()?;
        let envelope = json!({
            "protocol": 1,
            "event": "session_before_compact",
            "session": { "id": ID, "cwd": CWD, "file": path, "leafId": self.author.leaf },
            "cut": { "firstKeptEntryId": self.last_user, "tokensBefore": 180_000 },
            "payload": { "reason": "threshold" },
            "settings": { "cap": { "mode": "off", "budget": { "unit": "percent", "value": 25 } } },
            "now": self.author.clock,
        });
        let reply = answer(envelope.to_string().as_bytes());
        let mut compaction = reply["result"]["compaction"].clone();
        if !compaction.is_object() {
            return Err(io::Error::other(format!("no compaction: {reply}")));
        }
        compaction["fromHook"] = true.into();
        let entry = self.author.entry("compaction", compaction);
        self.line(&entry)
    }
}
