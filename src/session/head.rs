//! What a session line is, from as few of its bytes as possible.
//!
//! Pi writes `type`, `id`, `parentId`, `timestamp` first (and a message's `role` right after), or,
//! for `custom` and `custom_message`, last. Both forms are read without looking at what lies
//! between; every other order goes through a full parse, which is also what decides whether a
//! doubtful line is an entry at all.

use std::borrow::Cow;

use super::entry::{Body, Entry, ToolResult};
use crate::json::{self, Cursor, Fields};

/// The type of an entry, in Pi's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Message,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    ContextEdit,
    Label,
    /// Entries that carry no conversation: model_change, thinking_level_change, session_info,
    /// usage, and every type this version does not know.
    Other,
}

impl Kind {
    fn of(name: &[u8]) -> Kind {
        match name {
            b"message" => Kind::Message,
            b"compaction" => Kind::Compaction,
            b"branch_summary" => Kind::BranchSummary,
            b"custom" => Kind::Custom,
            b"custom_message" => Kind::CustomMessage,
            b"context_edit" => Kind::ContextEdit,
            b"label" => Kind::Label,
            _ => Kind::Other,
        }
    }
}

/// The role of a message entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    BashExecution,
    Custom,
    System,
    /// Not a message, or a role this version does not know.
    None,
}

impl Role {
    pub fn of(name: &[u8]) -> Role {
        match name {
            b"user" => Role::User,
            b"assistant" => Role::Assistant,
            b"toolResult" => Role::ToolResult,
            b"bashExecution" => Role::BashExecution,
            // `hookMessage` is the name of format v2.
            b"custom" | b"hookMessage" => Role::Custom,
            b"system" => Role::System,
            _ => Role::None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent<'a> {
    /// The field is missing, as in files that other tools wrote.
    Absent,
    Root,
    Id(Cow<'a, str>),
}

/// The head of one entry. `id` is empty where the line has none (format v1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head<'a> {
    pub kind: Kind,
    pub role: Role,
    pub id: Cow<'a, str>,
    pub parent: Parent<'a>,
    /// One of our own settings entries: `custom` with a type of ours.
    pub is_setting: bool,
}

/// A header line (`"type":"session"`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    pub id: String,
    /// The format version; a missing one is 1.
    pub version: f64,
    pub cwd: String,
    pub parent_session: Option<String>,
}

/// The custom types whose entries hold settings of ours,
pub const SETTING_PREFIX: &str = "stet.";
/// and those of the older verbatim extension, which go on to hold.
const OLDER_SETTING_PREFIX: &str = "verbatim-compact:";

fn holds_a_setting(custom_type: &[u8]) -> bool {
    [SETTING_PREFIX, OLDER_SETTING_PREFIX]
        .iter()
        .any(|prefix| custom_type.starts_with(prefix.as_bytes()))
}

/// Reads the head from the line's first bytes (`start`) and last bytes (`end`), each part of the
/// same line, or says that a full parse must decide.
pub fn quick<'a>(start: &'a [u8], end: &'a [u8]) -> Option<Head<'a>> {
    let rest = start.strip_prefix(b"{\"type\":\"")?;
    let (kind_name, rest) = plain_string(rest)?;
    let kind = Kind::of(kind_name);
    if matches!(kind, Kind::Custom | Kind::CustomMessage) {
        // In another order the type stands anywhere.
        let rest = rest.strip_prefix(b",\"customType\":\"")?;
        let (custom_type, _) = plain_string(rest)?;
        let is_setting = kind == Kind::Custom && holds_a_setting(custom_type);
        let (id, parent) = ids_at_end(end)?;
        return Some(Head { kind, role: Role::None, id, parent, is_setting });
    }
    let (id, parent, rest) = ids_at_start(rest)?;
    let mut role = Role::None;
    if kind == Kind::Message {
        let rest = rest.strip_prefix(b",\"timestamp\":\"")?;
        let (_, rest) = plain_string(rest)?;
        let rest = rest.strip_prefix(b",\"message\":{\"role\":\"")?;
        role = Role::of(plain_string(rest)?.0);
        end.strip_suffix(b"}}")?;
    } else if kind_name == b"session" {
        return None;
    }
    end.strip_suffix(b"}")?;
    Some(Head { kind, role, id, parent, is_setting: false })
}

/// `,"id":"…","parentId":…` and what follows.
fn ids_at_start(rest: &[u8]) -> Option<(Cow<'_, str>, Parent<'_>, &[u8])> {
    let (id, rest) = plain_string(rest.strip_prefix(b",\"id\":\"")?)?;
    let rest = rest.strip_prefix(b",\"parentId\":")?;
    let (parent, rest) = match rest.strip_prefix(b"null") {
        Some(rest) => (Parent::Root, rest),
        None => {
            let (parent, rest) = plain_string(rest.strip_prefix(b"\"")?)?;
            // Pi takes an empty id for none.
            let root = parent.is_empty();
            (if root { Parent::Root } else { Parent::Id(text(parent)?) }, rest)
        }
    };
    Some((text(id)?, parent, rest))
}

/// The ids of a line that ends in `,"id":"…","parentId":…,"timestamp":"…"}`. Outside a string the
/// line's last byte closes the entry, and no quote in this form is escaped, so each quote found
/// going backwards is a real one: text inside a string cannot look like this.
fn ids_at_end(end: &[u8]) -> Option<(Cow<'_, str>, Parent<'_>)> {
    let at = memchr::memmem::rfind(end, b",\"id\":\"")?;
    let (id, parent, rest) = ids_at_start(&end[at..])?;
    let (_, rest) = plain_string(rest.strip_prefix(b",\"timestamp\":\"")?)?;
    (rest == b"}").then_some((id, parent))
}

/// A tool result from the edges of its line, without its output. The flag is searched from the end,
/// and what stands from it on must close the message and the entry and nothing else: so it is the
/// message's own. Any other shape takes the full way.
pub fn long_result(start: &[u8], end: &[u8]) -> Option<Entry> {
    let at = memchr::memmem::find(start, b",\"timestamp\":\"")?;
    let (timestamp, rest) = plain_string(&start[at + b",\"timestamp\":\"".len()..])?;
    let rest = rest.strip_prefix(b",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"")?;
    let (call_id, rest) = plain_string(rest)?;
    let (tool_name, rest) = plain_string(rest.strip_prefix(b",\"toolName\":\"")?)?;
    rest.strip_prefix(b",\"content\":[")?;

    let at = memchr::memmem::rfind(end, b",\"isError\":")?;
    let inside = json::mend(end[at + 1..].strip_suffix(b"}")?);
    let mut cursor = Cursor::new(&inside);
    let (mut is_error, mut nested) = (None, None);
    cursor.fields(|key, cursor| {
        match &*key {
            "isError" => is_error = json::bool(cursor.value()?),
            "nestedCalls" => nested = Fields::parse(cursor.value()?.get()),
            // What was read at the start must not stand here again.
            "role" | "toolCallId" | "toolName" | "content" => return None,
            _ => drop(cursor.value()?),
        }
        Some(())
    })?;
    cursor.end()?;
    Some(Entry {
        timestamp: Some(text(timestamp)?.into_owned()),
        body: Body::ToolResult(ToolResult {
            call_id: text(call_id)?.into_owned(),
            tool_name: text(tool_name)?.into_owned(),
            is_error,
            content: Vec::new(),
            nested_calls: super::entry::nested_calls(nested.as_ref()),
            status: None,
            truncated: false,
        }),
    })
}

/// A compaction from the edges of its line, without its summary. A quote inside a string is
/// escaped, so the key that follows the summary in Pi's order stands where it is found.
pub fn compaction_outline(start: &[u8], end: &[u8]) -> Option<Entry> {
    let rest = start.strip_prefix(b"{\"type\":\"compaction\",\"id\":\"")?;
    let at = memchr::memmem::find(rest, b",\"timestamp\":\"")?;
    let (timestamp, rest) = plain_string(&rest[at + b",\"timestamp\":\"".len()..])?;
    rest.strip_prefix(b",\"summary\":\"")?;
    let key = b"\",\"firstKeptEntryId\":";
    let at = memchr::memmem::rfind(end, key)?;
    // Without the quote that ends the summary and the comma, what is left is an object's inside.
    let inside = json::mend(&end[at + 2..]);
    let fields = Fields::parse_rest(&inside)?;
    Some(Entry::new(
        Some(text(timestamp)?.into_owned()),
        Body::Compaction(super::entry::compaction(&fields, super::Detail::Kept)),
    ))
}

/// A string without escapes up to its closing quote, and what follows.
fn plain_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', bytes)?;
    (bytes[end] == b'"').then(|| (&bytes[..end], &bytes[end + 1..]))
}

fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
}

/// What a whole line turned out to be.
pub enum Line {
    Header(Header),
    Entry(Head<'static>),
    /// An object that is no entry (no `type`), such as the bare messages of other tools.
    Stranger,
}

/// The full parse of a line, `None` where it is not one JSON object.
pub fn full(line: &[u8]) -> Option<Line> {
    let line = json::mend(line);
    let fields = Fields::parse(&line)?;
    let Some(kind_name) = fields.string("type") else {
        return Some(Line::Stranger);
    };
    if kind_name == "session" {
        return Some(Line::Header(Header {
            id: fields.string("id").unwrap_or_default(),
            version: version(&fields),
            cwd: fields.string("cwd").unwrap_or_default(),
            parent_session: fields.string("parentSession"),
        }));
    }
    let kind = Kind::of(kind_name.as_bytes());
    let role = match kind {
        Kind::Message => fields.object("message").and_then(|m| m.string("role")),
        _ => None,
    };
    let parent = match fields.raw("parentId") {
        None => Parent::Absent,
        Some(raw) => match json::string(raw) {
            Some(id) if !id.is_empty() => Parent::Id(Cow::Owned(id)),
            _ => Parent::Root,
        },
    };
    let is_setting = kind == Kind::Custom
        && fields.string("customType").is_some_and(|name| holds_a_setting(name.as_bytes()));
    Some(Line::Entry(Head {
        kind,
        role: role.map_or(Role::None, |name| Role::of(name.as_bytes())),
        id: Cow::Owned(fields.string("id").unwrap_or_default()),
        parent,
        is_setting,
    }))
}

/// The format version: a number, or (as some tools write it) a number in a string.
fn version(fields: &Fields) -> f64 {
    let Some(raw) = fields.raw("version") else {
        return 1.0;
    };
    let text = json::string(raw).unwrap_or_else(|| raw.get().to_owned());
    text.trim().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(line: &str) -> (Option<Head<'_>>, Option<Head<'static>>) {
        let full = match full(line.as_bytes()) {
            Some(Line::Entry(head)) => Some(head),
            _ => None,
        };
        (quick(line.as_bytes(), line.as_bytes()), full)
    }

    #[test]
    fn the_quick_and_the_full_way_agree_on_pis_own_lines() {
        for line in [
            r#"{"type":"message","id":"a1","parentId":null,"timestamp":"T","message":{"role":"user","content":"x"}}"#,
            r#"{"type":"message","id":"a1","parentId":"b2","timestamp":"T","message":{"role":"toolResult","toolCallId":"c","content":[]}}"#,
            r#"{"type":"compaction","id":"a1","parentId":"b2","timestamp":"T","summary":"s"}"#,
            r#"{"type":"custom","customType":"stet.cap","data":{"a":",\"id\":\"no\""},"id":"a1","parentId":"b2","timestamp":"T"}"#,
            r#"{"type":"custom_message","customType":"x","content":"c","display":true,"id":"a1","parentId":null,"timestamp":"T"}"#,
            r#"{"type":"future_thing","id":"a1","parentId":"b2","timestamp":"T","x":[1]}"#,
        ] {
            let (quick, full) = both(line);
            assert!(quick.is_some(), "{line}");
            assert_eq!(quick, full, "{line}");
        }
    }

    #[test]
    fn a_setting_is_known_in_any_order_of_its_fields() {
        let line = r#"{"type":"custom","id":"a1","parentId":null,"timestamp":"T","customType":"stet.cap","data":{}}"#;
        let (quick, full) = both(line);
        assert_eq!(quick, None);
        assert!(full.is_some_and(|head| head.is_setting));
    }

    #[test]
    fn a_doubtful_line_is_left_to_the_full_parse() {
        for line in [
            r#"{"id":"a1","type":"message","parentId":null,"message":{"role":"user"}}"#,
            r#"{"type":"message","id":"a\u0031","parentId":null,"timestamp":"T","message":{"role":"user"}}"#,
            r#"{"type":"message","id":"a1","parentId":null,"timestamp":"T","message":{"role":"user","content":"cut"#,
            r#"{"type":"message","timestamp":"T","message":{"role":"user"}}"#,
            r#"{"type":"session","id":"s","parentId":null}"#,
        ] {
            assert_eq!(both(line).0, None, "{line}");
        }
    }

    #[test]
    fn pi_9476_a_long_result_is_told_from_its_edges() {
        let line = |tail: &str| {
            format!(
                r#"{{"type":"message","id":"a","parentId":"b","timestamp":"T","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"x \\",\\"isError\\":true"}}],"details":{{}},{tail}"#
            )
        };
        let told = |tail: &str| {
            let line = line(tail);
            long_result(line.as_bytes(), line.as_bytes()).map(|entry| match entry.body {
                Body::ToolResult(result) => (result.call_id, result.is_error),
                _ => unreachable!(),
            })
        };
        assert_eq!(
            told(r#""isError":false,"durationMs":12,"timestamp":17.5}}"#),
            Some(("c1".into(), Some(false)))
        );
        assert_eq!(told(r#""isError":true,"timestamp":17}}"#), Some(("c1".into(), Some(true))));
        // What a script called inside stands behind the flag.
        let nested = r#""isError":true,"timestamp":17,"nestedCalls":{"calls":[{"id":"n","name":"read","status":"error","arguments":{"path":"a"}}],"complete":true}}}"#;
        assert_eq!(told(nested), Some(("c1".into(), Some(true))));
        // Anything else is for the full parse: a flag that is not the message's own, none, one that
        // something follows that was read before.
        assert_eq!(
            told(r#""isError":true,"nestedCalls":{"calls":[{"name":"x","isError":false}]}}}"#),
            None
        );
        assert_eq!(told(r#""isError":true,"toolName":"read"}}"#), None);
        assert_eq!(told(r#""timestamp":17}}"#), None);
    }

    #[test]
    fn versions_come_as_numbers_and_strings() {
        for (line, expected) in [
            (r#"{"type":"session","id":"s"}"#, 1.0),
            (r#"{"type":"session","id":"s","version":"1"}"#, 1.0),
            (r#"{"type":"session","id":"s","version":3}"#, 3.0),
        ] {
            let Some(Line::Header(header)) = full(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(header.version, expected);
        }
    }
}
