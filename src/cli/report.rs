//! `pi-stet report SESSION -o FILE`: the context map as a page.

use super::{ReportArgs, file, input, output};
use crate::error::Result;
use crate::report::{self, Source, page};
use crate::session::{Leaf, Reading};
use crate::text::{byte_size, counted, visible_line};

pub fn run(args: &ReportArgs) -> Result<()> {
    let to_stdout = args.output.as_os_str() == "-";
    if !to_stdout {
        // Before the work: a session of any size is read for nothing otherwise.
        file::check(&args.output, page::is_ours)?;
    }
    let name = args.session.to_string_lossy();
    let source = Source {
        file: (name != "-").then_some(&*name),
        leaf_given: args.leaf.is_some(),
        now: &input::now(),
    };
    let report = input::with_session(&args.session, Reading::Recover, |session| {
        let branch = session.branch(&args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id))?;
        report::collect(&branch, &source)
    })?;
    let page = page::render(&report)?;
    if to_stdout {
        return output::bytes(&page);
    }
    file::replace(&args.output, &page)?;
    output::stderr(&format!(
        "pi-stet: {}, {}: {}, {}; it holds text of the session\n",
        visible_line(&args.output.to_string_lossy()),
        byte_size(page.len() as u64),
        counted(report.entries.len(), "entry", "entries"),
        counted(report.compactions.len(), "compaction", "compactions"),
    ));
    Ok(())
}
