//! `pi-stet verify SESSION`.

use super::{VerifyArgs, input, output};
use crate::error::{Error, Result};
use crate::session::{Leaf, Reading};
use crate::text::counted;
use crate::verbatim::verify;

pub fn run(args: &VerifyArgs) -> Result<()> {
    let report = input::with_session(&args.session, Reading::AsPi, |session| {
        let branch = session.branch(&args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id))?;
        verify::verify(&branch, &session.header.cwd)
    })?;
    if report.compactions == 0 {
        return output::stdout("nothing to verify: no verbatim compaction on this branch\n");
    }
    let looked_at = format!(
        "{}, {} compared with the raw entries",
        counted(report.compactions, "verbatim compaction", "verbatim compactions"),
        counted(report.items, "line", "lines"),
    );
    for problem in &report.problems {
        output::stdout(&format!("compaction {}: {}\n", problem.compaction, problem.what))?;
    }
    if !report.problems.is_empty() {
        let count = counted(report.problems.len(), "problem", "problems");
        return Err(Error::Broken(format!("{count} in {looked_at}")));
    }
    output::stdout(&format!("{looked_at}: all of it holds\n"))
}
