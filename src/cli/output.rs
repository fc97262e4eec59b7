//! Writing to the standard streams. A reader that went away (`pi-stet … | head`) is no error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::text::visible;

/// What a session holds may be anything: a terminal gets no controls of it. Into a file or a pipe
/// text goes as it is.
pub fn stdout(text: &str) -> Result<()> {
    match io::stdout().is_terminal() {
        true => bytes(visible(text).as_bytes()),
        false => bytes(text.as_bytes()),
    }
}

pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: "stdout".into(), source: e })
        }
        _ => Ok(()),
    }
}

/// One line of JSON.
pub fn json_line(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| Error::Defect(e.to_string()))?;
    stdout(&(text + "\n"))
}

/// Messages for people; where nobody can read them there is nobody to tell. What they quote may be
/// anything, and nearly always a terminal gets it.
pub fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(visible(text).as_bytes());
}
