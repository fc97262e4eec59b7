//! Escapes in the inside of a JSON string, told of 64 bytes at a time.

use crate::blocks::{BLOCK, controls, equal, padded};

/// A line break as JSON has it.
pub const LINE_BREAK: &str = "\\n";

/// Which bytes are escaped: they stand behind a backslash that is not escaped itself.
///
/// A run of backslashes begins at an even or at an odd place; adding its bit to those of the run
/// carries to the place behind it. Whether that is as far from the beginning as an escape needs
/// shows in the parity of the two.
#[derive(Default)]
struct Escaped {
    /// The last byte of the block before was a backslash that escapes.
    first: bool,
}

impl Escaped {
    fn of(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let first = u64::from(self.first);
        let backslashes = backslashes & !first;
        let behind = backslashes << 1 | first;
        let odd_beginnings = backslashes & !EVEN & !behind;
        let (ends, is_over) = odd_beginnings.overflowing_add(backslashes);
        self.first = is_over;
        (EVEN ^ (ends << 1)) & behind
    }
}

/// Over the whole blocks at the beginning of a string's inside that end before its closing quote
/// and have nothing in them that a closer look must decide; how many bytes. The next byte is not
/// escaped.
pub fn pass(inside: &[u8]) -> usize {
    let mut passed = 0;
    let mut escaped = Escaped::default();
    for block in inside.as_chunks::<BLOCK>().0 {
        let backslashes = equal(block, b'\\');
        let quotes = equal(block, b'"');
        let mut next = Escaped { first: escaped.first };
        let behind = next.of(backslashes);
        let usual = quotes | backslashes | equal(block, b'n') | equal(block, b't');
        if (quotes & !behind) | controls(block) | (behind & !usual) != 0 {
            break;
        }
        passed += BLOCK;
        escaped = next;
    }
    // A backslash at the end belongs to what comes behind it.
    passed - usize::from(escaped.first)
}

/// Line breaks in a part of a string's inside, which begins at no escaped byte: how many there are,
/// and where the line behind the last one begins.
pub fn line_breaks(inside: &[u8]) -> (usize, usize) {
    let (blocks, rest) = inside.as_chunks::<BLOCK>();
    let (mut count, mut begin) = (0, 0);
    let mut escaped = Escaped::default();
    let mut add = |at: usize, breaks: u64| {
        if breaks != 0 {
            count += breaks.count_ones() as usize;
            begin = at + BLOCK - breaks.leading_zeros() as usize;
        }
    };
    for (at, block) in blocks.iter().enumerate() {
        add(at * BLOCK, escaped.of(equal(block, b'\\')) & equal(block, b'n'));
    }
    if !rest.is_empty() {
        let block = padded(rest);
        add(inside.len() - rest.len(), escaped.of(equal(&block, b'\\')) & equal(&block, b'n'));
    }
    (count, begin)
}

/// Whether a byte, which is no backslash, is a part of an escape: the one behind the backslash, or
/// a digit of `\u001b`.
pub fn is_of_escape(inside: &[u8], at: usize) -> bool {
    /// Bytes of the longest escape behind its backslash.
    const LONGEST: usize = 5;
    let from = at.saturating_sub(LONGEST);
    let Some(last) = inside[from..at].iter().rposition(|byte| *byte == b'\\') else {
        return false;
    };
    let last = from + last;
    let run = inside[..=last].iter().rev().take_while(|byte| **byte == b'\\').count();
    run % 2 == 1 && (last + 1 == at || inside[last + 1] == b'u')
}

/// Where the line ends that goes on at the beginning of this part, which is no escaped byte: at its
/// line break, or with the string.
pub fn line_end(inside: &[u8]) -> usize {
    let mut from = 0;
    loop {
        let Some(at) = memchr::memchr(b'\\', &inside[from..]) else { return inside.len() };
        if inside.get(from + at + 1) == Some(&b'n') {
            return from + at;
        }
        from = (from + at + 2).min(inside.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The places of line breaks, one byte after the other.
    fn breaks(inside: &[u8]) -> Vec<usize> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < inside.len() {
            if inside[at] == b'\\' {
                if inside.get(at + 1) == Some(&b'n') {
                    all.push(at);
                }
                at += 1;
            }
            at += 1;
        }
        all
    }

    proptest! {
        #[test]
        fn escapes_are_told_as_one_by_one(inside in r#"([ab]{0,70}|\\{1,70}|\\n|n){0,12}"#) {
            let breaks = breaks(inside.as_bytes());
            let begin = breaks.last().map_or(0, |last| last + 2);
            prop_assert_eq!(line_breaks(inside.as_bytes()), (breaks.len(), begin));
            let end = breaks.first().copied().unwrap_or(inside.len());
            prop_assert_eq!(line_end(inside.as_bytes()), end);
        }

        #[test]
        fn what_belongs_to_an_escape_is_told(parts in prop::collection::vec(0usize..7, 0..12)) {
            let texts = [r"\\", r"\n", r"\u001b", r"\u000a", "u001b", "n", "ab"];
            let mut inside = String::new();
            let mut of_escape = Vec::new();
            for part in parts {
                let text = texts[part];
                inside.push_str(text);
                of_escape.extend((0..text.len()).map(|at| text.starts_with('\\') && at > 0));
            }
            for (at, expected) in of_escape.iter().enumerate() {
                if inside.as_bytes()[at] != b'\\' {
                    prop_assert_eq!(is_of_escape(inside.as_bytes(), at), *expected, "{} {}", at, inside);
                }
            }
        }

        #[test]
        fn only_what_is_surely_inside_is_passed(inside in r#"([ab]{0,70}|(\\\\){1,40}|\\n|\\"|\\t|\\u0041){0,12}"#, after in r#"("|\u{1}|"[ab]{0,70})?"#) {
            let text = format!("{inside}{after}");
            let passed = pass(text.as_bytes());
            prop_assert!(passed <= inside.len());
            // What is passed is well-formed by itself, so no escape is torn.
            let as_string = format!("\"{}\"", &text[..passed]);
            prop_assert!(serde_json::from_str::<String>(&as_string).is_ok());
            if !inside.contains("\\u") {
                prop_assert!(passed + BLOCK >= inside.len() - inside.len() % BLOCK, "{passed} of {}", inside.len());
            }
        }
    }
}
