//! The commands: `/compaction-method`, `/cap-compaction`, `/checkpoint`, `/stet`.

use serde_json::json;

use super::call::Call;
use super::{checkpoint as checkpoints, start};
use crate::checkpoint::{DETAILS_KIND, wording as notices};
use crate::error::{Error, Result};
use crate::json::Fields;
use crate::protocol::envelope::Command;
use crate::protocol::reply::{Effect, Level, Panel, Reply};
use crate::session::{Body, Branch, Detail, Kind};
use crate::settings::{
    Budget, CAP_ENTRY, CHECKPOINT_ENTRY, Cap, CapMode, METHOD_ENTRY, Method, Settings,
};
use crate::status::{Standing, Status};
use crate::text::{beginning, grouped};
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
        "checkpoint" => checkpoint(call, &branch, settings, &words),
        "stet" => {
            let (now, instructions) = (call.now(), call.instructions());
            let status = Status::of(
                &branch,
                &settings,
                checkpoints::find(call, &branch, &settings)?.as_ref(),
                &call.surroundings(&now, &instructions),
            )?;
            let panel = Panel { title: "pi-stet on this branch".to_owned(), rows: status.rows() };
            Ok(Reply::default().show(status.to_string(), panel))
        }
        name => Err(Error::UnknownEvent(format!("command {name}"))),
    }
}

fn method(call: &Call, branch: &Branch, settings: &Settings, words: &[&str]) -> Result<Reply> {
    let mut reply = Reply::default();
    let usage = || {
        let text = "Usage: /compaction-method [verbatim [rebuild] | checkpoint | summary]";
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
        return Ok(switch(reply, settings, method).notify(Level::Info, text));
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
    reply = switch(reply, settings, method);
    reply = reply.notify(Level::Info, format!("Compaction method: {}.", method.name()));
    if method == Method::Verbatim && last_kind(branch)?.as_deref() == Some(DETAILS_KIND) {
        reply = reply.notify(Level::Info, notices::BACK_NOTICE);
    }
    let warning = match method {
        Method::Summary => Some(wording::SUMMARY_NOTICE),
        Method::Checkpoint if settings.method == Method::Verbatim => Some(notices::NOTICE),
        Method::Checkpoint if history.is_mixed() => Some(notices::MIXED_NOTICE),
        Method::Verbatim if history.is_mixed() => Some(wording::MIXED_CONTEXT_NOTICE),
        Method::Checkpoint | Method::Verbatim => None,
    };
    Ok(match warning {
        Some(warning) => reply.notify(Level::Warning, warning),
        None => reply,
    })
}

/// What changes at once with the method.
fn switch(mut reply: Reply, settings: &Settings, method: Method) -> Reply {
    let settings = Settings { method, ..settings.clone() };
    reply.effects.push(checkpoints::switches(&settings));
    start::describe_compact(reply, method)
}

/// `details.kind` of the newest compaction.
fn last_kind(branch: &Branch) -> Result<Option<String>> {
    let session = branch.session;
    let newest = branch.iter().rev().find(|(_, entry)| session.kind(*entry) == Kind::Compaction);
    Ok(match newest {
        Some((_, entry)) => match session.read(entry, Detail::Kept)?.body {
            Body::Compaction(compaction) => {
                compaction.details.as_deref().and_then(Fields::parse).and_then(|d| d.string("kind"))
            }
            _ => None,
        },
        None => None,
    })
}

fn checkpoint(
    call: &Call,
    branch: &Branch,
    mut settings: Settings,
    words: &[&str],
) -> Result<Reply> {
    let reply = Reply::default();
    let on = match words {
        [] => return show_checkpoint(call, branch, &settings),
        ["on"] => true,
        ["off"] => false,
        _ => return Ok(reply.notify(Level::Error, "Usage: /checkpoint [on | off]")),
    };
    let word = if on { "on" } else { "off" };
    let text = match settings.method {
        Method::Verbatim if on => "The model keeps a checkpoint; a fresh one goes into the next compaction, word for word.".to_owned(),
        Method::Verbatim => "The model keeps no checkpoint.".to_owned(),
        Method::Checkpoint => format!("Checkpoint {word} in the verbatim method; in this one the model always keeps one."),
        Method::Summary => format!("Checkpoint {word} in the verbatim method; in this one there is none."),
    };
    if on == settings.checkpoint {
        return Ok(reply.notify(Level::Info, format!("{text} (unchanged)")));
    }
    settings.checkpoint = on;
    let mut reply = save(reply, CHECKPOINT_ENTRY, json!({ "on": on }));
    reply.effects.push(checkpoints::switches(&settings));
    Ok(reply.notify(Level::Info, text))
}

/// How much of a checkpoint a notice shows.
const SHOWN_CHARS: usize = 2000;

fn show_checkpoint(call: &Call, branch: &Branch, settings: &Settings) -> Result<Reply> {
    let Some(found) = checkpoints::find(call, branch, settings)? else {
        let text = match settings.keeps_checkpoint() {
            true => "There is no checkpoint on this branch yet.",
            false => {
                "There is no checkpoint on this branch. /checkpoint on, or /compaction-method checkpoint, has the model keep one."
            }
        };
        return Ok(Reply::default().notify(Level::Info, text));
    };
    let shown = beginning(&found.text, SHOWN_CHARS);
    let mut text = Standing::of(&found, branch)?.to_string();
    if let Some(path) = checkpoints::path(call) {
        text.push_str(&format!("\nfile: {path}"));
    }
    text.push_str(&format!("\n\n{shown}"));
    if shown.len() < found.text.len() {
        let rest = found.text.chars().count() - shown.chars().count();
        text.push_str(&format!("…\n({} more characters)", grouped(rest as u64)));
    }
    Ok(Reply::default().notify(Level::Info, text))
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
