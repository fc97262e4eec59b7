//! The manifest: what a host registers for this binary. The extension knows nothing else about it.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, schemars(title = "pi-stet manifest, protocol 1"))]
pub struct Manifest {
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    pub protocol: u64,
    pub name: String,
    pub version: String,
    pub limits: Limits,
    pub hooks: Vec<Hook>,
    pub tools: Vec<Tool>,
    pub commands: Vec<Command>,
    pub prompt_sections: Vec<PromptSection>,
    pub message_types: Vec<MessageType>,
}

/// The bounds that the binary keeps by itself.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// From start to reply, in milliseconds.
    pub deadline_ms: u64,
    /// Until the envelope has arrived, in milliseconds.
    pub stdin_ms: u64,
    /// Bytes that a reply has at most.
    pub reply_bytes: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// Pi's name of the event.
    pub event: String,
    /// The envelope carries the session.
    pub session: bool,
    /// No process is started unless this holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// When the host ends the process.
    pub timeout_ms: u64,
    /// Subscribed from the start; `setActive` changes it.
    pub active: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// The branch has a compaction.
    Compacted,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub name: String,
    pub label: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_snippet: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(default))]
    pub prompt_guidelines: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    pub session: bool,
    pub timeout_ms: u64,
    pub active: bool,
    /// How a call looks in one line; `{argument}` is replaced, `[…]` left out with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_line: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ExecutionMode {
    Sequential,
    Parallel,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Command {
    pub name: String,
    pub description: String,
    /// The words that complete each argument place.
    pub completions: Vec<Vec<String>>,
    pub session: bool,
    pub timeout_ms: u64,
}

/// A section of the system prompt, set by the host without starting a process.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptSection {
    pub tag: String,
    pub text: String,
    pub active: bool,
}

/// How a custom message of ours is shown.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MessageType {
    pub custom_type: String,
    pub line: String,
}
