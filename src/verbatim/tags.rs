//! The tags of spans: whole, trimmed, and of neighbours without a line.

use std::fmt;
use std::ops::RangeInclusive;

use super::details::SpanMeta;
use super::item::{Item, SpanRef};
use crate::fence::free_suffix_in;
use crate::text::{clip, escape_attribute};

pub const SPAN_TAG: &str = "compacted-span";

/// The line that opens a span. A trimmed one keeps the beginning of the words.
pub fn open_tag(meta: &SpanMeta, trimmed: bool) -> String {
    let covers = covers(meta.from.as_deref(), meta.to.as_deref());
    let shown = |words: &String| match trimmed {
        true => escape_attribute(&clip(words, TRIMMED_WORDS)),
        false => escape_attribute(words),
    };
    let words = meta
        .words
        .as_ref()
        .map_or_else(String::new, |words| format!(" words=\"{}\"", shown(words)));
    format!(
        "<{SPAN_TAG}{} n=\"{}\"{covers} compacted-at=\"{}\" trigger=\"{}\"{words}{}>\n",
        meta.suffix,
        meta.n,
        escape_attribute(&meta.at),
        escape_attribute(&meta.trigger),
        if trimmed { TRIMMED } else { "" },
    )
}

const TRIMMED: &str = " trimmed=\"true\"";
/// How the line of spans without a line begins.
pub const EMPTIED_NOTE: &str = "(Trimmed to fit the size cap: no line is left.";
/// Characters of the words given with `/compact` that the tag of a trimmed span keeps.
const TRIMMED_WORDS: usize = 120;

fn covers(from: Option<&str>, to: Option<&str>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => {
            format!(" covers=\"{} → {}\"", escape_attribute(from), escape_attribute(to))
        }
        _ => String::new(),
    }
}

/// Bytes of the line that opens the span of this number here, whatever it says besides.
pub fn opened_somehow(text: &str, meta: &SpanMeta) -> Option<usize> {
    let line = text.split_inclusive('\n').next()?;
    let begins = line.starts_with(&format!("<{SPAN_TAG}{} n=\"{}\" ", meta.suffix, meta.n));
    (begins && line.ends_with(">\n")).then_some(line.len())
}

/// The line that closes a span.
pub fn close_tag(meta: &SpanMeta) -> String {
    format!("</{SPAN_TAG}{}>\n", meta.suffix)
}

/// The first line of a trimmed span.
pub fn trimmed_note(items: &[Item]) -> String {
    let entries = Entries::of(items);
    format!("(Trimmed to fit the size cap: lines are missing or cut. {entries})\n")
}

/// Neighbouring spans without a line, in one tag.
#[derive(Debug, Clone, PartialEq)]
pub struct Emptied<'a> {
    first: &'a SpanMeta,
    last: &'a SpanMeta,
    from: Option<&'a str>,
    to: Option<&'a str>,
    entries: Entries<'a>,
    /// The cap took lines from any of them.
    trimmed: bool,
}

impl<'a> Emptied<'a> {
    pub fn of((meta, items): SpanRef<'a>, trimmed: bool) -> Emptied<'a> {
        let (from, to) = (meta.from.as_deref(), meta.to.as_deref());
        Emptied { first: meta, last: meta, from, to, entries: Entries::of(items), trimmed }
    }

    /// All of a run; the cap emptied those that had lines.
    pub fn of_run(run: &[SpanRef<'a>]) -> Option<Emptied<'a>> {
        let each = run.iter().map(|span| Emptied::of(*span, !span.1.is_empty()));
        each.reduce(|all, next| all.and(&next))
    }

    /// Together with the spans that follow.
    pub fn and(&self, next: &Emptied<'a>) -> Emptied<'a> {
        Emptied {
            first: self.first,
            last: next.last,
            from: self.from.or(next.from),
            to: next.to.or(self.to),
            entries: self.entries.and(next.entries),
            trimmed: self.trimmed || next.trimmed,
        }
    }
}

impl fmt::Display for Emptied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Emptied { first, last, .. } = self;
        let single = std::ptr::eq(*first, *last);
        if single && !self.trimmed {
            return write!(f, "{}{}", open_tag(first, false), close_tag(first));
        }
        let numbers = match single {
            true => first.n.to_string(),
            false => format!("{}-{}", first.n, last.n),
        };
        let covers = covers(self.from, self.to);
        let at = escape_attribute(&last.at);
        write!(f, "<{SPAN_TAG} n=\"{numbers}\"{covers} compacted-at=\"{at}\"")?;
        if self.trimmed {
            write!(f, "{TRIMMED}>\n{EMPTIED_NOTE} {})", self.entries)?;
        } else {
            f.write_str(">")?;
        }
        write!(f, "\n</{SPAN_TAG}>\n")
    }
}

/// Where the lines of spans can be found again: their first and last entry, if they are known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entries<'a>(Option<(&'a str, &'a str)>);

impl<'a> Entries<'a> {
    fn of(items: &'a [Item]) -> Entries<'a> {
        let mut known = items.iter().map(|item| item.entry.as_str()).filter(|id| !id.is_empty());
        let first = known.next();
        Entries(first.map(|first| (first, known.next_back().unwrap_or(first))))
    }

    fn and(self, next: Entries<'a>) -> Entries<'a> {
        Entries(match (self.0, next.0) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (one, other) => one.or(other),
        })
    }
}

impl fmt::Display for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Some((first, last)) if first != last => {
                write!(f, "They are in the session, entries {first} to {last}.")
            }
            Some((first, _)) => write!(f, "They are in the session, entry {first}."),
            None => f.write_str("They are in the session."),
        }
    }
}

/// The suffix of a span's tag: empty, unless the text could be taken for the tag itself.
pub fn span_suffix(items: &[Item]) -> String {
    free_suffix_in(SPAN_TAG, items.iter().map(|item| item.text.as_str()))
}

/// The numbers of the spans that a placeholder stands for which begins here.
pub fn numbers(text: &str) -> Option<RangeInclusive<usize>> {
    range(text.strip_prefix(&format!("<{SPAN_TAG} n=\""))?.split_once('"')?.0)
        .filter(|numbers| numbers.start() <= numbers.end())
}

/// `3` or `1-4`.
pub fn range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}
