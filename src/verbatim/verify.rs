//! The guarantee, checked: each compaction of ours is derived again from the raw entries and
//! compared with what it says.

use super::details::{self, StoredSpan};
use super::item::Item;
use super::{budget, history, pins, render, span, startup, tags};
use crate::error::Result;
use crate::json::{self, Fields};
use crate::session::file_lists::SpanFiles;
use crate::session::projection::{self, Projection, kept_from};
use crate::session::{Body, Branch, Compaction, Detail, Kind};
use crate::text::{clip, escape_metadata};

/// What does not hold, in one compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The compaction's entry.
    pub compaction: String,
    pub what: String,
}

/// What was looked at, and what of it does not hold.
#[derive(Debug, Default)]
pub struct Report {
    pub compactions: usize,
    /// Items that were compared with the raw entries.
    pub items: usize,
    pub problems: Vec<Problem>,
}

/// Checks every verbatim compaction of ours on the branch.
///
/// Errors: the session changed while it was read.
pub fn verify(branch: &Branch, cwd: &str) -> Result<Report> {
    let mut report = Report::default();
    for (position, entry) in branch.iter() {
        if branch.session.kind(entry) != Kind::Compaction {
            continue;
        }
        let Body::Compaction(compaction) = branch.session.read(entry, Detail::Kept)?.body else {
            continue;
        };
        let raw = compaction.details.clone().unwrap_or_default();
        let Some(details) =
            Fields::parse(&raw).filter(|d| d.string("kind").as_deref() == Some(details::KIND))
        else {
            continue;
        };
        report.compactions += 1;
        let recorded_cwd = details.string("cwd");
        let mut check = Check {
            branch,
            position,
            cwd: recorded_cwd.as_deref().unwrap_or(cwd),
            compaction: &compaction,
            details: &details,
            problems: Vec::new(),
            items: 0,
        };
        check.run()?;
        report.items += check.items;
        let id = branch.session.id(entry);
        let problem = |what| Problem { compaction: id.to_owned(), what };
        report.problems.extend(check.problems.into_iter().map(problem));
    }
    Ok(report)
}

struct Check<'c, 's, 'a> {
    branch: &'c Branch<'s, 'a>,
    position: usize,
    cwd: &'c str,
    compaction: &'c Compaction,
    details: &'c Fields<'c>,
    problems: Vec<String>,
    items: usize,
}

impl Check<'_, '_, '_> {
    fn problem(&mut self, what: String) {
        self.problems.push(what);
    }

    fn run(&mut self) -> Result<()> {
        let context = Projection::at(self.branch, self.position)?;
        let end = kept_from(self.branch, self.position, self.compaction).min(self.position);
        let derived = span::derive(&context, context.start..end.max(context.start), self.cwd)?;
        match details::read_span(self.details, &self.compaction.summary) {
            Some(stored) => {
                self.compare(&derived.items, &stored);
                self.spans_of_the_checkpoint(stored)?;
            }
            None => self.problem("its details and its summary do not fit together".into()),
        }
        self.file_lists(&SpanFiles::of(&derived.operations));
        self.startup_reads()?;
        self.pins()
    }

    /// The stored span against the raw entries.
    fn compare(&mut self, derived: &[Item], stored: &StoredSpan) {
        self.items += derived.len();
        for (at, item) in derived.iter().enumerate() {
            match stored.items.get(at) {
                Some(other) if other == item => {}
                Some(other) => {
                    let same = item
                        .text
                        .chars()
                        .zip(other.text.chars())
                        .take_while(|(a, b)| a == b)
                        .count();
                    let shown = |text: &str| {
                        let from: String = text.chars().skip(same.saturating_sub(20)).collect();
                        escape_metadata(&clip(&from, 60))
                    };
                    self.problem(format!(
                        "item {} of its span is not entry {}: it says \"{}\", the entry \"{}\"",
                        at + 1,
                        item.entry,
                        shown(&other.text),
                        shown(&item.text)
                    ));
                }
                None => self.problem(format!("entry {} is missing in its span", item.entry)),
            }
        }
        for item in stored.items.iter().skip(derived.len()) {
            self.problem(format!("entry {} does not belong to its span", item.entry));
        }
    }

    /// Every span up to this one stands in the summary: whole, or marked as trimmed.
    fn spans_of_the_checkpoint(&mut self, own: StoredSpan) -> Result<()> {
        let earlier = history::read_until(self.branch, self.position, self.cwd)?;
        if let Some(base) = &earlier.base
            && !self.compaction.summary.contains(&render::base_block(base))
        {
            self.problem(format!("the base of {} is not in it as it was", base.at));
        }
        for span in earlier.spans.iter().chain([&own]) {
            if let Some(what) = in_summary(&self.compaction.summary, span) {
                self.problem(format!("span {}: {what}", span.meta.n));
            }
        }
        Ok(())
    }

    fn file_lists(&mut self, derived: &SpanFiles) {
        for (key, files) in [("readFiles", &derived.read), ("modifiedFiles", &derived.modified)] {
            let stored: Vec<String> =
                self.details.array(key).into_iter().filter_map(json::string).collect();
            if stored != *files {
                self.problem(format!("its {key} are not those of the recorded calls"));
            }
        }
    }

    fn startup_reads(&mut self) -> Result<()> {
        let edits = projection::edits(self.branch, 0, self.position)?;
        let selection =
            details::read_startup(self.details, &self.compaction.summary).unwrap_or_default();
        for read in selection.reads {
            if let Some(kept) = &read.text
                && startup::text(self.branch, &edits, &read.entry)?.as_ref() != Some(kept)
            {
                self.problem(format!(
                    "the startup read {} is not what its entry holds",
                    read.entry
                ));
            }
        }
        Ok(())
    }

    fn pins(&mut self) -> Result<()> {
        for id in self.details.array("pins").into_iter().filter_map(json::string) {
            let entry = self.branch.position(&id).and_then(|position| self.branch.get(position));
            let pinned = match entry {
                Some(entry) => pins::content(self.branch.session.read(entry, Detail::All)?.body),
                None => None,
            };
            match pinned {
                Some((_, text)) if self.compaction.summary.contains(&text) => {}
                _ => self.problem(format!("the pinned entry {id} is not in it as it was")),
            }
        }
        Ok(())
    }
}

/// Why a span is not in the summary as it should be.
fn in_summary(summary: &str, span: &StoredSpan) -> Option<String> {
    let StoredSpan { meta, items } = span;
    if summary.contains(&render::whole_span((meta, items))) {
        return None;
    }
    let opened = tags::open_tag(meta, true);
    if let Some(at) = summary.find(&opened) {
        let body = &summary[at + opened.len()..];
        let Some(end) = body.find(&tags::close_tag(meta)) else {
            return Some("its tag is not closed".into());
        };
        let lines = body[..end].strip_prefix(&tags::trimmed_note((meta, items)));
        let Some(lines) = lines else { return Some("it is trimmed without a note".into()) };
        return (!is_trimmed_from(lines, items))
            .then(|| "a line of it is neither verbatim nor a marked cut".into());
    }
    let emptied = tags::emptied_numbers(summary).any(|numbers| numbers.contains(&meta.n));
    (!emptied).then(|| "it is neither whole nor marked as trimmed".to_owned())
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
