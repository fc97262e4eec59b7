//! `pi-stet hook`: whatever happens, one reply stands on stdout before the deadline.

use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::{input, output};
use crate::error::Error;
use crate::hook;
use crate::manifest::{DEADLINE_MS, STDIN_MS};
use crate::protocol::reply::Reply;

/// Status when no usable envelope came or no reply could be written, and after a defect of ours.
const NO_ENVELOPE: u8 = 2;
const DEFECT: u8 = 70;

/// Whoever sets it first writes the reply; there is never a second one.
static REPLIED: AtomicBool = AtomicBool::new(false);

const READING: u8 = 0;
const WORKING: u8 = 1;
static PHASE: AtomicU8 = AtomicU8::new(READING);

pub fn hook() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |at| format!(" at {at}"));
        reply_and_exit(&Error::Defect(format!("it panicked{place}")), DEFECT);
    }));
    std::thread::spawn(watch);
    let bytes = match input::stdin() {
        Ok(bytes) => bytes,
        Err(error) => return finish(&Reply::of_error(&error), NO_ENVELOPE),
    };
    PHASE.store(WORKING, Ordering::SeqCst);
    match hook::answer(&bytes) {
        Ok(reply) => finish(&reply, 0),
        Err(error) => finish(&Reply::of_error(&error), NO_ENVELOPE),
    }
}

/// Ends the process with an error reply when stdin stays silent or the work takes too long.
fn watch() {
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(STDIN_MS));
    if PHASE.load(Ordering::SeqCst) == READING {
        reply_and_exit(&Error::StdinSilent(STDIN_MS), NO_ENVELOPE);
    }
    std::thread::sleep(Duration::from_millis(DEADLINE_MS).saturating_sub(start.elapsed()));
    reply_and_exit(&Error::Deadline(DEADLINE_MS), 0);
}

fn reply_and_exit(error: &Error, status: u8) {
    if !REPLIED.swap(true, Ordering::SeqCst) {
        // The status tells that there is no reply where even this fails.
        let _ = write(&Reply::of_error(error));
        std::process::exit(i32::from(status));
    }
}

fn finish(reply: &Reply, status: u8) -> ExitCode {
    if REPLIED.swap(true, Ordering::SeqCst) {
        // The watchdog is writing; it ends the process.
        loop {
            std::thread::park();
        }
    }
    match write(reply) {
        Ok(()) => ExitCode::from(status),
        Err(error) => {
            output::stderr(&format!("pi-stet: cannot write the reply: {error}\n"));
            ExitCode::from(NO_ENVELOPE)
        }
    }
}

/// A host that went away is told nothing, and that is no error.
fn write(reply: &Reply) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let written = serde_json::to_writer(&mut out, reply).map_err(std::io::Error::from);
    match written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
