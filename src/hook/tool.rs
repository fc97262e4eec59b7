//! `tool`: a model calls one of our tools.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::call::Call;
use super::checkpoint_update;
use crate::checkpoint;
use crate::error::{Error, Result};
use crate::json;
use crate::manifest;
use crate::protocol::envelope::{Completion, ToolCall};
use crate::protocol::reply::{Complete, Reply};
use crate::recovery::lookup::{self, Completed, Lookup, Outcome, State, Step};
use crate::recovery::{self, Caller, LOOKUP, TOOLS};
use crate::session::{Branch, Reading, Session};
use crate::settings::Settings;

/// One completion of the lookup's model, in milliseconds.
const COMPLETION_MS: u64 = 300_000;

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: ToolCall = call.payload()?;
    if payload.name == checkpoint::TOOL {
        return checkpoint_update::handle(call, &payload);
    }
    if !TOOLS.contains(&payload.name.as_str()) {
        return Err(Error::UnknownEvent(format!("tool {}", payload.name)));
    }
    let session = call.session_for(Reading::Recover)?;
    let live = call.branch(&session)?;
    let settings = call.settings(Some(&live))?;
    match &settings.lookup_session_file {
        None => search(call, &payload, &settings, &live, &live),
        Some(path) => match other_session(path) {
            Ok(other) => {
                let source = other.branch(&crate::session::Leaf::Last)?;
                search(call, &payload, &settings, &live, &source)
            }
            Err(why) => {
                let text = format!("PI_STET_LOOKUP_SESSION_FILE: {why}");
                Ok(result(&text, json!({ "status": "failed" }), true, None))
            }
        },
    }
}

/// The session that takes the place of the current one as what is searched.
fn other_session(path: &str) -> std::result::Result<Session<'static>, String> {
    let file = Path::new(path);
    if !file.is_absolute() {
        return Err(format!("{path} is not an absolute path."));
    }
    Session::open(file, Reading::Recover).map_err(|error| format!("{}.", error.told()))
}

fn search(
    call: &Call,
    payload: &ToolCall,
    settings: &Settings,
    live: &Branch,
    source: &Branch,
) -> Result<Reply> {
    if payload.name == LOOKUP {
        return look_up(call, payload, settings, live, source);
    }
    let caller = Caller::Model(&payload.name);
    Ok(match recovery::answer(source, &payload.name, &payload.params, caller)? {
        Err(bad) => result(&bad.0, json!({}), true, None),
        Ok(answer) => {
            let is_error = !answer.found && payload.name == recovery::SHOW;
            result(
                &answer.text,
                json!({ "page": answer.page, "pages": answer.pages }),
                is_error,
                None,
            )
        }
    })
}

fn look_up(
    call: &Call,
    payload: &ToolCall,
    settings: &Settings,
    live: &Branch,
    source: &Branch,
) -> Result<Reply> {
    let question = payload.params.get("question").and_then(Value::as_str).unwrap_or_default();
    if question.trim().is_empty() {
        return Ok(result(
            "`question` must say what to look up.",
            json!({ "status": "failed" }),
            true,
            None,
        ));
    }
    let lookup = Lookup {
        source,
        turns: settings.lookup_turns,
        // Of another model than the session's the host says nothing.
        context_window: match settings.lookup_model {
            Some(_) => None,
            None => call.envelope.model.as_ref().and_then(|model| model.context_window),
        }
        .map(|tokens| tokens as u64),
        now_ms: call.now_ms(),
    };
    let step = match call.envelope.state {
        None => {
            let has_model = call.envelope.model.is_some() || settings.lookup_model.is_some();
            let limit = settings.lookup_max_calls;
            lookup.start(live, &payload.tool_call_id, question, limit, has_model)?
        }
        Some(raw) => {
            let state: State = json::read(raw.get(), "state").map_err(Error::Envelope)?;
            lookup.go_on(state, &completed(call.envelope.completion.as_ref()))?
        }
    };
    Ok(match step {
        Step::Done(Outcome { text, status, usage }) => {
            result(&text, json!({ "status": status }), status == "failed", usage)
        }
        Step::Complete { messages, with_tools, state, progress, steps_left } => Reply {
            complete: Some(Complete {
                model: settings.lookup_model.clone(),
                system_prompt: lookup::SYSTEM_PROMPT.to_owned(),
                messages,
                tools: if with_tools { lookup::tools(manifest::parameters) } else { Vec::new() },
                max_tokens: lookup::MAX_TOKENS,
                session_id: call.completion_session(&payload.tool_call_id),
                timeout_ms: COMPLETION_MS,
            }),
            state: serde_json::to_value(state).ok(),
            progress: Some(progress),
            steps_left: u32::try_from(steps_left).ok(),
            ..Reply::default()
        },
    })
}

fn completed(completion: Option<&Completion>) -> Completed<'_> {
    match completion {
        Some(Completion { message: Some(message), .. }) => Completed::Message(message),
        Some(Completion { error: Some(error), .. }) => {
            Completed::Error { kind: &error.kind, message: &error.message }
        }
        _ => Completed::Error { kind: "provider", message: "the host sent no completion" },
    }
}

pub fn result(text: &str, details: Value, is_error: bool, usage: Option<Value>) -> Reply {
    let mut result = Map::new();
    result.insert("content".into(), json!([{ "type": "text", "text": text }]));
    result.insert("details".into(), details);
    if is_error {
        result.insert("isError".into(), json!(true));
    }
    if let Some(usage) = usage {
        result.insert("usage".into(), usage);
    }
    Reply::of_result(&result)
}
