//! What commands start from: standard input, the session, the time.

use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::session::{Reading, Session};
use crate::text::iso_time;

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
        return use_it(&Session::from_jsonl(&bytes, reading)?);
    }
    use_it(&Session::open(path, reading)?)
}

/// Now, ISO 8601.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).ok().and_then(iso_time).unwrap_or_default()
}
