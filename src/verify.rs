//! The guarantee, checked: each compaction of ours is made again from the raw entries and compared
//! with what it says.

use crate::checkpoint::{self, Written, written};
use crate::error::Result;
use crate::json::Fields;
use crate::session::{Body, Branch, Detail, Kind};
use crate::verbatim::{self, verify::Saved};

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
    /// Compactions of the verbatim method.
    pub verbatim: usize,
    /// Items of their spans, compared with the raw entries.
    pub items: usize,
    /// Compactions of the checkpoint method.
    pub checkpoint: usize,
    /// Compactions of Pi and of others, which promise nothing.
    pub others: usize,
    pub problems: Vec<Problem>,
}

/// Checks every compaction of ours on the branch. `cwd` is the working directory of those that do
/// not say theirs.
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
        let details = compaction.details.as_deref().and_then(Fields::parse);
        let kind = details.as_ref().and_then(|details| details.string("kind"));
        let before = branch.until(position);
        let problems = match (kind.as_deref(), &details) {
            (Some(verbatim::details::KIND), Some(details)) => {
                report.verbatim += 1;
                let written = |entry: &str| {
                    let position = before.position(entry);
                    let found = position.map(|position| written::of_message(&before, position));
                    Ok(found.transpose()?.flatten().map(|Written { text, .. }| text))
                };
                let saved = Saved { compaction: &compaction, details, cwd, written: &written };
                let found = verbatim::verify::check(&before, &saved)?;
                report.items += found.items;
                found.problems
            }
            (Some(checkpoint::DETAILS_KIND), Some(details)) => {
                report.checkpoint += 1;
                checkpoint::verify::check(&before, &compaction, details)?
            }
            _ => {
                report.others += 1;
                Vec::new()
            }
        };
        let compaction = branch.session.id(entry);
        let problem = |what| Problem { compaction: compaction.to_owned(), what };
        report.problems.extend(problems.into_iter().map(problem));
    }
    Ok(report)
}
