//! The envelope: what the host writes to standard input, one JSON object.

use std::collections::HashMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One event of the host with all that is needed to answer it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, schemars(title = "pi-stet envelope, protocol 1"))]
pub struct Envelope<'a> {
    /// The protocol version; this is 1.
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub protocol: u64,
    /// The event's name: one of Pi's event names, `tool`, or `command`.
    pub event: String,
    #[serde(default)]
    pub host: Host,
    /// The session, by file or inline; absent where the manifest says `"session": false`.
    #[serde(default, borrow)]
    #[cfg_attr(test, schemars(with = "Option<SessionForm>"))]
    pub session: Option<SessionField<'a>>,
    /// Where Pi cuts; with `session_before_compact` only.
    #[serde(default)]
    pub cut: Option<Cut>,
    /// The session's model; absent when there is none.
    #[serde(default)]
    pub model: Option<Model>,
    /// Settings over every other source, by name (`method`, …).
    #[serde(default)]
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Instruction files that the host loaded (AGENTS.md and its like).
    #[serde(default)]
    pub context_files: Vec<ContextFile>,
    /// The rendered prompt, only where the branch holds no system message.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// The present, in milliseconds since 1970; for replay.
    #[serde(default)]
    pub now: Option<i64>,
    /// Files as they were, for replay.
    #[serde(default)]
    pub files: Vec<File>,
    /// Write no file.
    #[serde(default)]
    pub dry_run: bool,
    /// Put what was resolved into the reply, so that the call can be replayed anywhere.
    #[serde(default)]
    pub record: bool,
    /// What the event carries; see the page for each event's fields.
    #[serde(default, borrow)]
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub payload: Option<&'a RawValue>,
    /// On a later step: the answers to the asks so far, by ask id.
    #[serde(default)]
    pub answers: HashMap<String, Answer>,
    /// On a later step: how the completion ended that the last reply asked for.
    #[serde(default)]
    pub completion: Option<Completion>,
    /// On a later step: the `state` of the last reply, unchanged.
    #[serde(default, borrow)]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub state: Option<&'a RawValue>,
}

/// Who calls.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Host {
    pub name: String,
    pub version: String,
    /// `tui`, `rpc`, `json` or `print`.
    pub mode: String,
    /// Somebody can answer an `ask`.
    #[serde(rename = "hasUI")]
    pub has_ui: bool,
    /// It has the branch in memory and repeats a call with it where a file turns out to be stale.
    pub can_inline: bool,
    /// An agent run is under way.
    pub in_run: bool,
    /// Messages wait to be delivered.
    pub pending_messages: bool,
    /// Pi's folder for its files.
    pub agent_dir: Option<String>,
    /// Pi's compaction settings for the session's model.
    pub compaction: Option<CompactionSettings>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionSettings {
    /// Tokens that are kept free for the answer.
    pub reserve_tokens: f64,
    /// Tokens of recent conversation that a compaction keeps.
    pub keep_recent_tokens: f64,
}

/// Both forms of the session in one; the handlers decide which it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionField<'a> {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub cwd: String,
    #[serde(default)]
    pub file: Option<String>,
    /// Absent and `null` differ, so the raw value is kept.
    #[serde(default, borrow, deserialize_with = "even_null")]
    pub leaf_id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub branch: Option<&'a RawValue>,
    #[serde(default)]
    pub labels: HashMap<String, String>,
}

/// A present value, `null` included, which serde would take for an absent one.
fn even_null<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// The session, by reference or inline.
#[cfg(test)]
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "it describes the wire for the schema; reading goes through SessionField"
)]
enum SessionForm {
    /// The file that Pi writes.
    #[serde(rename_all = "camelCase")]
    ByReference {
        id: String,
        cwd: String,
        /// Absolute path of the JSONL file.
        file: String,
        /// The end of the branch. Absent: the file's last entry; null: the tree's root.
        leaf_id: Option<String>,
    },
    /// The entries themselves, root to leaf.
    #[serde(rename_all = "camelCase")]
    Inline {
        id: String,
        cwd: String,
        branch: Vec<serde_json::Map<String, serde_json::Value>>,
        /// The label of each labelled entry, by entry id.
        #[serde(default)]
        labels: HashMap<String, String>,
    },
}

/// Pi's own choice of what stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// The first entry that stays in the context; it is handed back unchanged.
    pub first_kept_entry_id: String,
    #[serde(default)]
    pub is_split_turn: bool,
    /// Pi's estimate of the context before the compaction.
    #[serde(default)]
    pub tokens_before: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub provider: String,
    pub id: String,
    /// How Pi talks to it, in Pi's terms.
    #[serde(default)]
    pub api: Option<String>,
    /// In tokens.
    #[serde(default)]
    pub context_window: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ContextFile {
    pub path: String,
    pub content: String,
}

/// A file that an earlier, recorded call read.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// What the file is to the call.
    pub role: String,
    pub path: String,
    pub mtime_ms: f64,
    pub text: String,
}

/// How a person (or the clock) answered an ask.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// The chosen option, the typed text, or `true`/`false` for a confirmation.
    pub value: Option<serde_json::Value>,
    pub cancelled: bool,
    pub timed_out: bool,
}

/// How a model call ended: one of the two is there.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Completion {
    /// Pi's AssistantMessage.
    pub message: Option<serde_json::Map<String, serde_json::Value>>,
    pub error: Option<CompletionError>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CompletionError {
    /// `noModel`, `unresolvedModel` or `provider`.
    pub kind: String,
    #[serde(default)]
    pub message: String,
}

/// The payload of `session_before_compact`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BeforeCompact {
    /// `manual`, `threshold` or `overflow`.
    pub reason: String,
    pub will_retry: bool,
    /// What the user wrote behind `/compact`.
    pub custom_instructions: Option<String>,
}

/// The payload of `session_compact`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Compacted {
    pub compaction_id: String,
    pub from_extension: bool,
    pub reason: String,
    pub will_retry: bool,
    /// We had given a compaction for this one.
    pub answered: bool,
    /// From the event to our answer in milliseconds, without the time that people took.
    pub elapsed_ms: f64,
}

/// The payload of `session_compact_failed`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CompactFailed {
    pub reason: String,
    pub aborted: bool,
    pub error_message: Option<String>,
}

/// The payload of `tool`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ToolCall {
    pub name: String,
    pub tool_call_id: String,
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// The payload of `context_with_system`: the transcript that is about to be sent.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ContextWithSystem {
    pub messages: Vec<Skeleton>,
}

/// A message of a transcript without its content.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Skeleton {
    pub role: String,
    pub custom_type: Option<String>,
    /// Of the manifest's message types only.
    pub details: Option<serde_json::Value>,
    /// The message's own time, in milliseconds since 1970.
    pub timestamp: Option<f64>,
}

/// The payload of `command`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Command {
    pub name: String,
    /// All that was typed behind the name.
    pub args: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_of_null_is_not_an_absent_one() {
        let leaf = |json: &str| {
            let session: SessionField = serde_json::from_str(json).unwrap();
            session.leaf_id.map(|raw| raw.get().to_owned())
        };
        assert_eq!(leaf("{}"), None);
        assert_eq!(leaf(r#"{"leafId":null}"#).as_deref(), Some("null"));
        assert_eq!(leaf(r#"{"leafId":"a"}"#).as_deref(), Some("\"a\""));
    }
}
