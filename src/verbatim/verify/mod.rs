//! A verbatim compaction is derived again from the raw entries and compared with what it says:
//! its span item by item, its text part by part, its details.

mod text;

use std::collections::HashMap;

use super::annotation::Annotations;
use super::details::{self, SpanMeta, StoredSpan};
use super::evidence::Evidence;
use super::item::{Item, SpanRef};
use super::pins::{self, Pin};
use super::render::{self, Remarks};
use super::span::{self, Span};
use super::startup::{self, StartupRead};
use super::{carried, history, section_size, wording};
use crate::error::Result;
use crate::fence::free_suffix;
use crate::json::{self, Fields};
use crate::session::file_lists::{self, SpanFiles};
use crate::session::projection::{self, Projection, kept_from};
use crate::session::{Branch, Compaction, Detail, ids};
use crate::text::{clip, counted, escape_metadata};
use text::Text;

/// What does not hold in one compaction.
#[derive(Debug, Default)]
pub struct Findings {
    /// Items that were compared with the raw entries.
    pub items: usize,
    pub problems: Vec<String>,
}

/// A compaction that says it is ours.
pub struct Saved<'c> {
    pub compaction: &'c Compaction,
    pub details: &'c Fields<'c>,
    /// Where the details do not say it.
    pub cwd: &'c str,
    /// What the model wrote down in a message about the state of its work, if it did.
    pub written: &'c dyn Fn(&str) -> Result<Option<String>>,
}

/// Checks a compaction; `branch` ends before it.
///
/// Errors: the session changed while it was read.
pub fn check(branch: &Branch, saved: &Saved) -> Result<Findings> {
    let recorded = saved.details.string("cwd");
    let cwd = recorded.as_deref().unwrap_or(saved.cwd);
    let context = Projection::of(branch)?;
    let end = kept_from(branch, branch.len(), saved.compaction).min(branch.len());
    let derived = span::derive(&context, context.start..end.max(context.start), cwd)?;
    let mut check = Check { branch, saved, cwd, context, end, findings: Findings::default() };
    check.run(derived)?;
    Ok(check.findings)
}

struct Check<'c> {
    branch: &'c Branch<'c, 'c>,
    saved: &'c Saved<'c>,
    cwd: &'c str,
    /// Before the compaction.
    context: Projection<'c, 'c, 'c>,
    /// The first position that it kept.
    end: usize,
    findings: Findings,
}

impl Check<'_> {
    fn problem(&mut self, what: impl Into<String>) {
        self.findings.problems.push(what.into());
    }

    fn run(&mut self, derived: Span) -> Result<()> {
        let earlier = history::read(self.branch, self.cwd)?;
        let stored = details::read_span(self.saved.details, &self.saved.compaction.summary);
        match stored {
            Some(stored) => self.compare(&derived.items, &stored.items),
            None => self.problem("its details and its summary do not fit together"),
        }
        let meta = self.saved.details.object("span").as_ref().and_then(details::read_meta);
        let own = StoredSpan { meta: meta.unwrap_or_default(), items: derived.items.clone() };
        self.meta(&own.meta, &derived, earlier.spans.len() + 1);
        let mut files = earlier.files;
        derived.operations.iter().for_each(|operation| files.add(operation));
        self.file_operations(&SpanFiles::of(&derived.operations));

        let edits = projection::edits(self.branch, 0, self.branch.len())?;
        let held = self.startup_reads(&edits, earlier.startup.unwrap_or_default().reads)?;
        let pins = self.pins()?;
        let evidence = Evidence::of_tail(&self.context, &edits, self.end, self.cwd)?;
        let retained: Vec<StartupRead> = held.iter().map(|(read, _)| read.clone()).collect();
        let annotations =
            Annotations { evidence: &evidence, retained: &retained, branch: self.branch };
        let lists = file_lists::render(&files, &|file, modified| annotations.of(file, modified));

        let spans: Vec<SpanRef> =
            earlier.spans.iter().chain([&own]).map(StoredSpan::as_ref).collect();
        let mut text = Text::new(&self.saved.compaction.summary);
        text.expect(wording::INTRODUCTION, "its introduction is");
        if let Some(base) = &earlier.base {
            text.expect(&format!("\n{}", render::base_block(base)), "its base is");
        }
        text.spans(&spans);
        let section_end = text.taken();
        let parts = [
            (startup::render(&held).text, "its retained reads are"),
            (pins::render(&labelled(pins, text.rest())), "its pinned entries are"),
        ];
        for (part, what) in parts.iter().filter(|(part, _)| !part.is_empty()) {
            text.expect(&format!("\n{part}"), what);
        }
        self.working_state(&mut text)?;
        if !lists.is_empty() {
            text.expect(&format!("\n{lists}"), "its file lists are");
        }
        let tail_from = match self.branch.get(self.end) {
            Some(entry) => self.branch.session.read(entry, Detail::Kept)?.timestamp,
            None => None,
        };
        let remarks = Remarks {
            compaction: earlier.compactions + 1,
            entries: derived.entries,
            tokens_before: self.span_number("tokensBefore"),
            no_progress: self.saved.details.bool("noProgress").unwrap_or(false),
        };
        text.expect(
            &render::ending(&own.meta, &remarks, tail_from.as_deref()),
            "its last lines are",
        );
        text.end();
        self.findings.problems.append(&mut text.problems);
        let is_lost = |(meta, _): &SpanRef| meta.trigger == history::UNKNOWN;
        if let Some(section) = self.saved.details.raw("section")
            && !spans.iter().any(is_lost)
        {
            let size = |measure| section_size(earlier.base.as_ref(), &spans, measure);
            let expected = carried::to_json(section_end, spans.len(), size);
            if serde_json::from_str::<serde_json::Value>(section.get()).ok() != Some(expected) {
                self.problem("what its details say of its section is not so");
            }
        }
        Ok(())
    }

    fn span_number(&self, key: &str) -> f64 {
        self.saved.details.object("span").and_then(|span| span.number(key)).unwrap_or(0.0)
    }

    /// The stored items against the raw entries.
    fn compare(&mut self, derived: &[Item], stored: &[Item]) {
        self.findings.items += derived.len();
        let mut differ = 0;
        for (at, item) in derived.iter().enumerate() {
            match stored.get(at) {
                Some(other) if other == item => {}
                Some(other) => {
                    if differ == 0 {
                        self.problem(difference(at + 1, item, other));
                    }
                    differ += 1;
                }
                None => self.problem(format!("entry {} is missing in its span", item.entry)),
            }
        }
        if differ > 1 {
            self.problem(format!("{} differ", counted(differ - 1, "more item", "more items")));
        }
        for item in stored.iter().skip(derived.len()) {
            self.problem(format!("entry {} does not belong to its span", item.entry));
        }
    }

    fn meta(&mut self, meta: &SpanMeta, derived: &Span, n: usize) {
        let span = self.saved.details.object("span");
        let text = |key: &str| span.as_ref().and_then(|span| span.string(key));
        let id = |key: &str| text(key).map(|id| ids::plain(&id).into_owned());
        let same = meta.n == n
            && (&meta.from, &meta.to) == (&derived.from, &derived.to)
            && (id("first"), id("last")) == (derived.first.clone(), derived.last.clone())
            && self.span_number("entries") == derived.entries as f64
            && meta.suffix == super::tags::span_suffix(&derived.items);
        if !same {
            self.problem("what its details say of its span is not so");
        }
    }

    fn file_operations(&mut self, derived: &SpanFiles) {
        for (key, files) in derived.fields() {
            let stored: Vec<String> =
                self.saved.details.array(key).into_iter().filter_map(json::string).collect();
            if stored != *files {
                self.problem(format!("its {key} are not those of the recorded calls"));
            }
        }
    }

    /// The reads that the checkpoint holds, as their entries have them; the text of one is that of
    /// the first checkpoint that held it.
    fn startup_reads(
        &mut self,
        edits: &projection::Edits,
        earlier: Vec<StartupRead>,
    ) -> Result<Vec<(StartupRead, String)>> {
        let mut held = Vec::new();
        let all = startup::all_reads(self.branch, edits, self.cwd)?;
        let earlier: HashMap<&str, &StartupRead> =
            earlier.iter().map(|read| (read.entry.as_str(), read)).collect();
        let selection = details::read_startup(self.saved.details, &self.saved.compaction.summary);
        for read in selection.unwrap_or_default().reads {
            let before = earlier.get(read.entry.as_str()).copied();
            let known = before.or_else(|| all.get(&read.entry));
            let bare = |read: &StartupRead| StartupRead { text: None, ..read.clone() };
            if known.map(bare) != Some(bare(&read)) {
                self.problem(format!(
                    "entry {} is no read of {}",
                    read.entry,
                    escape_metadata(&read.path)
                ));
            }
            let expected = match before.and_then(|before| before.text.clone()) {
                Some(text) => Some(text),
                None => startup::text(self.branch, edits, &read.entry)?,
            };
            let passed =
                self.branch.position(&read.entry).is_none_or(|position| position < self.end);
            match (&read.text, expected) {
                (Some(text), Some(expected)) if *text == expected => held.push((read, expected)),
                (None, _) if !passed => {}
                (None, None) => {}
                (_, expected) => {
                    self.problem(format!(
                        "the startup read {} is not what its entry holds",
                        read.entry
                    ));
                    held.extend(expected.map(|text| (read, text)));
                }
            }
        }
        Ok(held)
    }

    /// The pinned entries, without their labels: those may have changed since.
    fn pins(&mut self) -> Result<Vec<Pin>> {
        let mut pinned = Vec::new();
        for id in self.saved.details.array("pins").into_iter().filter_map(json::string) {
            let id = ids::plain(&id).into_owned();
            let entry = self.branch.position(&id).filter(|position| *position < self.end);
            let content = match entry.and_then(|position| self.branch.get(position)) {
                Some(entry) => pins::content(self.branch.session.read(entry, Detail::All)?.body),
                None => None,
            };
            match content {
                Some((what, text)) => {
                    pinned.push(Pin { entry: id, label: String::new(), what, text });
                }
                None => self.problem(format!("the pinned entry {id} is not before its end")),
            }
        }
        Ok(pinned)
    }

    /// What the model wrote, where the checkpoint shows it.
    fn working_state(&mut self, text: &mut Text) -> Result<()> {
        let Some(shown) = Shown::at(text.rest()) else { return Ok(()) };
        if free_suffix(TAG, shown.text) != shown.suffix {
            text.problem("the tag of its working state stands inside of it");
        }
        if let Some(entry) = shown.entry {
            let written = match self.branch.position(entry) {
                Some(_) => (self.saved.written)(entry)?,
                None => Some(String::new()),
            };
            if written.is_some_and(|written| written != shown.text) {
                text.problem(format!(
                    "its working state is not what entry {} says",
                    ids::plain(entry)
                ));
            }
        }
        text.pass(shown.bytes);
        Ok(())
    }
}

/// Where two texts part, for people.
fn difference(number: usize, item: &Item, other: &Item) -> String {
    let pairs = item.text.chars().zip(other.text.chars());
    let same = pairs.take_while(|(a, b)| a == b).count();
    let shown = |text: &str| {
        let from: String = text.chars().skip(same.saturating_sub(20)).take(61).collect();
        escape_metadata(&clip(&from, 60)).into_owned()
    };
    format!(
        "item {number} of its span is not entry {}: it says \"{}\", the entry \"{}\"",
        item.entry,
        shown(&other.text),
        shown(&item.text)
    )
}

/// The pins with the labels that the text shows for them.
fn labelled(pins: Vec<Pin>, text: &str) -> Vec<Pin> {
    let label = |pin: &Pin| {
        let (_, rest) = text.split_once(&pins::before_label(pin))?;
        let label = rest.split_once("\">\n")?.0;
        pins::is_shown_label(label).then(|| label.to_owned())
    };
    pins.into_iter().map(|pin| Pin { label: label(&pin).unwrap_or_default(), ..pin }).collect()
}

const TAG: &str = "working-state";

/// A working state as it stands in a checkpoint.
struct Shown<'t> {
    suffix: &'t str,
    entry: Option<&'t str>,
    text: &'t str,
    /// All of it, with the line break before it.
    bytes: usize,
}

impl<'t> Shown<'t> {
    fn at(rest: &'t str) -> Option<Shown<'t>> {
        let body = rest.strip_prefix("\n<working-state")?;
        let (opened, inside) = body.split_once(">\n")?;
        let (suffix, attributes) = opened.split_once(" written-by=\"model\" at=\"")?;
        let entry =
            attributes.split_once("\" entry=\"").and_then(|(_, entry)| entry.strip_suffix('"'));
        let close = format!("\n</{TAG}{suffix}>\n");
        let end = inside.find(&close)?;
        let bytes = rest.len() - inside.len() + end + close.len();
        Some(Shown { suffix, entry, text: &inside[..end], bytes })
    }
}
