//! The commands: `/compaction-method`, `/cap-compaction`, `/stet`.

use serde_json::json;

use super::call::Call;
use super::start;
use crate::error::{Error, Result};
use crate::protocol::envelope::Command;
use crate::protocol::reply::{Effect, Level, Reply};
use crate::session::Branch;
use crate::settings::{Budget, CAP_ENTRY, Cap, CapMode, METHOD_ENTRY, Method, Settings};
use crate::status::Status;
use crate::verbatim::{history, wording};

pub fn handle(call: &Call) -> Result<Reply> {
    let payload: Command = call.payload()?;
    let session = call.session()?;
    let branch = call.branch(&session)?;
    let settings = call.settings(Some(&branch))?;
    let words: Vec<&str> = payload.args.split_whitespace().collect();
    match payload.name.as_str() {
        "compaction-method" => method(call, &branch, &settings, &words),
        "cap-compaction" => Ok(cap(&settings, &words)),
        "stet" => {
            let (now, instructions) = (call.now(), call.instructions());
            let status = Status::of(&branch, &settings, &call.surroundings(&now, &instructions))?;
            Ok(Reply::default().notify(Level::Info, status.to_string()))
        }
        name => Err(Error::UnknownEvent(format!("command {name}"))),
    }
}

fn method(call: &Call, branch: &Branch, settings: &Settings, words: &[&str]) -> Result<Reply> {
    let mut reply = Reply::default();
    let usage = || {
        let text = "Usage: /compaction-method [verbatim [rebuild] | summary]";
        Ok(Reply::default().notify(Level::Error, text))
    };
    let (name, rebuild) = match words {
        [] => {
            let text = format!(
                "Compaction method: {} (from {}).",
                settings.method.name(),
                settings.method_origin.name()
            );
            return Ok(reply.notify(Level::Info, text));
        }
        [name] => (*name, false),
        ["verbatim", "rebuild"] => ("verbatim", true),
        _ => return usage(),
    };
    let Some(method) = Method::of_name(name) else {
        return usage();
    };
    let history = history::outline(branch, call.cwd())?;
    if rebuild && let Some(base) = history.base_in_context() {
        let text = format!(
            "At the next compaction the {} on this branch is replaced by the entries it stood for, word for word.",
            base.kind.describe()
        );
        let asked_before = history.base.is_none() && settings.method == method;
        let reply = match asked_before {
            true => reply,
            false => save(reply, METHOD_ENTRY, json!({ "method": "verbatim", "rebuild": true })),
        };
        return Ok(start::describe_compact(reply, method).notify(Level::Info, text));
    }
    if rebuild {
        let text = "There is nothing to rebuild: this branch carries no summary of another method.";
        reply = reply.notify(Level::Info, text);
    }
    if method == settings.method {
        if rebuild {
            return Ok(reply);
        }
        return Ok(
            reply.notify(Level::Info, format!("Compaction method: {} (unchanged).", method.name()))
        );
    }
    reply = save(reply, METHOD_ENTRY, json!({ "method": method.name() }));
    reply = start::describe_compact(reply, method);
    reply = reply.notify(Level::Info, format!("Compaction method: {}.", method.name()));
    Ok(match method {
        Method::Summary => reply.notify(Level::Warning, wording::SUMMARY_NOTICE),
        Method::Verbatim if history.is_mixed() => {
            reply.notify(Level::Warning, wording::MIXED_CONTEXT_NOTICE)
        }
        Method::Verbatim => reply,
    })
}

fn cap(settings: &Settings, words: &[&str]) -> Reply {
    let reply = Reply::default();
    let mut cap = settings.cap;
    let fits = match words {
        [] => {
            let text = format!("Cap: {cap} (from {}).", settings.cap_origin.name());
            return reply.notify(Level::Info, text);
        }
        [word] => set_mode(&mut cap, word) || set_budget(&mut cap, word),
        [mode, budget] => set_mode(&mut cap, mode) && set_budget(&mut cap, budget),
        _ => false,
    };
    if !fits {
        let text = format!(
            "Usage: /cap-compaction [{}] [BUDGET]; a budget is one of {}.",
            CapMode::NAMES.join(" | "),
            Budget::SYNTAX
        );
        return reply.notify(Level::Error, text);
    }
    if cap == settings.cap {
        return reply.notify(Level::Info, format!("Cap: {cap} (unchanged)."));
    }
    save(reply, CAP_ENTRY, cap.to_json()).notify(Level::Info, format!("Cap: {cap}."))
}

fn set_mode(cap: &mut Cap, word: &str) -> bool {
    CapMode::of_name(word).map(|mode| cap.mode = mode).is_some()
}

fn set_budget(cap: &mut Cap, word: &str) -> bool {
    Budget::parse(word).map(|budget| cap.budget = budget).is_some()
}

fn save(mut reply: Reply, custom_type: &str, data: serde_json::Value) -> Reply {
    reply.effects.push(Effect::AppendEntry { custom_type: custom_type.into(), data });
    reply
}
