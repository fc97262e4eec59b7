//! Bringing a text to what JavaScript would have read.

use std::borrow::Cow;

/// Makes the bytes readable for `serde_json`: invalid UTF-8 and lone surrogate escapes become
/// U+FFFD, as they do in Pi (which reads files through a UTF-8 decoder) and on the wire to a model.
pub fn mend(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy decoder is several times slower, and almost no line needs it.
    let mut text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    if let Some(at) = first_surrogate_escape(text.as_bytes()) {
        let mut owned = text.into_owned().into_bytes();
        replace_lone_surrogates(&mut owned, at);
        // Only ASCII was replaced by ASCII of the same length, so the text is still UTF-8.
        let whole = String::from_utf8(owned);
        text = Cow::Owned(
            whole.unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        );
    }
    text
}

fn first_surrogate_escape(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(bytes, b"\\u")
        .find(|at| matches!(bytes.get(at + 2), Some(b'd' | b'D')))
}

/// The code unit of the `\uXXXX` escape at `at`, if there is one.
fn escape_at(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Replaces lone surrogate escapes from `from` on by `\ufffd`, which has the same length.
fn replace_lone_surrogates(bytes: &mut [u8], from: usize) {
    // A backslash may itself be escaped; start where the run of backslashes starts.
    let mut at = from;
    while at > 0 && bytes[at - 1] == b'\\' {
        at -= 1;
    }
    while at < bytes.len() {
        match memchr::memchr(b'\\', &bytes[at..]) {
            None => return,
            Some(skip) => at += skip,
        }
        match escape_at(bytes, at) {
            None => at += 2,
            Some(unit) if !(0xD800..=0xDFFF).contains(&unit) => at += 6,
            Some(unit) => {
                let paired = unit <= 0xDBFF
                    && escape_at(bytes, at + 6).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low));
                if paired {
                    at += 12;
                } else {
                    bytes[at..at + 6].copy_from_slice(b"\\ufffd");
                    at += 6;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Fields;

    #[test]
    fn serde_json_495_lone_surrogates_become_replacement_characters() {
        for (raw, read) in [
            (r#"{"k":"end \ud83d"}"#, "end \u{fffd}"),
            (r#"{"k":"\udc00\ud83d swapped"}"#, "\u{fffd}\u{fffd} swapped"),
            (r#"{"k":"\uD83D\uDE00 pair"}"#, "😀 pair"),
            (r#"{"k":"\\ud83d is text"}"#, "\\ud83d is text"),
            (r#"{"k":"\\\ud83d after a backslash"}"#, "\\\u{fffd} after a backslash"),
            (r#"{"k":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
        ] {
            let text = mend(raw.as_bytes());
            assert_eq!(Fields::parse(&text).unwrap().string("k").unwrap(), read, "{raw}");
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
