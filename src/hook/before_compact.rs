//! `session_before_compact`: Pi is about to compact; we answer in the way of the session's method.

use serde_json::value::RawValue;

use super::call::Call;
use super::cap::{self, Decision};
use super::checkpoint as checkpoints;
use crate::checkpoint;
use crate::error::{Error, Result};
use crate::json;
use crate::protocol::envelope::{BeforeCompact, Cut};
use crate::protocol::reply::{Answer, CompactionResult, Effect, Level, Reply};
use crate::session::{Branch, Kind};
use crate::settings::{Method, Settings};
use crate::status::working_state;
use crate::verbatim;

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: BeforeCompact = call.payload()?;
    let cut = call
        .envelope
        .cut
        .as_ref()
        .ok_or_else(|| Error::Envelope("session_before_compact needs a `cut`".into()))?;
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    if settings.method == Method::Summary {
        return Ok(Reply::default());
    }
    // pinet#1005: what ends in a compaction has nothing new to compact.
    if branch.last().is_none_or(|entry| session.kind(entry) == Kind::Compaction) {
        return Ok(Reply::default());
    }
    let first_kept = branch.position(&cut.first_kept_entry_id).ok_or_else(|| {
        Error::SessionStale(format!(
            "the first kept entry {:?} is not on the branch",
            cut.first_kept_entry_id
        ))
    })?;
    let compaction = Compaction { call, payload: &payload, cut, branch: &branch, first_kept };
    let reply = match settings.method {
        Method::Checkpoint => compaction.noted(&settings),
        _ => compaction.verbatim(&settings),
    }?;
    Ok(match &branch.broken {
        Some(why) => {
            reply.notify(Level::Warning, format!("Earlier entries are out of reach: {why}."))
        }
        None => reply,
    })
}

struct Compaction<'c, 'e> {
    call: &'c Call<'e>,
    payload: &'c BeforeCompact,
    cut: &'c Cut,
    branch: &'c Branch<'c, 'c>,
    first_kept: usize,
}

impl Compaction<'_, '_> {
    /// What the user wrote behind `/compact`.
    fn words(&self) -> Option<&str> {
        self.payload.custom_instructions.as_deref().filter(|words| !words.trim().is_empty())
    }

    fn verbatim(&self, settings: &Settings) -> Result<Reply> {
        let Compaction { call, branch, first_kept, .. } = *self;
        let state = match settings.keeps_checkpoint() {
            true => checkpoints::find(call, branch, settings)?,
            false => None,
        };
        let request = verbatim::Request {
            first_kept,
            tokens_before: self.cut.tokens_before,
            trigger: &self.payload.reason,
            words: self.words(),
            at: &call.now(),
            cwd: call.cwd(),
            instructions: &call.instructions(),
            working_state: working_state(branch, settings, state.as_ref(), first_kept)?,
        };
        let Some(mut draft) = verbatim::draft(branch, &request)? else {
            return Ok(Reply::default());
        };
        let (limit, effects) = match cap::decide(call, settings, &mut draft, &self.payload.reason)?
        {
            Decision::Go { limit, effects } => (limit, effects),
            Decision::Stop(reply) => return Ok(*reply),
        };
        let compacted = draft.finish(limit.map(|limit| (limit, settings.trim_to)))?;
        let reply = self.answer(compacted.summary, compacted.details, effects);
        // The process ends with this reply; to give back thousands of texts one by one takes longer.
        std::mem::forget(draft);
        Ok(reply)
    }

    fn noted(&self, settings: &Settings) -> Result<Reply> {
        let Compaction { call, branch, first_kept, .. } = *self;
        if self.words().is_some() {
            let text = checkpoint::wording::INSTRUCTIONS_NOTICE;
            return Ok(Reply::default().notify(Level::Warning, text));
        }
        let found = checkpoints::find(call, branch, settings)?;
        let request = checkpoint::Request {
            first_kept,
            is_split_turn: self.cut.is_split_turn,
            tokens_before: self.cut.tokens_before,
            trigger: &self.payload.reason,
            at: &call.now(),
            cwd: call.cwd(),
        };
        Ok(match checkpoint::compact(branch, found.as_ref(), &request)? {
            Some(compacted) => self.answer(compacted.summary, compacted.details, Vec::new()),
            None => Reply::default(),
        })
    }

    fn answer(&self, summary: String, details: Box<RawValue>, effects: Vec<Effect>) -> Reply {
        let compaction = CompactionResult {
            summary,
            first_kept_entry_id: self.cut.first_kept_entry_id.clone(),
            tokens_before: json::number(self.cut.tokens_before),
            details,
        };
        Reply { result: Some(Answer::Compaction { compaction }), effects, ..Reply::default() }
    }
}
