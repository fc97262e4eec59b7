//! Tags around text that may itself hold tags.

use std::collections::HashSet;
use std::ops::Range;

/// Puts `text` into a tag that the text itself cannot close; returns the text's byte range.
pub fn fenced(out: &mut String, tag: &str, attributes: &str, text: &str) -> Range<usize> {
    let tag = format!("{tag}{}", free_suffix(tag, text));
    let space = if attributes.is_empty() { "" } else { " " };
    out.push_str(&format!("<{tag}{space}{attributes}>\n"));
    let start = out.len();
    out.push_str(text);
    let end = out.len();
    out.push_str(&format!("\n</{tag}>\n"));
    start..end
}

/// The smallest `-N` with which no tag of this name occurs in `text`; nothing where even the plain
/// one does not.
pub fn free_suffix(tag: &str, text: &str) -> String {
    free_suffix_in(tag, [text])
}

/// The same for several texts, none of which ends inside a tag.
pub fn free_suffix_in<'t>(tag: &str, texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut occurs = false;
    // Every number that a tag in the text begins with: `-22` takes 2 and 22.
    let mut taken = HashSet::new();
    let tags = texts.into_iter().flat_map(|text| {
        let text = text.as_bytes();
        memchr::memchr_iter(b'<', text).map(move |at| &text[at + 1..])
    });
    for inside in tags {
        let name = inside.strip_prefix(b"/").unwrap_or(inside);
        let Some((name, behind)) = name.split_at_checked(tag.len()) else { continue };
        if !name.eq_ignore_ascii_case(tag.as_bytes()) {
            continue;
        }
        occurs = true;
        let Some(digits) = behind.strip_prefix(b"-") else { continue };
        let mut number = 0u64;
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        for digit in digits.iter().map_while(digit).take(18) {
            number = number * 10 + digit;
            taken.insert(number);
        }
    }
    let free = (2u64..).find(|n| !taken.contains(n)).filter(|_| occurs);
    free.map_or_else(String::new, |n| format!("-{n}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "compacted-span";

    #[test]
    fn text_that_holds_its_tag_gets_another_tag() {
        assert_eq!(free_suffix(TAG, "plain text about a compacted-span"), "");
        assert_eq!(free_suffix(TAG, "</compacted-span>"), "-2");
        assert_eq!(free_suffix(TAG, "<Compacted-Span n=\"9\"></compacted-span-2>"), "-3");
        // `</compacted-span-2` is also the beginning of `</compacted-span-22>`.
        assert_eq!(free_suffix(TAG, "</compacted-span-22>"), "-3");
        assert_eq!(free_suffix(TAG, "</compacted-span-2x></compacted-span-3>"), "-4");
    }
}
