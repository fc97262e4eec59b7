//! The one error type. Every text says what is wrong; `hint` says what to do about it.

use std::io;

use crate::text::{clip, visible_line};

const TOLD_CHARS: usize = 600;

/// What can go wrong between an envelope or a command line and its answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the envelope is not usable: {0}")]
    Envelope(String),
    #[error("protocol {0} is not spoken here; this binary speaks protocol 1")]
    Protocol(String),
    #[error("event {0:?} is unknown")]
    UnknownEvent(String),
    #[error("nothing arrived on stdin within {0} ms")]
    StdinSilent(u64),
    #[error("no answer within the deadline of {0} ms")]
    Deadline(u64),
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} is not a Pi session: {why}")]
    NotASession { path: String, why: String },
    #[error("the session is of format version {0}, which this binary does not know")]
    UnknownFormat(String),
    #[error("the session file does not match the call: {0}")]
    SessionStale(String),
    #[error("the session file changed while it was read: {0}")]
    SessionChanged(String),
    #[error("no entry {0:?} on this branch")]
    NoSuchEntry(String),
    /// The answer is no; the text says what was not found.
    #[error("{0}")]
    NotFound(String),
    #[error("nothing to compact: {0}")]
    NothingToCompact(String),
    /// Nothing lies before the entry that somebody chose to keep first.
    #[error("nothing to compact: {0}")]
    NothingBefore(String),
    #[error("{0}")]
    Usage(String),
    #[error("cannot write {path}: {source}")]
    Write { path: String, source: io::Error },
    #[error("the guarantee is broken: {0}")]
    Broken(String),
    #[error("{0} of the checks found a fault")]
    Faults(usize),
    #[error("a defect in pi-stet: {0}")]
    Defect(String),
}

/// With the one [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The stable name of the error in a reply (`error.code`).
    pub fn code(&self) -> &'static str {
        match self {
            Error::Envelope(_) => "bad-envelope",
            Error::Protocol(_) => "wrong-protocol",
            Error::UnknownEvent(_) => "unknown-event",
            Error::StdinSilent(_) => "stdin-silent",
            Error::Deadline(_) => "deadline",
            Error::Read { .. } => "unreadable",
            Error::NotASession { .. } => "not-a-session",
            Error::UnknownFormat(_) => "unknown-format",
            Error::SessionStale(_) => "session-stale",
            Error::SessionChanged(_) => "session-changed",
            Error::NoSuchEntry(_) => "no-such-entry",
            Error::NotFound(_) => "not-found",
            Error::NothingToCompact(_) | Error::NothingBefore(_) => "nothing-to-compact",
            Error::Usage(_) => "usage",
            Error::Write { .. } => "unwritable",
            Error::Broken(_) => "broken",
            Error::Faults(_) => "faults",
            Error::Defect(_) => "defect",
        }
    }

    /// The text as it is told: in one line, with nothing in it that a terminal obeys, and not longer
    /// than somebody reads. What is wrong may be quoted in it, and that can be anything.
    pub fn told(&self) -> String {
        clip(&visible_line(&self.to_string()), TOLD_CHARS).into_owned()
    }

    /// What the reader can do about it, in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Envelope(_) => {
                "send one JSON object as described in protocol/README.md; `pi-stet schema envelope` prints its schema"
            }
            Error::Protocol(_) => "install a pi-stet binary and an extension of the same release",
            Error::UnknownEvent(_) => "`pi-stet manifest` lists the events this binary answers",
            Error::StdinSilent(_) => {
                "write one JSON object to stdin and close it: pi-stet hook < envelope.json"
            }
            Error::Deadline(_) => "report the size of the session; Pi compacts by itself meanwhile",
            Error::Read { .. } => "check that the path exists and may be read",
            Error::NotASession { .. } => {
                "name a session file that Pi wrote; they lie under ~/.pi/agent/sessions"
            }
            Error::UnknownFormat(_) => {
                "update pi-stet; it leaves sessions alone that it cannot read"
            }
            Error::SessionStale(_) => "send the session inline (session.branch) instead of by file",
            Error::SessionChanged(_) => "repeat the call; nothing was written",
            Error::NoSuchEntry(_) => "`pi-stet list SESSION` prints the ids of the branch",
            Error::NotFound(_) => "`pi-stet list SESSION` prints what there is",
            Error::NothingToCompact(_) => {
                "keep fewer tokens with --keep-recent-tokens N, or go on working"
            }
            Error::NothingBefore(_) => "name a later entry with --first-kept ID",
            Error::Usage(_) => "`pi-stet --help` shows every command and option",
            Error::Write { .. } => "check that the folder exists and has room",
            Error::Broken(_) => {
                "the entries themselves are whole: `pi-stet show SESSION ID` prints them; report it if nobody edited the file"
            }
            Error::Faults(_) => "each one names its mend",
            Error::Defect(_) => "report it with the envelope (PI_STET_RECORD writes one)",
        }
    }

    /// The process status of this error (design: 2 bad use or input, 3 nothing to compact, 70 a defect).
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NothingToCompact(_) | Error::NothingBefore(_) => 3,
            Error::NoSuchEntry(_) | Error::NotFound(_) | Error::Broken(_) | Error::Faults(_) => 1,
            Error::Defect(_) => 70,
            _ => 2,
        }
    }
}
