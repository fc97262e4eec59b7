//! `pi-stet compact SESSION`.

use std::time::Instant;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{CompactArgs, input, output};
use crate::checkpoint::{self, Files, Tier, source};
use crate::error::{Error, Result};
use crate::session::{Branch, Detail, Leaf, Reading, Session, cut, cut::Cut};
use crate::settings::{Budget, Limit};
use crate::text::{byte_size, estimate_tokens, grouped};
use crate::verbatim::{self, Request, wording};

pub fn run(args: &CompactArgs) -> Result<()> {
    let start = Instant::now();
    input::with_session(&args.session, Reading::Recover, |session| print(args, session, start))
}

fn print(args: &CompactArgs, session: &Session, start: Instant) -> Result<()> {
    let leaf = args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id);
    let branch = session.branch(&leaf)?;
    let cut = match &args.first_kept {
        Some(id) => given_cut(&branch, id)?,
        None => cut::find(&branch, args.keep_recent_tokens)?,
    };
    let made = match args.method.as_str() {
        "checkpoint" => from_checkpoint(&branch, &cut)?,
        _ => verbatim(args, &branch, &cut)?,
    };
    figures(&branch, &cut, &made, start);
    if args.json {
        let kept = branch.get(cut.first_kept).map(|entry| session.id(entry));
        return output::json_line(&Printed {
            summary: &made.summary,
            first_kept_entry_id: kept,
            tokens_before: cut.tokens_before,
            details: &made.details,
        });
    }
    output::stdout(&(made.summary + "\n"))
}

/// What `--json` prints: the fields that Pi wants from a compaction.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    summary: &'a str,
    first_kept_entry_id: Option<&'a str>,
    tokens_before: u64,
    details: &'a RawValue,
}

struct Made {
    summary: String,
    details: Box<RawValue>,
    /// What a person should know about it.
    remark: Option<&'static str>,
}

fn verbatim(args: &CompactArgs, branch: &Branch, cut: &Cut) -> Result<Made> {
    let request = Request {
        first_kept: cut.first_kept,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        words: None,
        at: &input::now(),
        cwd: &branch.session.header.cwd,
        instructions: &[],
        working_state: None,
    };
    let mut draft = verbatim::draft(branch, &request)?.ok_or_else(|| {
        Error::NothingToCompact("the first kept entry is the first one of the context".into())
    })?;
    let compacted = draft.finish(args.limit()?)?;
    Ok(Made {
        remark: draft.is_mixed().then_some(wording::MIXED_CONTEXT_NOTICE),
        summary: compacted.summary,
        details: compacted.details,
    })
}

/// The command line knows the session alone; a checkpoint in a file is not looked for.
fn from_checkpoint(branch: &Branch, cut: &Cut) -> Result<Made> {
    let cwd = &branch.session.header.cwd;
    let request = checkpoint::Request {
        first_kept: cut.first_kept,
        is_split_turn: cut.is_split_turn,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        at: &input::now(),
        cwd,
    };
    let found = source::find(branch, cwd, 0, Files::default)?;
    let compacted = checkpoint::compact(branch, found.as_ref(), &request)?.ok_or_else(|| {
        Error::NothingToCompact("there is no checkpoint, and nothing to make a digest of".into())
    })?;
    let remark = match (&found, compacted.tier) {
        (None, _) => "the branch has no checkpoint; a digest stands in its place",
        (_, Tier::Digested) => "the checkpoint is older than the work; a digest stands beside it",
        (_, Tier::Covered) => "the checkpoint covers all work that is taken out",
    };
    Ok(Made { summary: compacted.summary, details: compacted.details, remark: Some(remark) })
}

impl CompactArgs {
    /// The cap's limit, and how far to trim what is over it.
    fn limit(&self) -> Result<Option<(Limit, f64)>> {
        let Some(text) = self.cap.as_deref().filter(|text| *text != "off") else {
            return Ok(None);
        };
        let budget = Budget::parse(text).ok_or_else(|| {
            Error::Usage(format!("--cap {text:?} is none of: off, {}", Budget::SYNTAX))
        })?;
        let limit =
            budget.limit(self.context_window.map(|window| window as f64)).ok_or_else(|| {
                Error::Usage(format!(
                    "--cap {text} is a share of a window that is not known: give --context-window N"
                ))
            })?;
        Ok(Some((limit, 100.0)))
    }
}

fn given_cut(branch: &Branch, id: &str) -> Result<Cut> {
    let first_kept = branch.position(id).ok_or_else(|| Error::NoSuchEntry(id.to_owned()))?;
    let context = crate::session::projection::Projection::of(branch)?;
    Ok(Cut { first_kept, is_split_turn: false, tokens_before: cut::context_tokens(&context)? })
}

/// What the command did, for the person at the terminal.
fn figures(branch: &Branch, cut: &Cut, made: &Made, start: Instant) {
    let session = branch.session;
    let note = |text: String| output::stderr(&format!("pi-stet: {text}\n"));
    if let Some(why) = &branch.broken {
        note(why.clone());
    }
    if let Some(remark) = made.remark {
        note(remark.to_owned());
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
        grouped(made.summary.chars().count() as u64),
        grouped(estimate_tokens(&made.summary)),
    ));
    note(format!(
        "about {} tokens were in context; what came after {tail_from} stays as it is; {:.1} ms, no model call",
        grouped(cut.tokens_before),
        start.elapsed().as_secs_f64() * 1000.0
    ));
}
