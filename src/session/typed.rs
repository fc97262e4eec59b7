//! A message in one pass over its line, where every field is of the type that Pi gives it. What is
//! otherwise shaped is left to the slower way, which takes fields one by one (see `entry`).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::entry::{Assistant, Bash, Block, Body, Detail, Entry, ToolCall, ToolResult};
use super::entry::{decoded_len, tool_details, usage_tokens};
use crate::json::{self, Fields};

/// The line of a message; `None` says nothing about the line.
pub fn message(line: &str, detail: Detail) -> Option<Entry> {
    let line: Line = serde_json::from_str(line).ok()?;
    if line.kind != "message" {
        return None;
    }
    let message = line.message;
    let content = message.content;
    let blocks = |detail| content.and_then(|content| content.into_blocks(detail));
    let body = match &*message.role {
        "user" => Body::User(blocks(Detail::All)?),
        "assistant" => Body::Assistant(Assistant {
            content: blocks(detail)?,
            stop_reason: message.stop_reason,
            usage_tokens: message
                .usage
                .filter(|_| detail == Detail::All)
                .and_then(|usage| Fields::parse(usage.get()))
                .and_then(|usage| usage_tokens(&usage)),
            time: message.timestamp,
        }),
        "toolResult" if message.nested_calls.is_none() => {
            let details = message.details.and_then(|details| Fields::parse(details.get()));
            let (status, truncated) = tool_details(details.as_ref());
            Body::ToolResult(ToolResult {
                call_id: message.tool_call_id?,
                tool_name: message.tool_name?,
                is_error: message.is_error,
                content: match detail {
                    Detail::All => blocks(detail)?,
                    Detail::Kept => Vec::new(),
                },
                nested_calls: Vec::new(),
                status,
                truncated: detail == Detail::All && truncated,
            })
        }
        "bashExecution" => Body::Bash(Bash {
            command: message.command?,
            output: match detail {
                Detail::All => json::string(message.output?)?,
                Detail::Kept => String::new(),
            },
            exit_code: message.exit_code,
            cancelled: message.cancelled.unwrap_or(false),
            excluded: message.exclude_from_context.unwrap_or(false),
        }),
        _ => return None,
    };
    Some(Entry::new(Some(line.timestamp), body))
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    timestamp: String,
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    timestamp: Option<f64>,
    stop_reason: Option<String>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    is_error: Option<bool>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    nested_calls: Option<IgnoredAny>,
    command: Option<String>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    exit_code: Option<f64>,
    cancelled: Option<bool>,
    exclude_from_context: Option<bool>,
}

enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<RawBlock<'a>>),
}

impl Content<'_> {
    fn into_blocks(self, detail: Detail) -> Option<Vec<Block>> {
        match self {
            Content::Text(text) => Some(vec![Block::Text(text.into_owned())]),
            Content::Blocks(blocks) => {
                blocks.into_iter().map(|block| block.into_block(detail)).collect()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a text or blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::with_capacity(4);
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// Thinking and images stay unparsed: mostly they are passed over.
#[derive(Deserialize)]
struct RawBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    text: Option<String>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, rename = "mimeType")]
    mime_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl RawBlock<'_> {
    fn into_block(self, detail: Detail) -> Option<Block> {
        Some(match &*self.kind {
            "text" => Block::Text(self.text?),
            "thinking" if detail == Detail::Kept => Block::Thinking(String::new()),
            "thinking" => Block::Thinking(json::string(self.thinking?)?),
            "image" => Block::Image {
                mime_type: self.mime_type?.into_owned(),
                bytes: decoded_len(self.data?.get()),
            },
            "toolCall" => Block::ToolCall(ToolCall {
                id: self.id?,
                name: self.name?,
                arguments: json::compact(self.arguments?.get()).into_owned(),
            }),
            _ => return None,
        })
    }
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
