//! `pi-stet verify SESSION`.

use super::{VerifyArgs, input, output};
use crate::error::{Error, Result};
use crate::session::{Leaf, Reading, ids};
use crate::text::{clip, counted, visible_line};
use crate::verify::{self, Report};

/// Of one problem so much is shown.
const LINE_CHARS: usize = 600;

pub fn run(args: &VerifyArgs) -> Result<()> {
    let report = input::with_session(&args.session, Reading::AsPi, |session| {
        let branch = session.branch(&args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id))?;
        verify::verify(&branch, &session.header.cwd)
    })?;
    for problem in &report.problems {
        let line = format!("compaction {}: {}", ids::plain(&problem.compaction), problem.what);
        // A file that is not as it should be may hold anything where ids and names are.
        output::stdout(&format!("{}\n", clip(&visible_line(&line), LINE_CHARS)))?;
    }
    if !report.problems.is_empty() {
        let count = counted(report.problems.len(), "problem", "problems");
        return Err(Error::Broken(format!("{count} in {}", looked_at(&report))));
    }
    if report.verbatim + report.checkpoint == 0 {
        let others = match report.others {
            0 => String::new(),
            n => format!(" ({})", not_judged(n)),
        };
        return output::stdout(&format!(
            "nothing to verify: no compaction of pi-stet on this branch{others}\n"
        ));
    }
    output::stdout(&format!("{}: all of it holds\n", looked_at(&report)))
}

fn looked_at(report: &Report) -> String {
    let mut parts = Vec::new();
    if report.verbatim > 0 {
        parts.push(format!(
            "{}, {} compared with the raw entries",
            counted(report.verbatim, "verbatim compaction", "verbatim compactions"),
            counted(report.items, "line", "lines"),
        ));
    }
    if report.checkpoint > 0 {
        parts.push(format!(
            "{} made again from the raw entries",
            counted(report.checkpoint, "checkpoint compaction", "checkpoint compactions")
        ));
    }
    if report.others > 0 {
        parts.push(not_judged(report.others));
    }
    parts.join("; ")
}

fn not_judged(others: usize) -> String {
    format!("{} by others not judged", counted(others, "compaction", "compactions"))
}
