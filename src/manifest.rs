//! What the host registers for this binary.

use crate::checkpoint::{self, wording};
use crate::orientation;
use crate::protocol::PROTOCOL;
use crate::protocol::manifest::{
    Command, ExecutionMode, Hook, Limits, Manifest, MessageType, PromptSection, Tool, When,
};
use crate::recovery::{GREP, LIST, LOOKUP, SHOW};
use crate::settings::Method;
use serde_json::{Value, json};

/// From start to reply. Pi waits for us, so the bound is hard (see `cli::watchdog`).
pub const DEADLINE_MS: u64 = 20_000;
/// Until the envelope has arrived.
pub const STDIN_MS: u64 = 5_000;
/// The host ends the process a little after its own deadline.
const HOST_TIMEOUT_MS: u64 = DEADLINE_MS + 2_000;
const REPLY_BYTES: u64 = 256 << 20;

/// What `pi-stet manifest` prints. The names of hooks are Pi's events; the host registers nothing
/// else.
pub fn manifest() -> Manifest {
    Manifest {
        protocol: PROTOCOL,
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits { deadline_ms: DEADLINE_MS, stdin_ms: STDIN_MS, reply_bytes: REPLY_BYTES },
        hooks: vec![
            hook("session_start", true),
            hook("session_tree", true),
            hook("session_before_compact", true),
            hook("session_compact", true),
            hook("session_compact_failed", false),
            hook_when_compacted("before_agent_start"),
            hook_when_compacted("context_with_system"),
            Hook { active: false, ..hook("turn_end", true) },
        ],
        tools: tools(),
        commands: vec![
            command(
                "compaction-method",
                "Show or choose how this session is compacted: verbatim, from a checkpoint, or Pi's summary",
                &[&Method::NAMES, &["rebuild"]],
            ),
            command(
                "cap-compaction",
                "Show or set the size guard of checkpoints: warn, on or off, and a budget",
                &[&["warn", "on", "off", "25%", "80000c", "20000t"], &["25%", "80000c", "20000t"]],
            ),
            command(
                "checkpoint",
                "Show the model's checkpoint of its work, or have one kept in the verbatim method",
                &[&["on", "off"]],
            ),
            command("stet", "Show what pi-stet does on this branch", &[]),
        ],
        prompt_sections: vec![PromptSection {
            tag: wording::SECTION.to_owned(),
            text: wording::INSTRUCTION.to_owned(),
            active: false,
        }],
        message_types: vec![MessageType {
            custom_type: orientation::CUSTOM_TYPE.to_owned(),
            line: "Told the model what is still in view".to_owned(),
        }],
    }
}

/// One completion may take minutes on a local model; each step of ours has its own limit.
fn tools() -> Vec<Tool> {
    let tool = |name: &str, label: &str, description: &str, snippet: &str, call_line: &str| Tool {
        name: name.to_owned(),
        label: label.to_owned(),
        description: description.to_owned(),
        parameters: parameters(name),
        prompt_snippet: Some(snippet.to_owned()),
        prompt_guidelines: Vec::new(),
        execution_mode: None,
        session: true,
        timeout_ms: HOST_TIMEOUT_MS,
        active: true,
        call_line: Some(call_line.to_owned()),
    };
    let mut lookup = tool(
        LOOKUP,
        "Context lookup",
        "Asks the full record of this conversation one question. Compaction takes thinking and tool output out of view, not out of the record: use this for what a command printed word for word, for where an earlier claim came from or why a decision was made, or to see which of two contradicting notes the record supports. A helper model searches and answers with entry ids. Not for the present content of files (read them), for requirements nobody stated (ask), for other sessions or abandoned branches. One lookup until other work is done; context_grep has no such limit.",
        "Ask this conversation's full record what was seen or decided earlier",
        "lookup {question}",
    );
    lookup.execution_mode = Some(ExecutionMode::Sequential);
    vec![
        tool(
            LIST,
            "List entries",
            "Lists the entries of this conversation's branch, oldest first: id, time, kind, first line. Use it to find your way where you have no word to search for.",
            "List the entries of this conversation with their ids",
            "list entries[ of {in}][ by {tool}][, page {page}]",
        ),
        tool(
            GREP,
            "Search record",
            "Searches everything recorded on this conversation's branch, compacted or not: messages, thinking, tool calls with their arguments, tool output. `pattern` is a regular expression, tried line by line: newest match first, and of more matches than a page holds the most unusual first; `terms` are words, paths or names instead, and the entries that fit them best come first. Use it to get back an exact error, value or output. It finds what was recorded then; for a file as it is now, read the file.",
            "Search what was said, called and printed earlier in this conversation",
            "grep {pattern}{terms}",
        ),
        tool(
            SHOW,
            "Show entries",
            "Shows one to eight entries whole, by the ids that labels and search results name: `[ok 9f3c2a1b]` in a checkpoint means that entry 9f3c2a1b holds the output.",
            "Show an entry of this conversation by its id, complete",
            "show {ids}",
        ),
        lookup,
        checkpoint_update(),
    ]
}

/// What is switched on only where a checkpoint is kept: a tool, a hook, a prompt section.
pub const CHECKPOINT_PARTS: [&str; 3] = [checkpoint::TOOL, "turn_end", wording::SECTION];

fn checkpoint_update() -> Tool {
    Tool {
        name: checkpoint::TOOL.to_owned(),
        label: "Checkpoint".to_owned(),
        description: "Replaces this session's checkpoint: your note on the state of the work, which takes the place of the conversation when the context is compacted. Write all of it each time, in at most 6,000 characters: goal in the user's words, standing instructions, decisions, what is done, what is open, what comes next.".to_owned(),
        parameters: parameters(checkpoint::TOOL),
        prompt_snippet: Some("Note the state of the work for after a compaction".to_owned()),
        prompt_guidelines: Vec::new(),
        // One after the other: the last one counts.
        execution_mode: Some(ExecutionMode::Sequential),
        session: true,
        timeout_ms: HOST_TIMEOUT_MS,
        active: false,
        call_line: Some("checkpoint".to_owned()),
    }
}

/// The arguments of a tool, as JSON Schema.
pub fn parameters(tool: &str) -> Value {
    let page =
        json!({ "type": "integer", "minimum": 1, "description": "Page of the answer, from 1" });
    let through = json!({ "type": "string", "description": "Look at the record up to this entry only; keep it while turning pages" });
    let kinds = json!({
        "type": "array",
        "items": { "type": "string", "enum": ["user", "assistant", "thinking", "toolCall", "toolResult", "bash", "custom", "summary"] },
        "description": "Only these kinds of text; summary and custom also bring in compaction summaries and reminders",
    });
    let only_tool =
        json!({ "type": "string", "description": "Only calls and results of this tool" });
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    match tool {
        LIST => object(
            json!({ "in": kinds, "tool": only_tool, "page": page, "throughEntry": through }),
            json!([]),
        ),
        GREP => object(
            json!({
                "pattern": { "type": "string", "description": "Regular expression (no look-around); what is none is searched as text" },
                "terms": { "type": "string", "description": "Words, paths or names to rank by, in place of pattern" },
                "before": { "type": "integer", "minimum": 0, "description": "Lines before each match (2 where few match)" },
                "after": { "type": "integer", "minimum": 0, "description": "Lines after each match (6 where few match)" },
                "maxMatches": { "type": "integer", "minimum": 1, "description": "List at most so many" },
                "caseSensitive": { "type": "boolean", "description": "Default false" },
                "in": kinds, "tool": only_tool, "page": page, "throughEntry": through,
            }),
            json!([]),
        ),
        SHOW => object(
            json!({
                "ids": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 8, "description": "Entry ids" },
                "page": page, "throughEntry": through,
            }),
            json!(["ids"]),
        ),
        checkpoint::TOOL => object(
            json!({ "text": { "type": "string", "description": "The whole checkpoint; it replaces the last one" } }),
            json!(["text"]),
        ),
        _ => object(
            json!({ "question": { "type": "string", "description": "What you need to know, with the names, paths and words that belong to it" } }),
            json!(["question"]),
        ),
    }
}

fn hook(event: &str, session: bool) -> Hook {
    Hook { event: event.to_owned(), session, when: None, timeout_ms: HOST_TIMEOUT_MS, active: true }
}

fn hook_when_compacted(event: &str) -> Hook {
    Hook { when: Some(When::Compacted), ..hook(event, true) }
}

fn command(name: &str, description: &str, completions: &[&[&str]]) -> Command {
    let words = |place: &&[&str]| place.iter().map(|word| (*word).to_owned()).collect();
    Command {
        name: name.to_owned(),
        description: description.to_owned(),
        completions: completions.iter().map(words).collect(),
        session: true,
        timeout_ms: HOST_TIMEOUT_MS,
    }
}
