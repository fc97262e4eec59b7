//! What the host registers for this binary.

use crate::protocol::PROTOCOL;
use crate::protocol::manifest::{Command, Hook, Limits, Manifest};

/// From start to reply. Pi waits for us, so the bound is hard (see `cli::watchdog`).
pub const DEADLINE_MS: u64 = 20_000;
/// Until the envelope has arrived.
pub const STDIN_MS: u64 = 5_000;
/// The host ends the process a little after its own deadline.
const HOST_TIMEOUT_MS: u64 = DEADLINE_MS + 2_000;
const REPLY_BYTES: u64 = 256 << 20;

pub fn manifest() -> Manifest {
    Manifest {
        protocol: PROTOCOL,
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        limits: Limits { deadline_ms: DEADLINE_MS, stdin_ms: STDIN_MS, reply_bytes: REPLY_BYTES },
        hooks: vec![
            hook("session_start", true),
            hook("session_tree", true),
            hook("session_before_compact", true),
            hook("session_compact", true),
            hook("session_compact_failed", false),
        ],
        tools: Vec::new(),
        commands: vec![
            command(
                "compaction-method",
                "Show or choose how this session is compacted: verbatim, or Pi's summary",
                &[&["verbatim", "summary"], &["rebuild"]],
            ),
            command(
                "cap-compaction",
                "Show or set the size guard of checkpoints: warn, on or off, and a budget",
                &[&["warn", "on", "off", "25%", "80000c", "20000t"], &["25%", "80000c", "20000t"]],
            ),
            command("stet", "Show what pi-stet does on this branch", &[]),
        ],
        prompt_sections: Vec::new(),
        message_types: Vec::new(),
    }
}

fn hook(event: &str, session: bool) -> Hook {
    Hook { event: event.to_owned(), session, when: None, timeout_ms: HOST_TIMEOUT_MS, active: true }
}

fn command(name: &str, description: &str, completions: &[&[&str]]) -> Command {
    let words = |place: &&[&str]| place.iter().map(|word| (*word).to_owned()).collect();
    Command {
        name: name.to_owned(),
        description: description.to_owned(),
        completions: completions.iter().map(words).collect(),
        session: true,
        timeout_ms: HOST_TIMEOUT_MS,
    }
}
