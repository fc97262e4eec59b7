//! An entry decoded as far as its reader needs it.

use super::{ids, typed};
use crate::json::{self, Fields, Raw};
use crate::text::is_time;

/// How much of an entry is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What a checkpoint keeps: prose and calls. Thinking and the output of tools and commands are
    /// passed over without being copied.
    Kept,
    /// Everything that a model or a person may have seen.
    All,
}

#[derive(Debug)]
pub struct Entry {
    /// As Pi writes it: ISO 8601, UTC, milliseconds. What has other characters is no time.
    pub timestamp: Option<String>,
    pub body: Body,
}

#[derive(Debug)]
pub enum Body {
    User(Vec<Block>),
    Assistant(Assistant),
    ToolResult(ToolResult),
    Bash(Bash),
    /// A message of an extension: `custom_message`, or a message with role `custom`.
    Custom {
        custom_type: String,
        content: Vec<Block>,
        /// Raw JSON.
        details: Option<String>,
    },
    /// Prompt state. `tools` is the raw JSON of the tools it adds.
    System {
        sections: Vec<(String, String)>,
        content: Vec<Block>,
        tools: String,
    },
    BranchSummary {
        summary: String,
    },
    Compaction(Compaction),
    ContextEdit(ContextEdit),
    Label {
        target: String,
        label: Option<String>,
    },
    /// A `custom` entry: state of an extension, never seen by a model. `data` is raw JSON.
    State {
        custom_type: String,
        data: Option<String>,
    },
    /// The line begins like an entry and is no JSON (only with [`super::Reading::Recover`]).
    Damaged,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(String),
    /// `bytes` is the size of the decoded image.
    Image {
        mime_type: String,
        bytes: u64,
    },
    /// Empty with [`Detail::Kept`].
    Thinking(String),
    ToolCall(ToolCall),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCall {
    /// Empty where the call has no usable id; it then pairs with nothing.
    pub id: String,
    pub name: String,
    /// The arguments as compact JSON text, in the order the model gave them.
    pub arguments: String,
}

#[derive(Debug)]
pub struct Assistant {
    pub content: Vec<Block>,
    pub stop_reason: Option<String>,
    /// What the provider reported, with [`Detail::All`].
    pub usage_tokens: Option<f64>,
    /// The message's own time in milliseconds, which goes with it into a transcript; the entry's is
    /// a little later.
    pub time: Option<f64>,
}

#[derive(Debug)]
pub struct ToolResult {
    pub call_id: String,
    pub tool_name: String,
    /// `None` where the flag is missing or no boolean.
    pub is_error: Option<bool>,
    /// Empty with [`Detail::Kept`].
    pub content: Vec<Block>,
    pub nested_calls: Vec<NestedCall>,
    /// `details.status`, with which a tool of ours says how a call ended; read with
    /// [`Detail::All`].
    pub status: Option<String>,
    /// The tool says that its text is not all there was (`details.truncation.truncated`). Always
    /// false with [`Detail::Kept`].
    pub truncated: bool,
}

/// A call that a script made inside a tool (Pi's codemode), recorded on the tool's result.
#[derive(Debug, Clone)]
pub struct NestedCall {
    pub name: String,
    pub path: Option<String>,
    pub failed: bool,
}

#[derive(Debug)]
pub struct Bash {
    pub command: String,
    /// Empty with [`Detail::Kept`].
    pub output: String,
    pub exit_code: Option<f64>,
    pub cancelled: bool,
    /// A `!!` command, which the person kept from the model.
    pub excluded: bool,
}

#[derive(Debug)]
pub struct Compaction {
    pub summary: String,
    /// `None` where the field is missing or null: nothing before the compaction is kept.
    pub first_kept: Option<String>,
    /// Format v1 counts lines instead.
    pub first_kept_line: Option<usize>,
    pub tokens_before: Option<f64>,
    /// Raw JSON.
    pub details: Option<String>,
    pub from_hook: bool,
    /// Pi's copy of the prompt, read with [`Detail::All`].
    pub system: Option<Box<Body>>,
}

impl ToolResult {
    /// The text of the result, `None` where it holds anything but text.
    pub fn text(&self) -> Option<String> {
        text_of(&self.content)
    }
}

/// Text blocks joined by line breaks, `None` where there is any other block.
pub fn text_of(content: &[Block]) -> Option<String> {
    let parts: Option<Vec<&str>> = content
        .iter()
        .map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    parts.map(|parts| parts.join("\n"))
}

/// Pi's persistent edit of one entry's content in the context.
#[derive(Debug)]
pub struct ContextEdit {
    pub target: String,
    /// `None` omits the entry.
    pub replacement: Option<Vec<Block>>,
}

impl Entry {
    pub(super) fn new(timestamp: Option<String>, body: Body) -> Entry {
        Entry { timestamp: timestamp.filter(|text| is_time(text)), body }
    }

    /// Decodes a line; `None` if it is not one JSON object.
    pub fn decode(line: &[u8], detail: Detail) -> Option<Entry> {
        let line = json::mend(line);
        if line.starts_with("{\"type\":\"message\"")
            && let Some(message) = typed::message(&line, detail)
        {
            return Some(message);
        }
        Entry::decode_by_fields(&line, detail)
    }

    /// The same for a line of any shape.
    pub(super) fn decode_by_fields(line: &str, detail: Detail) -> Option<Entry> {
        let fields = Fields::parse(line)?;
        let timestamp = fields.string("timestamp");
        let body = match fields.string("type").as_deref() {
            Some("message") => match fields.object("message") {
                Some(message) => message_body(&message, detail),
                None => Body::Other,
            },
            Some("custom_message") => custom(&fields),
            Some("branch_summary") => {
                Body::BranchSummary { summary: fields.string("summary").unwrap_or_default() }
            }
            Some("compaction") => Body::Compaction(compaction(&fields, detail)),
            Some("context_edit") => Body::ContextEdit(context_edit(&fields)),
            Some("label") => Body::Label {
                target: id(&fields, "targetId").unwrap_or_default(),
                label: fields.string("label").filter(|label| !label.is_empty()),
            },
            Some("custom") => Body::State {
                custom_type: fields.string("customType").unwrap_or_default(),
                data: fields.raw("data").map(|data| data.get().to_owned()),
            },
            _ => Body::Other,
        };
        Some(Entry::new(timestamp, body))
    }
}

fn message_body(message: &Fields, detail: Detail) -> Body {
    match message.string("role").as_deref() {
        Some("user") => Body::User(content(message.raw("content"), Detail::All)),
        Some("assistant") => Body::Assistant(Assistant {
            content: content(message.raw("content"), detail),
            stop_reason: message.string("stopReason"),
            usage_tokens: match detail {
                Detail::All => message.object("usage").and_then(|usage| usage_tokens(&usage)),
                Detail::Kept => None,
            },
            time: message.number("timestamp"),
        }),
        Some("toolResult") => Body::ToolResult(tool_result(message, detail)),
        Some("bashExecution") => Body::Bash(Bash {
            command: message.string("command").unwrap_or_default(),
            output: match detail {
                Detail::All => message.string("output").unwrap_or_default(),
                Detail::Kept => String::new(),
            },
            exit_code: message.number("exitCode"),
            cancelled: message.bool("cancelled").unwrap_or(false),
            excluded: message.bool("excludeFromContext").unwrap_or(false),
        }),
        Some("custom" | "hookMessage") => custom(message),
        Some("system") => system(message),
        _ => Body::Other,
    }
}

fn custom(fields: &Fields) -> Body {
    Body::Custom {
        custom_type: fields.string("customType").unwrap_or_default(),
        content: content(fields.raw("content"), Detail::All),
        details: fields.raw("details").map(|raw| raw.get().to_owned()),
    }
}

fn system(message: &Fields) -> Body {
    let sections = message.object("sections").map_or_else(Vec::new, |sections| {
        sections
            .iter()
            .filter_map(|(key, raw)| Some((key.to_owned(), json::string(raw)?)))
            .collect()
    });
    Body::System {
        sections,
        content: content(message.raw("content"), Detail::All),
        tools: message.raw("toolsAdded").map_or_else(String::new, |raw| raw.get().to_owned()),
    }
}

pub(super) fn usage_tokens(usage: &Fields) -> Option<f64> {
    let part = |key| usage.number(key).unwrap_or(0.0);
    let total = part("totalTokens");
    let sum = part("input") + part("output") + part("cacheRead") + part("cacheWrite");
    Some(if total != 0.0 { total } else { sum }).filter(|tokens| *tokens > 0.0)
}

fn tool_result(message: &Fields, detail: Detail) -> ToolResult {
    let (status, truncated) = tool_details(message.object("details").as_ref());
    ToolResult {
        call_id: message.string("toolCallId").unwrap_or_default(),
        tool_name: message.string("toolName").unwrap_or_default(),
        is_error: message.bool("isError"),
        content: match detail {
            Detail::All => content(message.raw("content"), detail),
            Detail::Kept => Vec::new(),
        },
        nested_calls: nested_calls(message.object("nestedCalls").as_ref()),
        status,
        truncated: detail == Detail::All && truncated,
    }
}

/// How the call ended, and whether its text is not all there was.
pub(super) fn tool_details(details: Option<&Fields>) -> (Option<String>, bool) {
    let status = details.and_then(|details| details.string("status"));
    let truncated = details.and_then(|details| details.object("truncation")?.bool("truncated"));
    (status, truncated.unwrap_or(false))
}

/// The calls that a script made inside the tool.
pub(super) fn nested_calls(nested: Option<&Fields>) -> Vec<NestedCall> {
    let calls = nested.map_or_else(Vec::new, |nested| nested.array("calls"));
    calls.into_iter().filter_map(nested_call).collect()
}

fn nested_call(raw: Raw) -> Option<NestedCall> {
    let call = Fields::parse(raw.get())?;
    Some(NestedCall {
        name: call.string("name")?,
        path: call.object("arguments").and_then(|arguments| arguments.string("path")),
        failed: call.string("status").as_deref() == Some("error"),
    })
}

pub fn compaction(fields: &Fields, detail: Detail) -> Compaction {
    Compaction {
        summary: fields.string("summary").unwrap_or_default(),
        first_kept: id(fields, "firstKeptEntryId"),
        first_kept_line: fields.number("firstKeptEntryIndex").map(|n| n as usize),
        tokens_before: fields.number("tokensBefore"),
        details: fields.raw("details").map(|raw| raw.get().to_owned()),
        from_hook: fields.bool("fromHook").unwrap_or(false),
        system: match detail {
            Detail::All => fields.object("systemMessage").map(|message| Box::new(system(&message))),
            Detail::Kept => None,
        },
    }
}

/// The length as JavaScript counts it.
pub fn utf16_len(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

fn id(fields: &Fields, key: &str) -> Option<String> {
    fields.string(key).map(|id| ids::plain(&id).into_owned())
}

fn context_edit(fields: &Fields) -> ContextEdit {
    ContextEdit {
        target: id(fields, "targetId").unwrap_or_default(),
        replacement: fields.object("replacement").map(|r| content(r.raw("content"), Detail::All)),
    }
}

/// Message content: a string, an array of blocks, or (in hand-edited files) nothing usable.
fn content(raw: Option<Raw>, detail: Detail) -> Vec<Block> {
    let Some(raw) = raw else { return Vec::new() };
    match json::string(raw) {
        Some(text) => vec![Block::Text(text)],
        None => json::elements(raw).into_iter().filter_map(|raw| block(raw, detail)).collect(),
    }
}

/// The bytes that a base64 text (in its quotes) stands for: three for four characters.
pub(super) fn decoded_len(quoted: &str) -> u64 {
    let data = quoted.trim_matches('"').trim_end_matches('=');
    data.len() as u64 * 3 / 4
}

fn block(raw: Raw, detail: Detail) -> Option<Block> {
    let fields = Fields::parse(raw.get())?;
    Some(match fields.string("type")?.as_str() {
        "text" => Block::Text(fields.string("text")?),
        "thinking" if detail == Detail::Kept => Block::Thinking(String::new()),
        "thinking" => Block::Thinking(fields.string("thinking").unwrap_or_default()),
        "image" => Block::Image {
            mime_type: fields.string("mimeType").unwrap_or_else(|| "image".into()),
            bytes: fields.raw("data").map_or(0, |data| decoded_len(data.get())),
        },
        "toolCall" => Block::ToolCall(ToolCall {
            id: fields.string("id").unwrap_or_default(),
            name: fields.string("name").unwrap_or_else(|| "?".into()),
            arguments: match fields.raw("arguments") {
                Some(arguments) => arguments.compact().into_owned(),
                None => "{}".to_owned(),
            },
        }),
        _ => return None,
    })
}
