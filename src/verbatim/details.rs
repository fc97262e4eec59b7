//! The `details` of a verbatim compaction: an index of what its summary holds. Text is stored once,
//! in the summary; `details` name the range of bytes.

use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::item::{Item, ItemKind};
use super::span::Span;
use super::startup::{Selection, StartupRead};
use crate::json::{self, Fields};
use crate::session::file_lists::SpanFiles;

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

/// What goes into the details of a new compaction.
pub struct Parts<'a> {
    pub meta: &'a SpanMeta,
    pub span: &'a Span,
    /// The byte range of the span's items in the summary, `None` where it does not hold them whole.
    pub text: Option<Range<usize>>,
    pub tokens_before: f64,
    /// The working directory that paths are relative to; a fork may move to another one.
    pub cwd: &'a str,
    pub startup: &'a Selection,
    /// The byte range of each startup read that the summary holds, by entry.
    pub startup_texts: &'a [(&'a str, Range<usize>)],
    /// What the next checkpoint can carry on, `None` where the cap changed anything.
    pub section: Option<Value>,
    /// Entry ids.
    pub pins: Vec<&'a str>,
    pub no_progress: bool,
}

pub fn build(parts: Parts) -> Value {
    let mut details = json!({
        "kind": KIND,
        "v": VERSION,
        "cwd": parts.cwd,
        "span": span_json(&parts),
        "startup": startup_json(&parts),
        "pins": parts.pins,
    });
    for (key, paths) in SpanFiles::of(&parts.span.operations).into_fields() {
        details[key] = json!(paths);
    }
    if let Some(section) = parts.section {
        details["section"] = section;
    }
    if parts.no_progress {
        details["noProgress"] = json!(true);
    }
    details
}

fn span_json(parts: &Parts) -> Value {
    let Parts { meta, span, text, .. } = parts;
    let items: Vec<Value> = span
        .items
        .iter()
        .map(|item| match text {
            Some(_) => json!([item.kind.name(), item.entry, item.text.len()]),
            None => json!([item.kind.name(), item.entry, item.text.len(), item.text]),
        })
        .collect();
    let mut stored = json!({
        "n": meta.n,
        "at": meta.at,
        "trigger": meta.trigger,
        "tokensBefore": json::number(parts.tokens_before),
        "entries": span.entries,
    });
    let optional = [
        ("words", meta.words.clone().map(Value::from)),
        ("suffix", (!meta.suffix.is_empty()).then(|| Value::from(meta.suffix.clone()))),
        ("from", meta.from.clone().map(Value::from)),
        ("to", meta.to.clone().map(Value::from)),
        ("first", span.first.clone().map(Value::from)),
        ("last", span.last.clone().map(Value::from)),
        ("text", text.as_ref().map(|range| json!([range.start, range.end]))),
        ("items", Some(Value::from(items))),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            stored[key] = value;
        }
    }
    stored
}

fn startup_json(parts: &Parts) -> Value {
    let reads: Vec<Value> = parts
        .startup
        .reads
        .iter()
        .map(|read| {
            let mut stored = json!({ "entry": read.entry, "path": read.path });
            for (key, value) in [("offset", read.offset), ("limit", read.limit)] {
                if let Some(value) = value {
                    stored[key] = json::number(value);
                }
            }
            if let Some((_, range)) =
                parts.startup_texts.iter().find(|(entry, _)| *entry == read.entry)
            {
                stored["text"] = json!([range.start, range.end]);
            }
            stored
        })
        .collect();
    json!({ "open": parts.startup.open, "reads": reads })
}

/// Reads the span of one of our compactions back. `None` where details or summary do not fit
/// together, which makes the compaction an opaque base.
pub fn read_span(details: &Fields, summary: &str) -> Option<StoredSpan> {
    let span = details.object("span")?;
    let body = match span.raw("text") {
        Some(_) => Some(text_at(&span, summary)?),
        None => None,
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

/// The startup reads of one of our compactions.
pub fn read_startup(details: &Fields, summary: &str) -> Option<Selection> {
    let startup = details.object("startup")?;
    let read = |raw: &RawValue| {
        let read = Fields::parse(raw.get())?;
        Some(StartupRead {
            entry: read.string("entry")?,
            path: read.string("path")?,
            offset: read.number("offset"),
            limit: read.number("limit"),
            text: text_at(&read, summary).map(str::to_owned),
        })
    };
    Some(Selection {
        open: startup.bool("open").unwrap_or(false),
        reads: startup.array("reads").into_iter().filter_map(read).collect(),
    })
}

/// The part of the summary that the field `text` names.
fn text_at<'t>(fields: &Fields, summary: &'t str) -> Option<&'t str> {
    match fields.array("text").as_slice() {
        [start, end] => {
            let at = |raw: &RawValue| raw.get().parse::<usize>().ok();
            summary.get(at(start)?..at(end)?)
        }
        _ => None,
    }
}
