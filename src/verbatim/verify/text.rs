//! A checkpoint's text, taken apart from its beginning: each part as the entries have it, in its
//! place, and nothing between them.

use crate::text::{clip, escape_metadata};
use crate::verbatim::item::{Item, SpanRef};
use crate::verbatim::render::whole_span;
use crate::verbatim::tags::{Emptied, close_tag, numbers, open_tag, opened_somehow, trimmed_note};
use crate::verbatim::{budget, history};

pub struct Text<'t> {
    rest: &'t str,
    len: usize,
    /// What does not hold.
    pub problems: Vec<String>,
    /// A part was not as it should be, so what is passed over next is it.
    astray: bool,
}

impl<'t> Text<'t> {
    pub fn new(summary: &'t str) -> Text<'t> {
        Text { rest: summary, len: summary.len(), problems: Vec::new(), astray: false }
    }

    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// Bytes that were taken.
    pub fn taken(&self) -> usize {
        self.len - self.rest.len()
    }

    pub fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    fn take(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// The next part must be this one; `what` says how it is called where it is not.
    pub fn expect(&mut self, part: &str, what: &str) {
        match self.rest.find(part) {
            Some(at) => {
                self.foreign(at);
                self.take(at + part.len());
            }
            None => {
                self.problem(format!("{what} not in it as the entries have it"));
                self.astray = true;
            }
        }
    }

    /// Takes a part without comparing it.
    pub fn pass(&mut self, bytes: usize) {
        self.take(bytes.min(self.rest.len()));
    }

    /// What stands before the next part belongs to none.
    fn foreign(&mut self, bytes: usize) {
        if bytes > 0 && !std::mem::take(&mut self.astray) {
            let shown = clip(self.rest[..bytes].trim(), 60);
            let shown = escape_metadata(&shown);
            self.problem(format!("\"{shown}\" is no part of a checkpoint"));
        }
    }

    /// Nothing follows any more.
    pub fn end(&mut self) {
        self.foreign(self.rest.len());
    }

    /// The spans in their order: whole, or marked as trimmed.
    pub fn spans(&mut self, spans: &[SpanRef]) {
        let mut next = 0;
        while next < spans.len() {
            match self.piece(&spans[next..]) {
                Ok((count, bytes)) => {
                    self.take(bytes);
                    next += count;
                }
                Err(why) => {
                    // Something may only have come between.
                    if let Some(at) = self.rest.find(&format!("\n{}", whole_span(spans[next]))) {
                        self.foreign(at);
                        self.take(at);
                        continue;
                    }
                    self.problem(format!("span {}: {why}", spans[next].0.n));
                    self.skip(spans[next]);
                    next += 1;
                }
            }
        }
    }

    /// How many of the spans stand here in one piece, and its bytes.
    fn piece(&self, spans: &[SpanRef]) -> Result<(usize, usize), &'static str> {
        let missing = "it is neither whole nor marked as trimmed";
        let (span, body) = (spans[0], self.rest.strip_prefix('\n').ok_or(missing)?);
        let whole = whole_span(span);
        if body.starts_with(&whole) {
            return Ok((1, 1 + whole.len()));
        }
        // Where a compaction's own details are lost, its times and its trigger are too.
        if span.0.trigger == history::UNKNOWN
            && let Some(line) = opened_somehow(body, span.0)
            && let Some(lines) = whole.split_once('\n').map(|(_, lines)| lines)
            && body[line..].starts_with(lines)
        {
            return Ok((1, 1 + line + lines.len()));
        }
        let opened = open_tag(span.0, true);
        if let Some(inside) = body.strip_prefix(opened.as_str()) {
            let close = close_tag(span.0);
            let end = inside.find(&close).ok_or("its tag is not closed")?;
            let note = trimmed_note(span.1);
            let lines = inside[..end].strip_prefix(&note).ok_or("it is trimmed without a note")?;
            return match is_trimmed_from(lines, span.1) {
                true => Ok((1, 1 + opened.len() + end + close.len())),
                false => Err("a line of it is neither verbatim nor a marked cut"),
            };
        }
        if body.starts_with(&open_tag(span.0, false)) {
            return Err("its lines are not those of its entries");
        }
        let numbers =
            numbers(body).filter(|numbers| *numbers.start() == span.0.n).ok_or(missing)?;
        let count = (numbers.end() - numbers.start()).saturating_add(1);
        let run = spans.get(..count).and_then(Emptied::of_run).ok_or(missing)?;
        let placeholder = run.to_string();
        body.starts_with(&placeholder).then_some((count, 1 + placeholder.len())).ok_or(missing)
    }

    /// Goes on behind a span that is not as it should be, if it stands here at all.
    fn skip(&mut self, (meta, _): SpanRef) {
        let body = self.rest.strip_prefix('\n').unwrap_or_default();
        let is_here =
            [false, true].iter().any(|trimmed| body.starts_with(&open_tag(meta, *trimmed)));
        let close = close_tag(meta);
        match self.rest.find(&close).filter(|_| is_here) {
            Some(at) => self.take(at + close.len()),
            None => self.astray = true,
        }
    }
}

/// Whether the lines are items, or marked beginnings of items, in their order.
fn is_trimmed_from(mut lines: &str, items: &[Item]) -> bool {
    let mut items = items.iter();
    while !lines.is_empty() {
        let rest = items.by_ref().find_map(|item| {
            let whole = lines.strip_prefix(item.text.as_str());
            let cut = || budget::stub(item).and_then(|stub| lines.strip_prefix(stub.as_str()));
            whole.or_else(cut)?.strip_prefix('\n')
        });
        match rest {
            Some(rest) => lines = rest,
            None => return false,
        }
    }
    true
}
