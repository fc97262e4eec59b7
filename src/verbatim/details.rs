//! The `details` of a verbatim compaction: an index of what its summary holds. Text is stored once,
//! in the summary; `details` name the range of bytes.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::item::{Item, ItemKind};
use super::span::{FileOperation, Span};
use crate::json::{self, Fields};

pub const KIND: &str = "stet.verbatim";
pub const VERSION: u64 = 1;

/// What a span's tag says about it, and what `details` keep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpanMeta {
    /// Counted from 1 after the base.
    pub n: usize,
    /// When it was compacted, ISO 8601.
    pub at: String,
    /// `manual`, `threshold`, `overflow`, as Pi names it.
    pub trigger: String,
    /// What the user wrote behind `/compact`.
    pub words: Option<String>,
    /// The tag's suffix where the span's text holds the plain closing tag.
    pub suffix: String,
    /// Times of its first and last message.
    pub from: Option<String>,
    pub to: Option<String>,
}

/// A span as it was stored.
#[derive(Debug, Clone)]
pub struct StoredSpan {
    pub meta: SpanMeta,
    pub items: Vec<Item>,
}

/// Builds the details of a new compaction. `text` is the byte range of the span's items in the
/// summary, or `None` where the summary does not hold them whole.
pub fn build(
    meta: &SpanMeta,
    span: &Span,
    text: Option<std::ops::Range<usize>>,
    tokens_before: f64,
) -> Value {
    let items: Vec<Value> = span
        .items
        .iter()
        .map(|item| match &text {
            Some(_) => json!([item.kind.name(), item.entry, item.text.len()]),
            None => json!([item.kind.name(), item.entry, item.text.len(), item.text]),
        })
        .collect();
    let mut stored = json!({
        "n": meta.n,
        "at": meta.at,
        "trigger": meta.trigger,
        "tokensBefore": tokens_before,
        "entries": span.entries,
        "items": items,
    });
    let mut optional = |key: &str, value: Option<Value>| {
        if let (Some(value), Some(object)) = (value, stored.as_object_mut()) {
            object.insert(key.to_owned(), value);
        }
    };
    optional("text", text.map(|range| json!([range.start, range.end])));
    optional("words", meta.words.clone().map(Value::from));
    optional(
        "suffix",
        (!meta.suffix.is_empty()).then(|| Value::from(meta.suffix.clone())),
    );
    optional("from", meta.from.clone().map(Value::from));
    optional("to", meta.to.clone().map(Value::from));
    optional("first", span.first.clone().map(Value::from));
    optional("last", span.last.clone().map(Value::from));

    let files = SpanFiles::of(&span.operations);
    json!({
        "kind": KIND,
        "v": VERSION,
        "span": stored,
        "readFiles": files.read,
        "modifiedFiles": files.modified,
        "lastEdits": files.edits,
        "failedFiles": files.failed,
    })
}

/// The file operations of one span as details hold them: bare paths in the order of their last
/// touch, the last edit of each modified one beside it.
#[derive(Debug, Default)]
struct SpanFiles {
    read: Vec<String>,
    modified: Vec<String>,
    edits: Vec<String>,
    failed: Vec<String>,
}

impl SpanFiles {
    fn of(operations: &[FileOperation]) -> SpanFiles {
        let mut lists = super::file_lists::FileLists::default();
        operations.iter().for_each(|operation| lists.add(operation));
        let mut files = SpanFiles::default();
        for file in lists.read_only() {
            files.failed.extend(file.failed.then(|| file.path.clone()));
            files.read.push(file.path);
        }
        for file in lists.modified() {
            files.failed.extend(file.failed.then(|| file.path.clone()));
            files.modified.push(file.path);
            files.edits.push(file.edit.unwrap_or_default());
        }
        files
    }
}

/// Reads the span of one of our compactions back. `None` where details or summary do not fit
/// together, which makes the compaction an opaque base.
pub fn read_span(details: &Fields, summary: &str) -> Option<StoredSpan> {
    let span = details.object("span")?;
    let body = match span.array("text").as_slice() {
        [start, end] => {
            let at = |raw: &RawValue| raw.get().parse::<usize>().ok();
            Some(summary.get(at(start)?..at(end)?)?)
        }
        _ => None,
    };
    let mut items = Vec::new();
    let mut at = 0usize;
    for raw in span.array("items") {
        let parts = json::elements(raw);
        let kind = ItemKind::of_name(&json::string(parts.first()?)?)?;
        let entry = json::string(parts.get(1)?)?;
        let text = match (body, parts.get(3)) {
            (_, Some(text)) => json::string(text)?,
            (Some(body), None) => {
                let len: usize = parts.get(2)?.get().parse().ok()?;
                let text = body.get(at..at.checked_add(len)?)?.to_owned();
                at += len + 1;
                text
            }
            (None, None) => return None,
        };
        items.push(Item { kind, entry, text });
    }
    let meta = SpanMeta {
        n: span.number("n")? as usize,
        at: span.string("at").unwrap_or_default(),
        trigger: span.string("trigger").unwrap_or_default(),
        words: span.string("words"),
        suffix: span.string("suffix").unwrap_or_default(),
        from: span.string("from"),
        to: span.string("to"),
    };
    Some(StoredSpan { meta, items })
}
