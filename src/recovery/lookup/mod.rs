//! `context_lookup`: a model searches the record and writes up what it found. The model is called
//! by the host; between two calls everything stands in [`State`].

mod citations;
mod conversation;
pub mod limiter;
mod wording;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Caller, answer, ranked};
use crate::error::Result;
use crate::session::Branch;
use crate::text::clip;
use conversation::{Call, TOOL_NAMES, add_usage, make_room, text_of, tool_calls, turns_pages_only};
use limiter::Verdict;

/// Characters of the overview that goes with the question, and of an answer.
const OVERVIEW: usize = 4_000;
const ANSWER: usize = 12_000;
/// Tokens of one completion.
pub const MAX_TOKENS: u64 = 4_096;
/// Searches in one response that are carried out; the rest are refused.
const CALLS_PER_TURN: usize = 8;
/// Characters of a question.
const QUESTION: usize = 8_000;
/// Bytes of tool results that the model sees at a time; older ones make room. A small model gets
/// half of its window's worth, but never less than two pages.
const PAYLOAD: u64 = 200_000;
const SMALLEST_PAYLOAD: u64 = 48_000;

/// What stays between two steps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    question: String,
    /// The conversation with the lookup's model, in Pi's message types.
    messages: Vec<Value>,
    /// Completions so far.
    calls: u64,
    /// Responses with a new search so far.
    turns: u64,
    /// Pages that were offered and not turned yet.
    offered: Vec<String>,
    /// The limit that ended the search; the next completion is the write-up.
    ended_by: Option<String>,
    told_pages_only: bool,
    latest_text: String,
    usage: Map<String, Value>,
}

/// What the host does next.
pub enum Step {
    /// Call the model with these messages; with tools unless it is the write-up.
    Complete {
        messages: Vec<Value>,
        with_tools: bool,
        state: State,
        progress: String,
        steps_left: u64,
    },
    Done(Outcome),
}

#[derive(Debug)]
pub struct Outcome {
    pub text: String,
    /// `answered`, `partial`, `failed`, `noModel`, `blocked`; the limiter reads it.
    pub status: &'static str,
    pub usage: Option<Value>,
}

impl Outcome {
    fn step(status: &'static str, text: String) -> Step {
        Step::Done(Outcome { text, status, usage: None })
    }
}

pub struct Lookup<'l, 'b> {
    /// What is searched.
    pub source: &'l Branch<'b, 'b>,
    /// Responses with a new search that are allowed.
    pub turns: u64,
    /// Tokens that the model takes, where that is known.
    pub context_window: Option<u64>,
    /// Milliseconds since 1970, for the messages.
    pub now_ms: i64,
}

/// How the host's model call ended.
pub enum Completed<'c> {
    Message(&'c Map<String, Value>),
    Error { kind: &'c str, message: &'c str },
}

impl Lookup<'_, '_> {
    /// The first step. `live` is the branch that the call stands on, for the attempt limit.
    ///
    /// Errors: the session changed while it was read.
    pub fn start(
        &self,
        live: &Branch,
        call_id: &str,
        question: &str,
        limit: u64,
        has_model: bool,
    ) -> Result<Step> {
        match limiter::check(live, call_id, limit)? {
            Verdict::Go => {}
            Verdict::Blocked => return Ok(Outcome::step("blocked", wording::blocked(limit))),
            Verdict::Failing => {
                return Ok(Outcome::step(
                    "blocked",
                    format!("{} {}", wording::FAILING, wording::FALLBACK),
                ));
            }
        }
        let question = &clip(question, QUESTION);
        if self.source.is_empty() {
            return Ok(Outcome::step("failed", wording::EMPTY_BRANCH.to_owned()));
        }
        if !has_model {
            return self.extract("noModel", wording::NO_MODEL, question);
        }
        let overview = ranked(self.source, question, OVERVIEW)?.text;
        let state = State {
            question: question.to_string(),
            messages: vec![self.user(&wording::first_message(question, &overview))],
            calls: 0,
            turns: 0,
            offered: Vec::new(),
            ended_by: None,
            told_pages_only: false,
            latest_text: String::new(),
            usage: Map::new(),
        };
        Ok(self.complete(state, "searching".to_owned()))
    }

    /// A later step.
    ///
    /// Errors: the session changed while it was read.
    pub fn go_on(&self, mut state: State, completed: &Completed) -> Result<Step> {
        let message = match completed {
            Completed::Error { kind: "noModel", .. } => {
                return self.extract("noModel", wording::NO_MODEL, &state.question);
            }
            Completed::Error { kind: "unresolvedModel", message } => {
                let text = format!(
                    "context_lookup failed: {message}. No other model was asked; PI_STET_LOOKUP_MODEL names the one to use."
                );
                return Ok(Outcome::step("failed", text));
            }
            Completed::Error { message, .. } => return self.failed(state, message),
            Completed::Message(message) => *message,
        };
        state.calls += 1;
        add_usage(&mut state.usage, message.get("usage"));
        let text = text_of(message);
        if !text.trim().is_empty() {
            state.latest_text.clone_from(&text);
        }
        match message.get("stopReason").and_then(Value::as_str) {
            Some("error") => {
                let why = message
                    .get("errorMessage")
                    .and_then(Value::as_str)
                    .unwrap_or("the model call failed");
                return self.failed(state, why);
            }
            Some("aborted") => return self.failed(state, "the model call was aborted"),
            _ => {}
        }
        if let Some(limit) = state.ended_by.clone() {
            return self.written_up(state, &text, &limit);
        }
        let calls = tool_calls(message);
        if calls.is_empty() {
            let cut = message.get("stopReason").and_then(Value::as_str) == Some("length");
            return self.answered(state, &text, cut);
        }
        state.messages.push(Value::Object(message.clone()));
        self.searched(state, &calls)
    }

    fn searched(&self, mut state: State, calls: &[Call]) -> Result<Step> {
        let keys: Vec<Option<String>> = calls.iter().map(Call::key).collect();
        if !turns_pages_only(&keys, &state.offered) {
            if state.turns >= self.turns {
                state.messages.pop();
                return Ok(self.end(state, format!("{}-turn limit", self.turns)));
            }
            state.turns += 1;
        }
        state.offered.retain(|offered| !keys.iter().flatten().any(|key| key == offered));
        for (at, call) in calls.iter().enumerate() {
            let result = if at < CALLS_PER_TURN {
                self.run(call, &mut state.offered)?
            } else {
                (format!("Not run: {CALLS_PER_TURN} searches at most in one response."), true)
            };
            state.messages.push(self.tool_result(call, &result.0, result.1));
        }
        make_room(&mut state.messages, self.payload());
        if state.calls >= self.turns * 3 {
            return Ok(self.end(state, format!("{}-call total limit", self.turns * 3)));
        }
        if state.turns >= self.turns {
            if state.offered.is_empty() {
                return Ok(self.end(state, format!("{}-turn limit", self.turns)));
            }
            if !std::mem::replace(&mut state.told_pages_only, true) {
                state.messages.push(self.user(wording::PAGES_ONLY));
            }
        }
        let progress = calls.first().map_or_else(String::new, Call::describe);
        Ok(self.complete(state, progress))
    }

    /// Runs one search; offers the next page.
    fn run(&self, call: &Call, offered: &mut Vec<String>) -> Result<(String, bool)> {
        let Some(tool) = call.tool() else {
            return Ok((format!("There is no tool {:?}.", clip(&call.name, 60)), true));
        };
        Ok(match answer(self.source, tool, &call.arguments, Caller::Model(&call.name))? {
            Err(bad) => (bad.0, true),
            Ok(found) => {
                if let Some(Value::Object(next)) = found.next {
                    let mut arguments = call.arguments.clone();
                    arguments.extend(next);
                    offered.extend(Call { arguments, ..call.clone() }.key());
                }
                (found.text, false)
            }
        })
    }

    fn payload(&self) -> usize {
        let of_window = self.context_window.map_or(PAYLOAD, |tokens| tokens.saturating_mul(2));
        usize::try_from(of_window.clamp(SMALLEST_PAYLOAD, PAYLOAD)).unwrap_or(usize::MAX)
    }

    fn complete(&self, state: State, progress: String) -> Step {
        let with_tools = state.ended_by.is_none();
        let steps_left = (self.turns * 3 + 1).saturating_sub(state.calls);
        let progress = format!("lookup, step {}: {progress}", state.calls + 1);
        Step::Complete { messages: state.messages.clone(), with_tools, state, progress, steps_left }
    }

    /// Ends the search; one more completion writes up.
    fn end(&self, mut state: State, limit: String) -> Step {
        state.messages.push(self.user(&wording::write_up(&limit)));
        state.ended_by = Some(limit);
        self.complete(state, "writing up".to_owned())
    }

    fn answered(&self, state: State, text: &str, cut: bool) -> Result<Step> {
        if text.trim().is_empty() {
            return self.with_usage(
                state.usage,
                self.extract("failed", wording::NO_ANSWER, &state.question)?,
            );
        }
        let mark = if cut { Some("the answer was cut at its length limit") } else { None };
        self.findings(state.usage, text, mark, if cut { "partial" } else { "answered" })
    }

    fn written_up(&self, state: State, text: &str, limit: &str) -> Result<Step> {
        if !text.trim().is_empty() {
            return self.findings(state.usage, text, Some(limit), "partial");
        }
        self.partial(state, &format!("{limit}, and the write-up came out empty"))
    }

    /// The provider failed: what was found so far is kept, and the attempt does not count.
    fn failed(&self, state: State, why: &str) -> Result<Step> {
        let why = format!("context_lookup failed: {}", clip(why, 400));
        if state.ended_by.is_some() {
            return self.partial(state, &why);
        }
        if state.latest_text.trim().is_empty() {
            let lead = format!("{why}. These are the entries that fit the question best.");
            return self.with_usage(state.usage, self.extract("failed", &lead, &state.question)?);
        }
        let text = state.latest_text.clone();
        self.findings(state.usage, &text, Some(&why), "failed")
    }

    fn partial(&self, state: State, why: &str) -> Result<Step> {
        let text = match state.latest_text.trim() {
            "" => wording::NOTHING_FOUND.to_owned(),
            text => text.to_owned(),
        };
        self.findings(state.usage, &text, Some(why), "partial")
    }

    /// The answer with its citations checked, a mark if it is not complete, within its size.
    fn findings(
        &self,
        usage: Map<String, Value>,
        text: &str,
        mark: Option<&str>,
        status: &'static str,
    ) -> Result<Step> {
        let checked = citations::check(self.source, text)?;
        let tail = mark.map_or_else(String::new, |why| {
            format!("\n\n{} {}", wording::incomplete(&clip(why, 900)), wording::FALLBACK)
        });
        let room = ANSWER.saturating_sub(tail.chars().count() + 1);
        self.with_usage(usage, Outcome::step(status, format!("{}{tail}", clip(&checked, room))))
    }

    /// The ranked entries themselves.
    fn extract(&self, status: &'static str, lead: &str, question: &str) -> Result<Step> {
        let room =
            ANSWER.saturating_sub(lead.chars().count() + wording::FALLBACK.chars().count() + 400);
        let extract = ranked(self.source, question, room)?.text;
        Ok(Outcome::step(status, format!("{lead}\n\n{extract}\n\n{}", wording::FALLBACK)))
    }

    fn with_usage(&self, usage: Map<String, Value>, step: Step) -> Result<Step> {
        Ok(match step {
            Step::Done(outcome) if !usage.is_empty() => {
                Step::Done(Outcome { usage: Some(Value::Object(usage)), ..outcome })
            }
            step => step,
        })
    }

    fn user(&self, text: &str) -> Value {
        json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": self.now_ms })
    }

    fn tool_result(&self, call: &Call, text: &str, is_error: bool) -> Value {
        json!({
            "role": "toolResult", "toolCallId": call.id, "toolName": call.name,
            "content": [{ "type": "text", "text": text }], "isError": is_error, "timestamp": self.now_ms,
        })
    }
}

pub const SYSTEM_PROMPT: &str = wording::SYSTEM_PROMPT;

/// The search tools as the lookup's model gets them; `parameters` are those of ours.
pub fn tools(parameters: impl Fn(&str) -> Value) -> Vec<Value> {
    let describe = |name: &str| match name {
        "list_entries" => "List the entries of the record: id, time, kind, beginning.",
        "grep" => "Search the record: pattern (regular expression) or terms (ranked words).",
        _ => "Show entries whole, by id.",
    };
    TOOL_NAMES
        .iter()
        .map(|(name, ours)| json!({ "name": name, "description": describe(name), "parameters": parameters(ours) }))
        .collect()
}
