//! The `details` of a verbatim compaction: an index of what its summary holds. Text is stored once,
//! in the summary; `details` name the range of bytes.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::item::{Item, ItemKind, SpanRef};
use super::span::Span;
use super::startup::{Selection, StartupRead};
use crate::error::Result;
use crate::json::{self, Fields, Raw};
use crate::session::file_lists::SpanFiles;
use crate::session::ids;

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

impl StoredSpan {
    pub fn as_ref(&self) -> SpanRef<'_> {
        (&self.meta, &self.items)
    }
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
    pub startup_texts: &'a HashMap<&'a str, Range<usize>>,
    /// What the next checkpoint can carry on, `None` where the cap changed anything.
    pub section: Option<Value>,
    /// Entry ids.
    pub pins: Vec<&'a str>,
    pub no_progress: bool,
}

/// The details as JSON, written once: with thousands of items a tree of values would cost more than
/// the text that they describe.
///
/// Errors: only where they cannot be written as JSON, which would be a defect.
pub fn build(parts: &Parts) -> Result<Box<RawValue>> {
    let details = Details {
        kind: KIND,
        v: VERSION,
        cwd: parts.cwd,
        span: span(parts),
        startup: startup(parts),
        pins: &parts.pins,
        files: SpanFiles::of(&parts.span.operations),
        section: parts.section.as_ref(),
        no_progress: parts.no_progress,
    };
    json::to_raw(&details)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    kind: &'static str,
    v: u64,
    cwd: &'a str,
    span: StoredSpanJson<'a>,
    startup: StartupJson<'a>,
    pins: &'a [&'a str],
    #[serde(flatten)]
    files: SpanFiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a Value>,
    #[serde(skip_serializing_if = "is_false")]
    no_progress: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredSpanJson<'a> {
    n: usize,
    at: &'a str,
    trigger: &'a str,
    tokens_before: Value,
    entries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    suffix: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<[usize; 2]>,
    items: Vec<StoredItem<'a>>,
}

/// Kind, entry, bytes; the text itself where the summary does not hold it.
#[derive(Serialize)]
#[serde(untagged)]
enum StoredItem<'a> {
    InSummary(&'static str, &'a str, usize),
    Own(&'static str, &'a str, usize, &'a str),
}

fn span<'a>(parts: &Parts<'a>) -> StoredSpanJson<'a> {
    let Parts { meta, span, text, .. } = parts;
    let items = span.items.iter().map(|item| match text {
        Some(_) => StoredItem::InSummary(item.kind.name(), &item.entry, item.text.len()),
        None => StoredItem::Own(item.kind.name(), &item.entry, item.text.len(), &item.text),
    });
    StoredSpanJson {
        n: meta.n,
        at: &meta.at,
        trigger: &meta.trigger,
        tokens_before: json::number(parts.tokens_before),
        entries: span.entries,
        words: meta.words.as_deref(),
        suffix: &meta.suffix,
        from: meta.from.as_deref(),
        to: meta.to.as_deref(),
        first: span.first.as_deref(),
        last: span.last.as_deref(),
        text: text.as_ref().map(|range| [range.start, range.end]),
        items: items.collect(),
    }
}

#[derive(Serialize)]
struct StartupJson<'a> {
    open: bool,
    reads: Vec<StartupReadJson<'a>>,
}

#[derive(Serialize)]
struct StartupReadJson<'a> {
    entry: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<[usize; 2]>,
}

fn startup<'a>(parts: &Parts<'a>) -> StartupJson<'a> {
    let reads = parts.startup.reads.iter().map(|read| {
        let text = parts.startup_texts.get(read.entry.as_str());
        StartupReadJson {
            entry: &read.entry,
            path: &read.path,
            offset: read.offset.map(json::number),
            limit: read.limit.map(json::number),
            text: text.map(|range| [range.start, range.end]),
        }
    });
    StartupJson { open: parts.startup.open, reads: reads.collect() }
}

// serde asks with a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !*flag
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
        let kind = ItemKind::of_name(&json::string(*parts.first()?)?)?;
        let entry = ids::plain(&json::string(*parts.get(1)?)?).into_owned();
        let text = match (body, parts.get(3)) {
            (_, Some(text)) => json::string(*text)?,
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
    Some(StoredSpan { meta: read_meta(&span)?, items })
}

/// What the span of one of our compactions says about itself.
pub fn read_meta(span: &Fields) -> Option<SpanMeta> {
    Some(SpanMeta {
        n: span.number("n")? as usize,
        at: span.string("at").unwrap_or_default(),
        trigger: span.string("trigger").unwrap_or_default(),
        words: span.string("words"),
        suffix: span.string("suffix").unwrap_or_default(),
        from: span.string("from"),
        to: span.string("to"),
    })
}

/// The startup reads of one of our compactions.
pub fn read_startup(details: &Fields, summary: &str) -> Option<Selection> {
    let startup = details.object("startup")?;
    let read = |raw: Raw| {
        let read = Fields::parse(raw.get())?;
        Some(StartupRead {
            entry: ids::plain(&read.string("entry")?).into_owned(),
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
            let at = |raw: &Raw| raw.get().parse::<usize>().ok();
            summary.get(at(start)?..at(end)?)
        }
        _ => None,
    }
}
