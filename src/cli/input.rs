//! Standard input.

use std::io::{self, Read};

use crate::error::{Error, Result};

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
        .map_err(|source| Error::Read {
            path: "stdin".into(),
            source,
        })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::Envelope(format!(
            "stdin holds more than {MAX_BYTES} bytes"
        )));
    }
    Ok(bytes)
}
