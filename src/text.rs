//! Counting, clipping and escaping text. Lengths are Unicode scalar values unless a name says otherwise.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::blocks::{self, BLOCK};

/// Cuts after `limit` characters and marks the cut with one ellipsis. Never cuts inside an escape
/// sequence of a JSON text (`\u00e9`, `\n`): half an escape would read as something else.
pub fn clip_json(text: &str, limit: usize) -> Cow<'_, str> {
    let Some(mut end) = end_of(text, limit) else {
        return Cow::Borrowed(text);
    };
    // An escape is at most six characters long; look back for one that starts before the cut.
    let head = &text.as_bytes()[..end];
    let window = head.len().saturating_sub(6);
    if let Some(run_end) = head[window..].iter().rposition(|b| *b == b'\\').map(|i| window + i) {
        let run_start = head[..=run_end].iter().rposition(|b| *b != b'\\').map_or(0, |i| i + 1);
        let opens_escape = (run_end - run_start).is_multiple_of(2);
        let escape_len = if text.as_bytes().get(run_end + 1) == Some(&b'u') { 6 } else { 2 };
        if opens_escape && run_end + escape_len > end {
            end = run_end;
        }
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Cuts after `limit` characters and marks the cut with one ellipsis.
pub fn clip(text: &str, limit: usize) -> Cow<'_, str> {
    match end_of(text, limit) {
        None => Cow::Borrowed(text),
        Some(end) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Where the first `limit` characters end, if there are more.
fn end_of(text: &str, limit: usize) -> Option<usize> {
    if text.len() <= limit {
        return None;
    }
    text.char_indices().nth(limit).map(|(end, _)| end)
}

/// The longest beginning of at most `limit` characters that ends where a person sees a character
/// end: no emoji loses its colour, no letter its accent.
pub fn beginning(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let Some((hard_end, _)) = text.char_indices().nth(limit) else {
        return text;
    };
    // One that people see is rarely longer than this; a hostile one is cut inside.
    let from = text[..hard_end].char_indices().rev().nth(64).map_or(0, |(at, _)| at);
    let end = text[from..]
        .grapheme_indices(true)
        .map(|(at, cluster)| from + at + cluster.len())
        .take_while(|end| *end <= hard_end)
        .last();
    &text[..end.unwrap_or(hard_end)]
}

/// All white space as single blanks, and one ellipsis where more than `limit` characters are.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            chars += 1;
        }
        line.push_str(word);
        chars += word.chars().count();
        if chars > limit {
            return format!("{}…", beginning(&line, limit).trim_end());
        }
    }
    line
}

/// Line and paragraph separators, marks that turn the direction of writing: they show nothing
/// themselves and change how what follows is shown.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes what could break metadata out of its line or tag, or show it as something else: control
/// characters, separators, marks of direction, angle brackets. Never applied to prose.
pub fn escape_metadata(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'<' | b'>');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if c.is_control() || is_unseen(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Text as a page shows it: terminal controls and other invisible characters as escapes, lines
/// without the carriage return of their line end.
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c == '\n' || c == '\t' || !(c.is_control() || is_unseen(c));
    // What is not plain begins with one of these bytes, which is told many bytes at a time.
    let may_not_be = |byte: &u8| {
        (*byte < 0x20 && *byte != b'\n' && *byte != b'\t') || matches!(*byte, 0x7F | 0xC2 | 0xE2)
    };
    let is_plain = |bytes: &[u8]| bytes.iter().filter(|byte| may_not_be(byte)).count() == 0;
    if text.as_bytes().chunks(BLOCK).all(is_plain) || text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek().is_none_or(|next| *next == '\n') => {}
            '\r' => out.push_str("\\r"),
            c if plain(c) => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push_str(&format!("\\u{:04x}", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// [`visible`] on one line, for names among other text.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// [`escape_metadata`] for a value between double quotes.
pub fn escape_attribute(text: &str) -> String {
    escape_metadata(&text.replace('\\', "\\\\").replace('"', "\\\"")).into_owned()
}

/// An estimate of the tokens of a text: four ASCII characters, one Chinese, Japanese, Korean
/// character or emoji, two of any other script count as one. Pi counts four UTF-16 units as one,
/// which for East Asian text is a quarter of the truth.
pub fn estimate_tokens(text: &str) -> u64 {
    quarter_tokens(text).div_ceil(4)
}

/// [`estimate_tokens`] in quarters, so that the parts of a message can be added up.
pub fn quarter_tokens(text: &str) -> u64 {
    /// The first byte of a character that is three or four bytes long.
    const LONGER: u8 = 0xE0;
    // A character of one byte counts one quarter and one of two bytes two: as many as its bytes.
    let mut quarters = text.len() as u64;
    let mut longer = |at: usize| {
        if let Some(c) = text[at..].chars().next() {
            quarters -= c.len_utf8() as u64;
            quarters += if is_wide(c) { 4 } else { 2 };
        }
    };
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        blocks::places(blocks::at_least(block, LONGER)).for_each(|at| longer(number * BLOCK + at));
    }
    let of_rest = rest.iter().enumerate().filter(|(_, byte)| **byte >= LONGER);
    of_rest.for_each(|(at, _)| longer(text.len() - rest.len() + at));
    quarters
}

/// Scripts of which a tokenizer rarely joins two characters, by Unicode block.
pub fn is_wide(c: char) -> bool {
    matches!(c as u32,
        0x1100..=0x11FF | 0x2600..=0x27BF | 0x2E80..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF | 0xFE30..=0xFE4F | 0xFF00..=0xFFEF | 0x1F000..=0x1FAFF | 0x20000..=0x3FFFF)
}

/// A time as Pi writes it: ISO 8601, UTC, milliseconds. `None` outside the calendar's range.
pub fn iso_time(epoch_ms: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(epoch_ms).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// Whether a text may be a time: nothing in it but what Pi's times are made of.
pub fn is_time(text: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b':' | b'.' | b'T' | b'Z');
    (1..=40).contains(&text.len()) && text.bytes().all(is_part)
}

/// `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1 entry`, `1,024 entries`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// A byte size for people, in units of 1024: `312 B`, `12 KB`, `6.6 MB`.
pub fn byte_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_leaves_no_half_escape() {
        assert_eq!(clip_json(r#""ab\u00e9""#, 5), "\"ab…");
        assert_eq!(clip_json(r#""ab\u00e9""#, 9), r#""ab\u00e9…"#);
        assert_eq!(clip_json(r#""a\\b""#, 3), "\"a…");
        assert_eq!(clip_json(r#""a\\nb""#, 5), r#""a\\n…"#);
        assert_eq!(clip_json("\"a\\nb\"", 3), "\"a…");
        assert_eq!(clip_json("\"ab\"", 4), "\"ab\"");
        assert_eq!(clip_json("😀😀😀", 2), "😀😀…");
    }

    #[test]
    fn the_beginning_of_a_text_ends_between_visible_characters() {
        assert_eq!(beginning("abc", 5), "abc");
        assert_eq!(beginning("abc", 2), "ab");
        assert_eq!(beginning("e\u{301}e\u{301}", 3), "e\u{301}");
        let family = "👨‍👩‍👧‍👦";
        assert_eq!(beginning(&format!("ab{family}c"), 5), "ab");
        assert_eq!(beginning(&format!("ab{family}c"), 9), format!("ab{family}"));
        // One visible character of a thousand accents is no way around the limit.
        let zalgo = format!("a{}", "\u{301}".repeat(1000));
        assert_eq!(beginning(&zalgo, 10).chars().count(), 10);
    }

    #[test]
    fn one_line_has_single_blanks_and_one_ellipsis() {
        assert_eq!(one_line("  a\n\tb  c ", 9), "a b c");
        assert_eq!(one_line("alpha beta", 7), "alpha b…");
        assert_eq!(one_line("alpha beta", 6), "alpha…");
        assert_eq!(one_line(&"x".repeat(50), 4), "xxxx…");
    }

    #[test]
    fn metadata_stays_on_its_line_and_in_its_tag() {
        assert_eq!(
            escape_metadata("a\nb</read-files>\u{1b}[0m\u{2028}\u{202e}"),
            "a\\nb\\u003c/read-files\\u003e\\u001b[0m\\u2028\\u202e"
        );
        assert_eq!(escape_attribute("say \"hi\"\\"), "say \\\"hi\\\"\\\\");
    }

    #[test]
    fn blocks_of_bytes_are_told_as_their_characters_are() {
        let each = |c: char| match c {
            '\0'..='\x7f' => 1,
            c if is_wide(c) => 4,
            _ => 2,
        };
        // Each character at each place of a block, the one before its end included.
        for odd in ['ä', '字', '🙂', '‘', '\u{80}', '\u{202e}', '\x1b'] {
            for at in 0..2 * BLOCK {
                let text = format!("{}{odd}{odd}{}", "a".repeat(at), "b".repeat(BLOCK));
                assert_eq!(quarter_tokens(&text), text.chars().map(each).sum::<u64>());
                let is_shown_as_it_is = matches!(odd, 'ä' | '字' | '🙂' | '‘');
                assert_eq!(visible(&text) == text, is_shown_as_it_is, "{odd:?} at {at}");
            }
        }
    }

    #[test]
    fn what_is_invisible_is_shown() {
        assert_eq!(visible("a\r\nb\r"), "a\nb");
        assert_eq!(visible("50%\r100%\u{1b}[2K\u{0}"), "50%\\r100%\\x1b[2K\\x00");
        assert_eq!(visible("x\u{2028}y\u{202e}z"), "x\\u2028y\\u202ez");
        assert!(matches!(visible("tab\tnew\nline 😀"), Cow::Borrowed(_)));
    }

    #[test]
    fn openclaw_103930_east_asian_text_is_not_a_quarter_of_the_truth() {
        assert_eq!(estimate_tokens("abcdefgh"), 2);
        assert_eq!(estimate_tokens("漢字かな한글😀"), 7);
        assert_eq!(estimate_tokens("приве"), 3);
        // Characters of three and of four bytes that are neither East Asian nor emoji.
        assert_eq!(quarter_tokens("— ₂…\u{10348}\u{10349}"), 2 + 1 + 2 + 2 + 2 + 2);
        let long = format!("{}漢{}—{}é", "x".repeat(63), "y".repeat(61), "z".repeat(62));
        assert_eq!(quarter_tokens(&long), 63 + 4 + 61 + 2 + 62 + 2);
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(iso_time(1_796_057_427_763).as_deref(), Some("2026-11-30T16:50:27.763Z"));
        assert_eq!(byte_size(1023), "1023 B");
        assert_eq!(byte_size(12_800), "12 KB");
        assert_eq!(byte_size(6_920_601), "6.6 MB");
    }
}
