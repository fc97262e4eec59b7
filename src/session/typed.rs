//! A message in one pass over its line, where every field is of the type that Pi gives it. What is
//! otherwise shaped is left to the slower way, which takes fields one by one (see `entry`).

use std::borrow::Cow;

use super::entry::{Assistant, Bash, Block, Body, Detail, Entry, ToolCall, ToolResult};
use super::entry::{decoded_len, nested_calls, tool_details, usage_tokens};
use crate::json::{self, Cursor, Fields, Raw};

/// The line of a message; `None` says nothing about the line.
pub fn message(line: &str, detail: Detail) -> Option<Entry> {
    let mut cursor = Cursor::new(line);
    let (mut kind, mut timestamp, mut message) = (None, None, None);
    cursor.object(|key, cursor| {
        match &*key {
            "type" => kind = Some(cursor.string()?),
            "timestamp" => timestamp = Some(cursor.string()?.into_owned()),
            "message" => message = Some(Message::read(cursor, detail)?),
            _ => drop(cursor.value()?),
        }
        Some(())
    })?;
    cursor.end()?;
    (kind? == "message").then_some(())?;
    Some(Entry::new(Some(timestamp?), message?.into_body(detail)?))
}

#[derive(Default)]
struct Message<'a> {
    role: Option<Cow<'a, str>>,
    content: Option<Vec<Block>>,
    timestamp: Option<Raw<'a>>,
    stop_reason: Option<Raw<'a>>,
    usage: Option<Raw<'a>>,
    tool_call_id: Option<Raw<'a>>,
    tool_name: Option<Raw<'a>>,
    is_error: Option<Raw<'a>>,
    details: Option<Raw<'a>>,
    nested_calls: Option<Raw<'a>>,
    command: Option<Raw<'a>>,
    output: Option<Raw<'a>>,
    exit_code: Option<Raw<'a>>,
    cancelled: Option<Raw<'a>>,
    exclude_from_context: Option<Raw<'a>>,
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>, detail: Detail) -> Option<Message<'a>> {
        let mut message = Message::default();
        cursor.object(|key, cursor| {
            let field = match &*key {
                "role" => {
                    message.role = Some(cursor.string()?);
                    return Some(());
                }
                // How much of it is wanted depends on the role, which Pi writes first.
                "content" => {
                    message.content = Some(content(cursor, detail, message.role.as_deref()?)?);
                    return Some(());
                }
                "timestamp" => &mut message.timestamp,
                "stopReason" => &mut message.stop_reason,
                "usage" => &mut message.usage,
                "toolCallId" => &mut message.tool_call_id,
                "toolName" => &mut message.tool_name,
                "isError" => &mut message.is_error,
                "details" => &mut message.details,
                "nestedCalls" => &mut message.nested_calls,
                "command" => &mut message.command,
                "output" => &mut message.output,
                "exitCode" => &mut message.exit_code,
                "cancelled" => &mut message.cancelled,
                "excludeFromContext" => &mut message.exclude_from_context,
                _ => return cursor.value().map(drop),
            };
            *field = Some(cursor.value()?);
            Some(())
        })?;
        Some(message)
    }

    fn into_body(self, detail: Detail) -> Option<Body> {
        Some(match &*self.role? {
            "user" => Body::User(self.content?),
            "assistant" => Body::Assistant(Assistant {
                content: self.content?,
                stop_reason: self.stop_reason.and_then(json::string),
                usage_tokens: self
                    .usage
                    .filter(|_| detail == Detail::All)
                    .and_then(|usage| Fields::parse(usage.get()))
                    .and_then(|usage| usage_tokens(&usage)),
                time: self.timestamp.and_then(json::number_in),
            }),
            "toolResult" => {
                let details = self.details.and_then(|details| Fields::parse(details.get()));
                let (status, truncated) = tool_details(details.as_ref());
                let nested = self.nested_calls.and_then(|nested| Fields::parse(nested.get()));
                Body::ToolResult(ToolResult {
                    call_id: json::string(self.tool_call_id?)?,
                    tool_name: json::string(self.tool_name?)?,
                    is_error: self.is_error.and_then(json::bool),
                    content: self.content?,
                    nested_calls: nested_calls(nested.as_ref()),
                    status,
                    truncated: detail == Detail::All && truncated,
                })
            }
            "bashExecution" => Body::Bash(Bash {
                command: json::string(self.command?)?,
                output: match detail {
                    Detail::All => json::string(self.output?)?,
                    Detail::Kept => String::new(),
                },
                exit_code: self.exit_code.and_then(json::number_in),
                cancelled: self.cancelled.and_then(json::bool).unwrap_or(false),
                excluded: self.exclude_from_context.and_then(json::bool).unwrap_or(false),
            }),
            _ => return None,
        })
    }
}

fn content(cursor: &mut Cursor, detail: Detail, role: &str) -> Option<Vec<Block>> {
    if role == "toolResult" && detail == Detail::Kept {
        return cursor.value().map(|_| Vec::new());
    }
    let detail = if role == "user" { Detail::All } else { detail };
    if cursor.peek()? == b'"' {
        return Some(vec![Block::Text(cursor.string()?.into_owned())]);
    }
    let mut blocks = Vec::with_capacity(4);
    cursor.array(|cursor| {
        blocks.push(block(cursor, detail)?);
        Some(())
    })?;
    Some(blocks)
}

/// Only what the kind of block wants is decoded: thinking and images are mostly passed over.
fn block(cursor: &mut Cursor, detail: Detail) -> Option<Block> {
    let (mut kind, mut text) = (None, None);
    let (mut thinking, mut mime_type, mut data) = (None, None, None);
    let (mut id, mut name, mut arguments) = (None, None, None);
    cursor.object(|key, cursor| {
        let field = match &*key {
            "type" => {
                kind = Some(cursor.string()?);
                return Some(());
            }
            "text" => {
                text = Some(cursor.string()?.into_owned());
                return Some(());
            }
            "thinking" => &mut thinking,
            "mimeType" => &mut mime_type,
            "data" => &mut data,
            "id" => &mut id,
            "name" => &mut name,
            "arguments" => &mut arguments,
            _ => return cursor.value().map(drop),
        };
        *field = Some(cursor.value()?);
        Some(())
    })?;
    Some(match &*kind? {
        "text" => Block::Text(text?),
        "thinking" if detail == Detail::Kept => Block::Thinking(String::new()),
        "thinking" => Block::Thinking(json::string(thinking?)?),
        "image" => {
            Block::Image { mime_type: json::string(mime_type?)?, bytes: decoded_len(data?.get()) }
        }
        "toolCall" => Block::ToolCall(ToolCall {
            id: json::string(id?)?,
            name: json::string(name?)?,
            arguments: arguments?.compact().into_owned(),
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the recorded sessions, and each of them damaged in every place of a few.
    fn lines() -> Vec<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/sessions");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let texts = files
            .filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
            .map(|file| std::fs::read_to_string(file).unwrap());
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    fn agree(line: &str) -> bool {
        [Detail::All, Detail::Kept].into_iter().fold(true, |all, detail| {
            let Some(quick) = message(line, detail) else { return false };
            let slow = Entry::decode_by_fields(line, detail);
            assert_eq!(format!("{:?}", Some(quick)), format!("{slow:?}"), "{line}");
            all
        })
    }

    #[test]
    fn both_ways_read_the_same() {
        let lines = lines();
        let messages = lines.iter().filter(|line| line.starts_with(r#"{"type":"message""#)).count();
        let quick = lines.iter().filter(|line| agree(line)).count();
        assert!(messages > 100 && quick * 10 > messages * 8, "{quick} of {messages} are quick");
    }

    #[test]
    fn both_ways_read_the_same_of_damaged_lines() {
        let mut quick = 0;
        for line in lines().iter().step_by(7) {
            for (at, _) in line.char_indices().take(900).step_by(3) {
                let (before, after) = line.split_at(at);
                for put in ["", "null", "\"", "1", "[", ",", "\\", "x"] {
                    let rest = after.get(1..).unwrap_or_default();
                    quick += usize::from(agree(&format!("{before}{put}{rest}")));
                }
            }
        }
        assert!(quick > 1_000, "{quick}");
    }
}
