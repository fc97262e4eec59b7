//! `pi-stet compact SESSION`.

use std::time::Instant;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{CompactArgs, input, output};
use crate::checkpoint::{self, Files, Tier, source};
use crate::error::{Error, Result};
use crate::session::{Branch, Detail, Leaf, Reading, Session, cut, cut::Cut};
use crate::settings::{Budget, Cap, CapMode, Limit, Method, Origin, Settings};
use crate::status::working_state;
use crate::text::{byte_size, estimate_tokens, grouped};
use crate::verbatim::{self, Draft, Request, wording};

pub fn run(args: &CompactArgs) -> Result<()> {
    let start = Instant::now();
    let done =
        input::with_session(&args.session, Reading::Recover, |session| print(args, session, start));
    done.map_err(|error| match error {
        Error::NothingToCompact(why) if args.first_kept.is_some() => Error::NothingBefore(why),
        error => error,
    })
}

fn print(args: &CompactArgs, session: &Session, start: Instant) -> Result<()> {
    let leaf = args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id);
    let branch = session.branch(&leaf)?;
    let settings = input::settings(&branch)?;
    let cut = match &args.first_kept {
        Some(id) => given_cut(&branch, id)?,
        None => cut::find(&branch, args.keep_recent_tokens)?,
    };
    let method = args.method.as_deref().and_then(Method::of_name).unwrap_or(settings.method);
    let made = match method {
        Method::Checkpoint => from_checkpoint(&branch, &cut)?,
        Method::Verbatim => verbatim(args, &settings, &branch, &cut)?,
        Method::Summary => {
            return Err(Error::Usage(format!(
                "the method is summary (from {}), which a model writes: give --method verbatim or checkpoint",
                settings.method_origin.name()
            )));
        }
    };
    figures(&branch, &cut, &made, start);
    if args.json {
        let kept = branch.get(cut.first_kept).map(|entry| session.id_in_file(entry)).transpose()?;
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
    first_kept_entry_id: Option<String>,
    tokens_before: u64,
    details: &'a RawValue,
}

struct Made {
    summary: String,
    details: Box<RawValue>,
    /// What a person should know about it.
    remarks: Vec<String>,
}

fn verbatim(args: &CompactArgs, settings: &Settings, branch: &Branch, cut: &Cut) -> Result<Made> {
    let cwd = &branch.session.header.cwd;
    let checkpoint = match settings.keeps_checkpoint() {
        true => source::find(branch, cwd, 0, Files::default)?,
        false => None,
    };
    let request = Request {
        first_kept: cut.first_kept,
        tokens_before: cut.tokens_before as f64,
        trigger: "manual",
        words: None,
        at: &input::now(),
        cwd,
        instructions: &[],
        working_state: working_state(branch, settings, checkpoint.as_ref(), cut.first_kept)?,
    };
    let mut draft = verbatim::draft(branch, &request)?.ok_or_else(|| {
        Error::NothingToCompact("the first kept entry is the first one of the context".into())
    })?;
    let mut remarks = Vec::new();
    let limit = match args.cap {
        Some(_) => args.limit()?,
        None => limit_of(settings, args.context_window, &mut draft, &mut remarks)?,
    };
    let compacted = draft.finish(limit.map(|limit| (limit, settings.trim_to)))?;
    if draft.is_mixed() {
        remarks.push(wording::MIXED_CONTEXT_NOTICE.to_owned());
    }
    Ok(Made { remarks, summary: compacted.summary, details: compacted.details })
}

/// The limit of the cap that holds on the branch.
fn limit_of(
    settings: &Settings,
    context_window: Option<u64>,
    draft: &mut Draft,
    remarks: &mut Vec<String>,
) -> Result<Option<Limit>> {
    let Cap { mode, budget } = settings.cap;
    if mode == CapMode::Off {
        return Ok(None);
    }
    let Some(limit) = budget.limit(context_window.map(|window| window as f64)) else {
        if settings.cap_origin != Origin::Default {
            remarks.push(format!(
                "the cap is {budget} of a window that is not known, so nothing is trimmed; --context-window N says how large it is"
            ));
        }
        return Ok(None);
    };
    if mode == CapMode::On {
        return Ok(Some(limit));
    }
    if draft.is_over(limit)? {
        remarks.push(format!(
            "this is over the cap of {budget}: in Pi you would be asked; --cap {budget} trims it"
        ));
    }
    Ok(None)
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
    let remarks = vec![remark.to_owned()];
    Ok(Made { summary: compacted.summary, details: compacted.details, remarks })
}

impl CompactArgs {
    /// The limit of the cap that was given.
    fn limit(&self) -> Result<Option<Limit>> {
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
        Ok(Some(limit))
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
    made.remarks.iter().for_each(|remark| note(remark.clone()));
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
