//! The reply: what the binary writes to standard output, one JSON object.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::PROTOCOL;
use super::envelope::File;
use crate::error::Error;
use crate::json;
use crate::text::visible;

/// At most one of `result`, `ask`, `complete` and `error`; none of them means: no opinion.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, schemars(title = "pi-stet reply, protocol 1"))]
pub struct Reply {
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub protocol: u64,
    /// What the host does with the event; its form depends on the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Value>"))]
    pub result: Option<Answer>,
    /// Applied in order, before the next step if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub effects: Vec<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<Complete>,
    /// Only when the envelope said `record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Resolved>,
    /// A line for the person who waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How many more steps there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_left: Option<u32>,
    /// Opaque; comes back unchanged with the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReply>,
}

impl Default for Reply {
    fn default() -> Reply {
        Reply {
            protocol: PROTOCOL,
            result: None,
            effects: Vec::new(),
            ask: None,
            complete: None,
            resolved: None,
            progress: None,
            steps_left: None,
            state: None,
            error: None,
        }
    }
}

impl Reply {
    pub fn of_error(error: &Error) -> Reply {
        let error = ErrorReply {
            code: error.code().to_owned(),
            message: error.told(),
            hint: error.hint().to_owned(),
        };
        Reply { error: Some(error), ..Reply::default() }
    }

    /// An answer. What cannot be written as JSON is a defect, and the reply says so.
    pub fn of_result(result: &impl Serialize) -> Reply {
        match json::to_raw(result) {
            Ok(result) => Reply { result: Some(Answer::Json(result)), ..Reply::default() },
            Err(error) => Reply::of_error(&error),
        }
    }

    pub fn notify(mut self, level: Level, message: impl Into<String>) -> Reply {
        self.effects.push(Effect::Notify { level, message: message.into(), panel: None });
        self
    }

    /// A notice that is a panel where the host can draw one.
    pub fn show(mut self, message: String, panel: Panel) -> Reply {
        self.effects.push(Effect::Notify { level: Level::Info, message, panel: Some(panel) });
        self
    }
}

/// An answer to an event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Its texts may be megabytes long: they are written from where they are.
    Compaction {
        compaction: CompactionResult,
    },
    Json(Box<RawValue>),
}

/// Pi's type of this name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    pub summary: String,
    pub first_kept_entry_id: String,
    pub tokens_before: Value,
    pub details: Box<RawValue>,
}

/// Something the host does besides answering the event.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Tell the person.
    Notify {
        level: Level,
        #[serde(serialize_with = "shown")]
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        panel: Option<Panel>,
    },
    /// Append a `custom` entry at the leaf.
    AppendEntry { custom_type: String, data: Value },
    /// Add a custom message.
    SendMessage {
        message: CustomMessage,
        #[serde(skip_serializing_if = "Option::is_none")]
        deliver_as: Option<DeliverAs>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger_turn: Option<bool>,
    },
    /// Switch our own tools (by name), hooks (by event) and prompt sections (by tag).
    SetActive { enable: Vec<String>, disable: Vec<String> },
    /// A line in the status bar; without text it goes away.
    SetStatus {
        key: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Change how a built-in command describes itself.
    DescribeCommand { command: String, text: String },
}

/// The same as a notice's message, for a host that can draw it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Panel {
    #[serde(serialize_with = "shown")]
    pub title: String,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Row {
    pub label: &'static str,
    /// May have several lines.
    #[serde(serialize_with = "shown")]
    pub text: String,
    /// Left out: `info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

/// What is shown goes to a terminal, and what it quotes can be anything.
fn shown<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&visible(text))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Level {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeliverAs {
    Steer,
    FollowUp,
    NextTurn,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub custom_type: String,
    pub content: String,
    pub display: bool,
    pub details: Value,
}

/// A question to the person. The host's clock ends it; what a timeout means, the next step decides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub id: String,
    pub kind: AskKind,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `select`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    pub timeout_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum AskKind {
    Select,
    Confirm,
    Input,
}

/// A model call that the host makes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Complete {
    /// `provider/id`; absent: the session's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub system_prompt: String,
    /// Pi's message types.
    pub messages: Vec<Value>,
    pub tools: Vec<Value>,
    /// Tokens.
    pub max_tokens: u64,
    /// One id for all calls of a sequence.
    pub session_id: String,
    pub timeout_ms: u64,
}

/// What the call found out by itself, so that a replay need not.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Resolved {
    pub settings: serde_json::Map<String, Value>,
    pub files: Vec<File>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ErrorReply {
    /// Stable, for programs.
    pub code: String,
    pub message: String,
    /// What to do about it.
    pub hint: String,
}
