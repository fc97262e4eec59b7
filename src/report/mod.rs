//! The report: what happened to the context of a session, as plain data ([`data`]) and as a page
//! that draws it ([`page`]).

mod compactions;
mod context;
pub mod data;
mod entries;
pub mod page;
mod parts;
mod room;
mod sizes;
mod spans;
mod strands;

use data::{About, Report};

use crate::error::Result;
use crate::session::{Branch, Kind, Role};
use context::{Edited, Read};
use entries::Entries;

/// What the caller knows besides the session.
pub struct Source<'s> {
    /// The session's path as the person gave it; `None` for standard input.
    pub file: Option<&'s str>,
    pub leaf_given: bool,
    /// Now, ISO 8601.
    pub now: &'s str,
}

/// Gathers what the page shows of a branch and of the file around it.
///
/// Errors: the session changed while it was read.
pub fn collect(branch: &Branch, source: &Source) -> Result<Report> {
    let session = branch.session;
    let mut entries = entries::read(session)?;
    let numbers: Vec<usize> = branch.iter().map(|(_, entry)| entry.index()).collect();
    entries.pair(numbers.iter().copied());
    let strands = strands::strands(branch, &entries.sizes);
    for (number, strand) in strands.of.iter().enumerate() {
        entries.rows[number].strand = *strand;
    }
    for strand in strands.members() {
        entries.pair(strand.into_iter());
    }
    let read = Read { sizes: &entries.sizes, edits: &entries.edits };
    let ids: compactions::Ids =
        session.entries().map(|entry| (session.id(entry), entry.index())).collect();
    let history = context::walk(branch, &read)?;
    let compactions = compactions::collect(branch, &history.steps, &ids)?;
    mark(branch, &mut entries, &history)?;
    for compaction in &compactions {
        // The page shows it part by part.
        entries.rows[compaction.entry].texts.clear();
    }
    entries.fit();
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        made: source.now.to_owned(),
        file: source.file.map(str::to_owned),
        session: About {
            id: session.header.id.clone(),
            cwd: session.header.cwd.clone(),
            format: session.header.version,
            parent: session.header.parent_session.clone(),
            bytes: session.bytes(),
            leaf_given: source.leaf_given,
            damaged_lines: session.malformed_lines,
            broken: branch.broken.clone(),
        },
        entries: entries.rows,
        branch: strands::runs(branch),
        strands: strands.others,
        compactions,
        samples: history.samples,
        now: history.now,
        start: history.start,
        output_chars: entries.output_chars,
        prose_chars: entries.prose_chars,
    })
}

/// Says of each entry what became of it.
fn mark(branch: &Branch, entries: &mut Entries, history: &context::History) -> Result<()> {
    let session = branch.session;
    let number = |position: usize| branch.get(position).map(|entry| entry.index());
    for (at, step) in history.steps.iter().enumerate() {
        for (position, entry) in branch.iter().take(step.at) {
            let row = &mut entries.rows[entry.index()];
            // A compaction's own copy of the prompt replaces the one before it.
            let replaced = session.role(entry) == Role::System
                || (session.kind(entry) == Kind::Compaction && position < step.at);
            if row.out == 0 && (step.range.contains(&position) || replaced) {
                row.out = at + 1;
            }
        }
    }
    for (position, edited) in &history.edited {
        if let Some(number) = number(*position) {
            entries.rows[number].edited = Some(match edited {
                Edited::Omitted => "omitted",
                Edited::Replaced => "replaced",
            });
        }
    }
    let labels = session.labels()?;
    if !labels.is_empty() {
        for row in &mut entries.rows {
            row.label = labels.get(&row.id).cloned();
        }
    }
    Ok(())
}
