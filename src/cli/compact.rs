//! `pi-stet compact SESSION`.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::{CompactArgs, input, output};
use crate::error::{Error, Result};
use crate::session::{Branch, Detail, Leaf, Reading, Session, cut, cut::Cut};
use crate::text::{byte_size, estimate_tokens, grouped, iso_time};
use crate::verbatim::{self, Request, wording};

pub fn run(args: &CompactArgs) -> Result<()> {
    let start = Instant::now();
    if args.session.as_os_str() == "-" {
        let bytes = input::stdin()?;
        print(args, &Session::from_jsonl(&bytes, Reading::Recover)?, start)
    } else {
        print(
            args,
            &Session::open(&args.session, Reading::Recover)?,
            start,
        )
    }
}

fn print(args: &CompactArgs, session: &Session, start: Instant) -> Result<()> {
    let leaf = args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id);
    let branch = session.branch(&leaf)?;
    let cut = match &args.first_kept {
        Some(id) => given_cut(&branch, id)?,
        None => cut::find(&branch, args.keep_recent_tokens)?,
    };
    let request = Request {
        first_kept: cut.first_kept,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        words: None,
        at: &now(),
        cwd: &session.header.cwd,
    };
    let compacted = verbatim::compact(&branch, &request)?.ok_or_else(|| {
        Error::NothingToCompact("the first kept entry is the first one of the context".into())
    })?;
    figures(session, &branch, &cut, &compacted, start);
    if args.json {
        let kept = branch.get(cut.first_kept).map(|entry| session.id(entry));
        let value = json!({
            "summary": compacted.summary,
            "firstKeptEntryId": kept,
            "tokensBefore": cut.tokens_before,
            "details": compacted.details,
        });
        return output::stdout(&format!("{value}\n"));
    }
    output::stdout(&(compacted.summary + "\n"))
}

fn given_cut(branch: &Branch, id: &str) -> Result<Cut> {
    let first_kept = branch
        .position(id)
        .ok_or_else(|| Error::NoSuchEntry(id.to_owned()))?;
    let context = crate::session::projection::Projection::of(branch)?;
    Ok(Cut {
        first_kept,
        is_split_turn: false,
        tokens_before: cut::context_tokens(&context)?,
    })
}

/// What the command did, for the person at the terminal.
fn figures(
    session: &Session,
    branch: &Branch,
    cut: &Cut,
    compacted: &verbatim::Compacted,
    start: Instant,
) {
    let note = |text: String| output::stderr(&format!("pi-stet: {text}\n"));
    if session.malformed_lines > 0 {
        note(format!(
            "{} damaged lines were passed over",
            session.malformed_lines
        ));
    }
    if let Some(why) = &branch.broken {
        note(why.clone());
    }
    if compacted.mixed_context {
        note(wording::MIXED_CONTEXT_NOTICE.to_owned());
    }
    let tail_from = branch
        .get(cut.first_kept)
        .and_then(|entry| session.read(entry, Detail::Kept).ok()?.timestamp)
        .unwrap_or_else(|| "an unknown time".into());
    note(format!(
        "{} of session, {} entries on the branch; the first {} become a checkpoint of {} characters (about {} tokens)",
        byte_size(session.bytes()),
        grouped(branch.len() as u64),
        grouped(cut.first_kept as u64),
        grouped(compacted.summary.chars().count() as u64),
        grouped(estimate_tokens(&compacted.summary)),
    ));
    note(format!(
        "about {} tokens were in context; what came after {tail_from} stays as it is; {:.1} ms, no model call",
        grouped(cut.tokens_before),
        start.elapsed().as_secs_f64() * 1000.0
    ));
}

fn now() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis())
        .ok()
        .and_then(iso_time)
        .unwrap_or_default()
}
