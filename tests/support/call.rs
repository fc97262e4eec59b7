//! Calls of the hook: an envelope, in either form of the session, and what comes back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::expect::path_to;
use super::session::Session;
use super::text::wire;

/// 2026-01-06T00:00:00.000Z: the present of every call.
pub const NOW_MS: i64 = 1_767_657_600_000;

/// An envelope without its session, and the session in both forms.
pub struct Call {
    pub envelope: Value,
    session: Session,
}

impl Call {
    pub fn new(event: &str, session: &Session) -> Call {
        let envelope = json!({
            "protocol": 1,
            "event": event,
            "host": { "name": "pi", "version": "1.6.0", "mode": "rpc", "hasUI": false },
            // So large that no default of ours comes near it.
            "model": { "provider": "fake", "id": "fake-1", "contextWindow": 1_000_000_000 },
            "now": NOW_MS,
            "payload": {},
        });
        Call { envelope, session: session.clone() }
    }

    /// Pi is about to compact and keeps what follows from `kept` on.
    pub fn compact(session: &Session, kept: &str) -> Call {
        Call::new("session_before_compact", session)
            .with("cut", json!({ "firstKeptEntryId": session.id_of(kept), "isSplitTurn": false, "tokensBefore": 50_000 }))
            .with("payload", json!({ "reason": "manual", "willRetry": false }))
    }

    pub fn with(mut self, field: &str, value: Value) -> Call {
        self.envelope[field] = value;
        self
    }

    pub fn without(mut self, field: &str) -> Call {
        self.envelope.as_object_mut().expect("an envelope").remove(field);
        self
    }

    pub fn reason(mut self, reason: &str) -> Call {
        self.envelope["payload"]["reason"] = reason.into();
        self
    }

    /// What the user wrote behind `/compact`.
    pub fn words(mut self, words: &str) -> Call {
        self.envelope["payload"]["customInstructions"] = words.into();
        self
    }

    pub fn inline_bytes(&self) -> Vec<u8> {
        let branch = path_to(&self.session, self.session.leaf_id());
        self.bytes_with(json!({
            "id": self.session.id, "cwd": self.session.cwd, "branch": branch, "labels": self.session.labels(),
        }))
    }

    pub fn reference_bytes(&self, file: &Path) -> Vec<u8> {
        self.bytes_with(json!({
            "id": self.session.id, "cwd": self.session.cwd, "file": file, "leafId": self.session.leaf_id(),
        }))
    }

    /// With a session field of one's own.
    pub fn bytes_with(&self, session: Value) -> Vec<u8> {
        let mut envelope = self.envelope.clone();
        envelope["session"] = session;
        wire(&envelope.to_string()).into_bytes()
    }

    pub fn inline(&self) -> Value {
        answer(&self.inline_bytes())
    }

    pub fn by_reference(&self) -> Value {
        let file = TempSession::of(&self.session);
        answer(&self.reference_bytes(file.path()))
    }

    /// By reference and inline, which must agree.
    pub fn both(&self) -> Value {
        let (reference, inline) = (self.by_reference(), self.inline());
        assert_eq!(reference, inline, "by reference (left) and inline (right)");
        reference
    }

    /// The summary of the compaction in the reply.
    pub fn summary(&self) -> String {
        let reply = self.both();
        let summary = reply["result"]["compaction"]["summary"].as_str();
        summary.unwrap_or_else(|| panic!("the reply has no compaction: {reply}")).to_owned()
    }
}

/// The library's reply to an envelope, as it goes to stdout.
pub fn answer(envelope: &[u8]) -> Value {
    match pi_stet::hook::answer(envelope) {
        Ok(reply) => serde_json::to_value(&reply).expect("a reply is JSON"),
        Err(error) => panic!("no usable envelope: {error}"),
    }
}

/// A session in a file that goes away by itself.
pub struct TempSession(NamedTempFile);

impl TempSession {
    pub fn of(session: &Session) -> TempSession {
        TempSession::of_bytes(&session.jsonl())
    }

    pub fn of_bytes(bytes: &[u8]) -> TempSession {
        let mut file =
            tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a temporary file");
        file.write_all(bytes).expect("room for the session");
        TempSession(file)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The built binary.
pub fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_pi-stet").into()
}

pub struct Output {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The hook's reply when it may have so much memory of its own and no more, if it has one then.
pub fn reply_within(megabytes: u32, envelope: &[u8]) -> Option<Value> {
    let kilobytes = (megabytes * 1024).to_string();
    let script = "ulimit -d \"$0\" && exec \"$1\" hook";
    let mut child = Command::new("sh")
        .args(["-c", script, &kilobytes])
        .arg(binary())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = envelope.to_vec();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    output
        .status
        .success()
        .then(|| serde_json::from_slice(&output.stdout).expect("the reply is JSON"))
}

/// Runs the binary with these arguments and this stdin. No variable of ours reaches it.
pub fn run(arguments: &[&str], stdin: &[u8], folder: &Path) -> Output {
    run_with(&[], arguments, stdin, folder)
}

/// The same with these variables.
pub fn run_with(
    variables: &[(&str, &str)],
    arguments: &[&str],
    stdin: &[u8],
    folder: &Path,
) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(folder);
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("PI_") || name.starts_with("MECH_COMPACT"))
    {
        command.env_remove(name);
    }
    let mut child = command
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = stdin.to_vec();
    // The program may end without reading; then the pipe breaks, which is its right.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("the writer ends");
    Output {
        status: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}
