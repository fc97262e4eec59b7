//! Bringing a text to what JavaScript would have read.

use std::borrow::Cow;

use memchr::memmem::Finder;
use once_cell::sync::Lazy;

/// Makes the bytes readable for `serde_json`: invalid UTF-8 and lone surrogate escapes become
/// U+FFFD, as they do in Pi (which reads files through a UTF-8 decoder) and on the wire to a model.
pub fn mend(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy decoder is several times slower, and almost no line needs it.
    let mut text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    if let Some(first) = lone_surrogate(text.as_bytes(), 0) {
        let mut owned = text.into_owned().into_bytes();
        let mut next = Some(first);
        while let Some(at) = next {
            owned[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
            next = lone_surrogate(&owned, at + ESCAPE);
        }
        // Only ASCII was replaced by ASCII of the same length, so the text is still UTF-8.
        let whole = String::from_utf8(owned);
        text = Cow::Owned(
            whole.unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        );
    }
    text
}

/// Bytes of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// The first escape of half a surrogate pair from `from` on, which is no escaped byte.
fn lone_surrogate(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += surrogate_escape(&bytes[at..])?;
        // A backslash may itself be escaped; only the run of them tells.
        let run = bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let unit = escape_at(bytes, at).filter(|unit| (0xD800..=0xDFFF).contains(unit));
        let Some(unit) = unit.filter(|_| run.is_multiple_of(2)) else {
            at += 2;
            continue;
        };
        let is_low = |unit: u16| (0xDC00..=0xDFFF).contains(&unit);
        if is_low(unit) || !escape_at(bytes, at + ESCAPE).is_some_and(is_low) {
            return Some(at);
        }
        at += 2 * ESCAPE;
    }
}

/// Where a surrogate is escaped, if it is an escape.
fn surrogate_escape(bytes: &[u8]) -> Option<usize> {
    U.find_iter(bytes).find(|at| matches!(bytes.get(at + 2), Some(b'd' | b'D')))
}

// Made once: a session has many lines.
static U: Lazy<Finder> = Lazy::new(|| Finder::new(b"\\u"));

/// The code unit of such an escape at `at`, if there is one.
fn escape_at(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    // A sign would be read as part of a number.
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Fields;
    use proptest::prelude::*;

    #[test]
    fn serde_json_495_lone_surrogates_become_replacement_characters() {
        for (raw, read) in [
            (r#"{"k":"end \ud83d"}"#, "end \u{fffd}"),
            (r#"{"k":"\udc00\ud83d swapped"}"#, "\u{fffd}\u{fffd} swapped"),
            (r#"{"k":"\uD83D\uDE00 pair"}"#, "😀 pair"),
            (r#"{"k":"\\ud83d is text"}"#, "\\ud83d is text"),
            (r#"{"k":"\\\ud83d after a backslash"}"#, "\\\u{fffd} after a backslash"),
            (r#"{"k":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
            (r#"{"k":"\ud83d\\ude00 \\\\\udc00"}"#, "\u{fffd}\\ude00 \\\\\u{fffd}"),
        ] {
            let text = mend(raw.as_bytes());
            assert_eq!(Fields::parse(&text).unwrap().string("k").unwrap(), read, "{raw}");
        }
    }

    #[test]
    fn what_is_well_formed_is_not_copied() {
        for raw in [r#"{"k":"\ud83d\ude00 é"}"#, r#"{"k":"\\ud83d"}"#, r#"{"k":"\u0041"}"#] {
            assert!(matches!(mend(raw.as_bytes()), Cow::Borrowed(_)), "{raw}");
        }
    }

    proptest! {
        /// As JavaScript reads it: every half is replaced where it is, and nothing else.
        #[test]
        fn halves_are_replaced_one_by_one(parts in prop::collection::vec(0usize..9, 0..12)) {
            let texts = [r"\ud83d", r"\ude00", r"\\", r"\n", "u", "d83d", "x", r"\u0041", r#"\""#];
            let units: [&[u16]; 9] = [&[0xd83d], &[0xde00], &[0x5c], &[0xa], &[0x75], &[0x64, 0x38, 0x33, 0x64], &[0x78], &[0x41], &[0x22]];
            let raw: String = parts.iter().map(|part| texts[*part]).collect();
            let said: Vec<u16> = parts.iter().flat_map(|part| units[*part]).copied().collect();
            let line = format!("\"{raw}\"");
            let read: String = serde_json::from_str(&mend(line.as_bytes())).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&said));
        }
    }

    #[test]
    fn a_lone_surrogate_in_a_key_loses_no_field() {
        let text = mend(br#"{"\ud83d":1,"id":"x"}"#);
        assert_eq!(Fields::parse(&text).unwrap().string("id").as_deref(), Some("x"));
    }

    #[test]
    fn bytes_torn_inside_a_character_are_replaced() {
        assert_eq!(mend(b"{\"k\":\"a\xF0\x9F\"}"), "{\"k\":\"a\u{fffd}\"}");
    }
}
