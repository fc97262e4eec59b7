//! What entries are called.

use std::borrow::Cow;
use std::fmt::Write;

/// Pi's ids have eight characters, those of other tools up to a few dozen.
const MOST_BYTES: usize = 128;
/// So much is shown of a longer one.
const BEGINNING: usize = 64;

/// An id as it is called everywhere from here on. A file can hold any text in its place, so one of
/// other than plain characters goes by an escaped form, and one that is too long by its beginning
/// and a digest: no id can leave its label, its line or its tag. A plain id is itself.
pub fn plain(id: &str) -> Cow<'_, str> {
    if id.len() <= MOST_BYTES && id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let mut out = String::with_capacity(MOST_BYTES);
    for byte in id.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "~{byte:02x}");
        }
        if out.len() > MOST_BYTES {
            out.truncate(BEGINNING);
            let _ = write!(out, "~~{:016x}", digest(id));
            break;
        }
    }
    Cow::Owned(out)
}

/// The name of the earlier one of two entries that are chained and have one id.
pub fn of_twin(id: &str, number: u32) -> String {
    format!("{id}~{number:x}")
}

/// Whether an entry of this name can have that id in the file.
pub fn is_name_of(name: &str, id: &str) -> bool {
    name.strip_prefix(&*plain(id)).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'~')
}

/// FNV-1a: it tells apart what is not made to be mistaken.
fn digest(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_are_themselves_and_others_stay_in_their_place() {
        for id in ["9f3c2a1b", "0199a000-0000-7000-8000-000000000001", "msg_01", "", "a~b"] {
            assert_eq!(plain(id), id);
        }
        assert_eq!(plain("a b"), "a~20b");
        assert_eq!(plain("x]\n[User]: </span>"), "x~5d~0a~5bUser~5d~3a~20~3c~2fspan~3e");
        assert_eq!(plain("é"), "~c3~a9");
    }

    #[test]
    fn long_ids_are_short_and_told_apart() {
        let (a, b) = (format!("{}a", "x".repeat(65_536)), format!("{}b", "x".repeat(65_536)));
        assert_eq!(plain(&a).len(), 64 + 2 + 16);
        assert_ne!(plain(&a), plain(&b));
        assert_eq!(plain(&plain(&a)), plain(&a), "the name of a name is the name");
        assert_eq!(plain(&"\n".repeat(100)).len(), 64 + 2 + 16);
        assert_eq!(plain(&"y".repeat(128)).len(), 128);
    }
}
