//! What commands start from: standard input, the session, the time.

use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::output;
use crate::error::{Error, Result};
use crate::session::{Branch, Reading, Session};
use crate::settings::{Settings, Sources};
use crate::text::{counted, iso_time};

/// Bytes that an envelope or a piped session may have at most.
pub const MAX_BYTES: u64 = 2 << 30;

/// All of stdin.
///
/// Errors: unreadable, or larger than [`MAX_BYTES`].
pub fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Read { path: "stdin".into(), source })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::Envelope(format!("stdin holds more than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Opens the session that an argument names (`-` is stdin) and hands it on.
pub fn with_session<T>(
    path: &Path,
    reading: Reading,
    use_it: impl FnOnce(&Session) -> Result<T>,
) -> Result<T> {
    if path.as_os_str() == "-" {
        let bytes = stdin()?;
        return noted(Session::from_jsonl(&bytes, reading)?, use_it);
    }
    noted(Session::open(path, reading)?, use_it)
}

/// Says what of the session could not be read before it is used.
fn noted<T>(session: Session, use_it: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
    if session.malformed_lines > 0 {
        let lines = usize::try_from(session.malformed_lines).unwrap_or(usize::MAX);
        let were = if lines == 1 { "was" } else { "were" };
        let lines = counted(lines, "damaged line", "damaged lines");
        output::stderr(&format!("pi-stet: {lines} {were} passed over\n"));
    }
    use_it(&session)
}

/// What holds on a branch, by its own entries and the environment. What is not usable is said.
pub fn settings(branch: &Branch) -> Result<Settings> {
    let environment = |name: &str| std::env::var(name).ok();
    let sources = Sources { given: &serde_json::Map::new(), environment: &environment };
    let settings = Settings::resolve(&sources, Some(branch))?;
    for problem in &settings.problems {
        output::stderr(&format!("pi-stet: {problem}\n"));
    }
    Ok(settings)
}

/// Now, ISO 8601.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).ok().and_then(iso_time).unwrap_or_default()
}
