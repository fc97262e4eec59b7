//! The checkpoint as text. What does not change from one compaction to the next comes first.

use std::ops::Range;

use super::details::SpanMeta;
use super::file_lists::{self, FileLists};
use super::history::{Base, BaseKind};
use super::item::{self, Item};
use super::wording;
use crate::text::{counted, escape_attribute, grouped};

pub struct Checkpoint<'a> {
    pub base: Option<&'a Base>,
    /// Oldest first; the last one is the new one.
    pub spans: Vec<(&'a SpanMeta, &'a [Item])>,
    pub files: &'a FileLists,
    pub remarks: Remarks,
    /// Time of the first kept entry.
    pub tail_from: Option<&'a str>,
}

/// What is said about this compaction alone.
pub struct Remarks {
    /// The how manieth compaction of the branch this is.
    pub compaction: usize,
    pub entries: usize,
    pub tokens_before: f64,
}

pub struct Rendered {
    pub summary: String,
    /// Bytes of the last span's items in the summary.
    pub new_span: Range<usize>,
}

impl Checkpoint<'_> {
    pub fn render(&self) -> Rendered {
        let mut out = String::from(wording::INTRODUCTION);
        if let Some(base) = self.base {
            out.push('\n');
            push_base(&mut out, base);
        }
        let mut new_span = 0..0;
        for (meta, items) in &self.spans {
            out.push('\n');
            new_span = push_span(&mut out, meta, items);
        }
        let lists = file_lists::render(self.files);
        if !lists.is_empty() {
            out.push('\n');
            out.push_str(&lists);
        }
        out.push('\n');
        self.push_remarks(&mut out);
        out.push('\n');
        out.push_str(wording::EVIDENCE_BOUNDARY);
        out.push_str("\n\n");
        out.push_str(&wording::closing(self.tail_from));
        Rendered {
            summary: out,
            new_span,
        }
    }

    fn push_remarks(&self, out: &mut String) {
        let Some((meta, _)) = self.spans.last() else {
            return;
        };
        out.push_str(&format!(
            "Compaction {} ({}, {}): {} became span {}; the context held about {} tokens before.\n",
            self.remarks.compaction,
            escape_attribute(&meta.trigger),
            meta.at,
            counted(self.remarks.entries, "entry", "entries"),
            meta.n,
            grouped(self.remarks.tokens_before.max(0.0) as u64),
        ));
        if let Some(words) = &meta.words {
            out.push_str(&format!("With /compact the user wrote: {words}\n"));
        }
    }
}

fn push_base(out: &mut String, base: &Base) {
    if base.kind == BaseKind::ModelSummary {
        out.push_str(wording::MIXED_CONTEXT);
    }
    let tag = format!(
        "compacted-base{}",
        free_suffix("compacted-base", &base.text)
    );
    out.push_str(&format!(
        "<{tag} kind=\"{}\" compacted-at=\"{}\">\n{}\n</{tag}>\n",
        base.kind.name(),
        escape_attribute(&base.at),
        base.text
    ));
}

const SPAN_TAG: &str = "compacted-span";

fn push_span(out: &mut String, meta: &SpanMeta, items: &[Item]) -> Range<usize> {
    out.push_str(&format!("<{SPAN_TAG}{} n=\"{}\"", meta.suffix, meta.n));
    if let (Some(from), Some(to)) = (&meta.from, &meta.to) {
        out.push_str(&format!(
            " covers=\"{} → {}\"",
            escape_attribute(from),
            escape_attribute(to)
        ));
    }
    out.push_str(&format!(
        " compacted-at=\"{}\" trigger=\"{}\"",
        escape_attribute(&meta.at),
        escape_attribute(&meta.trigger)
    ));
    if let Some(words) = &meta.words {
        out.push_str(&format!(" words=\"{}\"", escape_attribute(words)));
    }
    out.push_str(">\n");
    let start = out.len();
    out.push_str(&item::join(items));
    let end = out.len();
    if end > start {
        out.push('\n');
    }
    out.push_str(&format!("</{SPAN_TAG}{}>\n", meta.suffix));
    start..end
}

/// The suffix of a span's tag: empty, unless the text could be taken for the tag itself.
pub fn span_suffix(items: &[Item]) -> String {
    free_suffix(SPAN_TAG, &item::join(items))
}

/// The shortest suffix with which no tag of this name occurs in `text`.
fn free_suffix(tag: &str, text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let occurs =
        |tag: &str| text.contains(&format!("<{tag}")) || text.contains(&format!("</{tag}"));
    if !occurs(tag) {
        return String::new();
    }
    // A text of n characters cannot hold more than n different suffixes, so this ends.
    (2..)
        .map(|n| format!("-{n}"))
        .find(|suffix| !occurs(&format!("{tag}{suffix}")))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_whose_text_holds_its_tag_gets_another_tag() {
        assert_eq!(
            free_suffix("compacted-span", "plain text about a compacted-span"),
            ""
        );
        assert_eq!(free_suffix("compacted-span", "</compacted-span>"), "-2");
        assert_eq!(
            free_suffix(
                "compacted-span",
                "<Compacted-Span n=\"9\"></compacted-span-2>"
            ),
            "-3"
        );
        // `</compacted-span-2` is also the beginning of `</compacted-span-22>`.
        assert_eq!(free_suffix("compacted-span", "</compacted-span-22>"), "-3");
    }
}
