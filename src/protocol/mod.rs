//! The types of protocol 1, and nothing else. Names on the wire are camelCase, as Pi's are.

pub mod envelope;
pub mod manifest;
pub mod reply;

/// The version that this binary speaks.
pub const PROTOCOL: u64 = 1;

/// The types that have a published JSON Schema, by the name `pi-stet schema NAME` takes.
/// A payload goes by its event's name.
pub const SCHEMAS: [&str; 9] = [
    "envelope",
    "reply",
    "manifest",
    "session_before_compact",
    "session_compact",
    "session_compact_failed",
    "context_with_system",
    "command",
    "tool",
];

/// The JSON Schema of one of [`SCHEMAS`], as text.
pub fn schema(name: &str) -> Option<String> {
    let schema = match name {
        "envelope" => schemars::schema_for!(envelope::Envelope),
        "reply" => schemars::schema_for!(reply::Reply),
        "manifest" => schemars::schema_for!(manifest::Manifest),
        "session_before_compact" => schemars::schema_for!(envelope::BeforeCompact),
        "session_compact" => schemars::schema_for!(envelope::Compacted),
        "session_compact_failed" => schemars::schema_for!(envelope::CompactFailed),
        "context_with_system" => schemars::schema_for!(envelope::ContextWithSystem),
        "command" => schemars::schema_for!(envelope::Command),
        "tool" => schemars::schema_for!(envelope::ToolCall),
        _ => return None,
    };
    let text = serde_json::to_string_pretty(&schema).ok()?;
    Some(text + "\n")
}
