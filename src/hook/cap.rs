//! The size guard's decision, and its dialog with the person.
//!
//! Each step decides anew from the settings: what a step wrote to the branch is there for the next
//! one. `state` only holds which question was asked last.

use serde_json::{Value, json};

use super::call::Call;
use crate::error::Result;
use crate::json::Fields;
use crate::protocol::envelope::Answer;
use crate::protocol::reply::{Ask, AskKind, Effect, Level, Reply};
use crate::settings::{Budget, CAP_ENTRY, Cap, CapMode, Limit, Settings};
use crate::text::grouped;
use crate::verbatim::Draft;

pub enum Decision {
    /// Compact; what is over the limit, if there is one, is trimmed.
    Go { limit: Option<Limit>, effects: Vec<Effect> },
    /// Ask first, or cancel.
    Stop(Box<Reply>),
}

const APPLY: &str = "Apply the cap this time";
const ALWAYS: &str = "Apply the cap from now on";
const DISABLE: &str = "Turn the cap off for this session";
const CHANGE: &str = "Change the budget";
const CANCEL: &str = "Cancel the compaction";

/// Questions that one compaction may ask at most.
const MAX_QUESTIONS: u64 = 32;

/// Errors: the session changed while it was read.
pub fn decide(
    call: &Call,
    settings: &Settings,
    draft: &mut Draft,
    reason: &str,
) -> Result<Decision> {
    let mut dialog = Dialog { call, settings, draft, reason, effects: Vec::new(), asked: 0 };
    let Some(state) = call.envelope.state.and_then(|raw| Fields::parse(raw.get())) else {
        return dialog.check(settings.cap);
    };
    dialog.asked = state.number("asked").unwrap_or(0.0) as u64;
    let answer = call.envelope.answers.get(&question_id(dialog.asked)).cloned().unwrap_or_default();
    match state.string("question").as_deref() {
        Some("budget") => dialog.budget_answered(&answer),
        _ => dialog.choice_answered(&answer),
    }
}

struct Dialog<'d, 'b, 'e> {
    call: &'d Call<'e>,
    settings: &'d Settings,
    draft: &'d mut Draft<'b>,
    reason: &'d str,
    effects: Vec<Effect>,
    asked: u64,
}

fn question_id(number: u64) -> String {
    format!("cap-{number}")
}

fn notify(level: Level, message: String) -> Effect {
    Effect::Notify { level, message, panel: None }
}

impl Dialog<'_, '_, '_> {
    /// What the cap asks for, before anybody is asked.
    fn check(mut self, cap: Cap) -> Result<Decision> {
        if cap.mode == CapMode::Off {
            return Ok(self.go(None));
        }
        let window = self.call.envelope.model.as_ref().and_then(|model| model.context_window);
        let Some(limit) = cap.budget.limit(window) else {
            let text = format!(
                "Compaction cancelled: the cap is {}, and the model's context window is not known. /cap-compaction off, or a budget such as 80000c, lets it go on.",
                cap.budget
            );
            return Ok(self.cancel(vec![notify(Level::Error, text)]));
        };
        if let Some(size) = self.draft.fixed_over(limit) {
            let text = format!(
                "What the checkpoint must keep (an earlier summary, retained reads, pinned entries) takes {} of a budget of {}; it is kept whole.",
                grouped(size),
                cap.budget
            );
            self.effects.push(notify(Level::Warning, text));
        }
        if !self.draft.is_over(limit)? {
            return Ok(self.go(Some(limit)));
        }
        Ok(match cap.mode {
            CapMode::On | CapMode::Off => self.go(Some(limit)),
            CapMode::Warn if self.call.envelope.host.has_ui => self.ask_choice(cap),
            CapMode::Warn => {
                let text = format!(
                    "The checkpoint was trimmed to {}; what was cut is still in the session.",
                    cap.budget
                );
                self.effects.push(notify(Level::Warning, text));
                self.go(Some(limit))
            }
        })
    }

    fn choice_answered(mut self, answer: &Answer) -> Result<Decision> {
        let mut cap = self.settings.cap;
        if answer.timed_out {
            let text = format!(
                "Nobody answered within {} s: the checkpoint was trimmed to {}.",
                self.settings.ask_seconds, cap.budget
            );
            self.effects.push(notify(Level::Warning, text));
            return Ok(self.apply(cap));
        }
        match answer.value.as_ref().and_then(Value::as_str) {
            Some(APPLY) => Ok(self.apply(cap)),
            Some(ALWAYS) => {
                cap.mode = CapMode::On;
                self.save(cap);
                Ok(self.apply(cap))
            }
            Some(DISABLE) => {
                cap.mode = CapMode::Off;
                self.save(cap);
                self.check(cap)
            }
            Some(CHANGE) => Ok(self.ask_budget(cap, Vec::new())),
            _ => Ok(self.cancel(Vec::new())),
        }
    }

    fn budget_answered(mut self, answer: &Answer) -> Result<Decision> {
        let mut cap = self.settings.cap;
        if answer.timed_out {
            return self.choice_answered(answer);
        }
        let Some(text) = answer.value.as_ref().and_then(Value::as_str) else {
            return Ok(self.cancel(Vec::new()));
        };
        match Budget::parse(text.trim()) {
            Some(budget) => {
                cap.budget = budget;
                self.save(cap);
                self.check(cap)
            }
            None => {
                let text = format!("{text:?} is no budget; write one of {}.", Budget::SYNTAX);
                Ok(self.ask_budget(cap, vec![notify(Level::Error, text)]))
            }
        }
    }

    fn save(&mut self, cap: Cap) {
        self.effects
            .push(Effect::AppendEntry { custom_type: CAP_ENTRY.into(), data: cap.to_json() });
    }

    /// The person has decided; a share of an unknown window was turned away before.
    fn apply(self, cap: Cap) -> Decision {
        let window = self.call.envelope.model.as_ref().and_then(|model| model.context_window);
        let limit = cap.budget.limit(window);
        self.go(limit)
    }

    fn go(self, limit: Option<Limit>) -> Decision {
        Decision::Go { limit, effects: self.effects }
    }

    fn cancel(mut self, effects: Vec<Effect>) -> Decision {
        self.effects.extend(effects);
        let answer = Reply::of_result(&json!({ "cancel": true }));
        let reply = Reply { effects: self.effects, ..answer };
        Decision::Stop(Box::new(reply))
    }

    fn ask_choice(self, cap: Cap) -> Decision {
        let risk = match self.reason {
            "overflow" => "The context has overflowed: without a compaction the run cannot go on.",
            _ => "Without the cap the checkpoint keeps everything and takes more of the context.",
        };
        let title = format!("The checkpoint is larger than its budget ({}). {risk}", cap.budget);
        let options = [APPLY, ALWAYS, DISABLE, CHANGE, CANCEL].map(str::to_owned).to_vec();
        self.ask("choice", AskKind::Select, title, Some(options))
    }

    fn ask_budget(mut self, cap: Cap, effects: Vec<Effect>) -> Decision {
        self.effects.extend(effects);
        let title = format!("New budget: {}. Now {}.", Budget::SYNTAX, cap.budget);
        self.ask("budget", AskKind::Input, title, None)
    }

    fn ask(
        self,
        question: &str,
        kind: AskKind,
        title: String,
        options: Option<Vec<String>>,
    ) -> Decision {
        let asked = self.asked + 1;
        if asked > MAX_QUESTIONS {
            return self.cancel(vec![notify(
                Level::Error,
                "Compaction cancelled: too many answers that were no budget.".into(),
            )]);
        }
        let ask = Ask {
            id: question_id(asked),
            kind,
            title,
            message: None,
            options,
            timeout_ms: self.settings.ask_seconds * 1000,
        };
        let reply = Reply {
            ask: Some(ask),
            effects: self.effects,
            state: Some(json!({ "question": question, "asked": asked })),
            steps_left: u32::try_from(MAX_QUESTIONS - asked + 1).ok(),
            ..Reply::default()
        };
        Decision::Stop(Box::new(reply))
    }
}
