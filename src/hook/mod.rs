//! One file per event: an envelope in, a reply out. No rule about compaction lives here; a handler
//! opens what it needs, asks a room of the floor below, and puts the answer into a reply.

mod before_agent_start;
mod before_compact;
mod call;
mod cap;
mod checkpoint;
mod checkpoint_update;
mod command;
mod compact_failed;
mod compacted;
mod context_with_system;
mod start;
mod tool;
mod turn_end;

use crate::error::{Error, Result};
use crate::json;
use crate::protocol::PROTOCOL;
use crate::protocol::envelope::Envelope;
use crate::protocol::reply::{Level, Reply, Resolved};
use call::Call;

/// Answers one envelope. Every failure becomes an error reply; the `Err` side is the same reply
/// for envelopes that were not usable at all.
pub fn answer(bytes: &[u8]) -> std::result::Result<Reply, Error> {
    let text = json::mend(bytes);
    let envelope = parse(&text)?;
    let record = envelope.record;
    let call = Call::new(envelope);
    let mut reply = match handle(&call) {
        Ok(reply) => reply,
        // A session that we cannot read is Pi's to handle; the person should know why we stay out.
        Err(error @ Error::UnknownFormat(_)) => {
            Reply::default().notify(Level::Warning, format!("{}; {}", error.told(), error.hint()))
        }
        Err(error) => Reply::of_error(&mend(error, &call)),
    };
    if record {
        let settings = call.resolved_settings();
        reply.resolved = Some(Resolved { settings, files: call.files() });
    }
    Ok(reply)
}

/// Whatever is wrong with a file, the host has the session in memory: it can hand that over.
fn mend(error: Error, call: &Call) -> Error {
    match error {
        Error::NotASession { .. } | Error::SessionChanged(_) | Error::Read { .. }
            if call.is_by_reference() =>
        {
            Error::SessionStale(error.to_string())
        }
        error => error,
    }
}

fn parse(text: &str) -> Result<Envelope<'_>> {
    if text.trim().is_empty() {
        return Err(Error::Envelope("stdin was empty".into()));
    }
    // An array would pass: serde reads it as the fields in their order.
    if !text.trim_start().starts_with('{') {
        return Err(Error::Envelope("expected an object".into()));
    }
    // The version first: an envelope of another one may differ in everything else.
    if let Some(raw) = json::Fields::parse(text).and_then(|fields| fields.raw("protocol"))
        && raw.get() != PROTOCOL.to_string()
    {
        return Err(Error::Protocol(raw.get().to_owned()));
    }
    json::read(text, "").map_err(Error::Envelope)
}

fn handle(call: &Call) -> Result<Reply> {
    match call.envelope.event.as_str() {
        "session_start" | "session_tree" => start::handle(call),
        "session_before_compact" => before_compact::handle(call),
        "session_compact" => compacted::handle(call),
        "session_compact_failed" => compact_failed::handle(call),
        "turn_end" => turn_end::handle(call),
        "tool" => tool::handle(call),
        "before_agent_start" => before_agent_start::handle(call),
        "context_with_system" => context_with_system::handle(call),
        "command" => command::handle(call),
        event => Err(Error::UnknownEvent(event.to_owned())),
    }
}
