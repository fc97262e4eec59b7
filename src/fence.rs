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

/// A tag and what it holds, found again in a text that [`fenced`] and its like made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block<'t> {
    /// Without the suffix.
    pub name: &'t str,
    pub attributes: &'t str,
    /// The bytes between the line that opens it and the line that closes it.
    pub inside: Range<usize>,
    /// The bytes with both lines.
    pub whole: Range<usize>,
}

/// The blocks of these names that begin on a line of their own, in order. What a block holds is
/// passed over, so that text in it cannot pose as a block; `nests` tells which names hold blocks of
/// another name that have to be passed over one by one.
pub fn blocks<'t>(
    text: &'t str,
    range: Range<usize>,
    names: &[&str],
    nests: &dyn Fn(&str) -> Option<&'static str>,
) -> Vec<Block<'t>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        match block(text, at, range.end, nests).filter(|block| names.contains(&block.name)) {
            Some(block) => {
                at = block.whole.end;
                found.push(block);
            }
            None => at = next_line(text, at, range.end),
        }
    }
    found
}

/// The block whose opening line begins at `at`.
fn block<'t>(
    text: &'t str,
    at: usize,
    end: usize,
    nests: &dyn Fn(&str) -> Option<&'static str>,
) -> Option<Block<'t>> {
    let line_end = next_line(text, at, end);
    let opened = text[at..line_end].strip_suffix(">\n")?.strip_prefix('<')?;
    let (tag, attributes) = opened.split_once(' ').unwrap_or((opened, ""));
    let name = tag.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = if name.len() < tag.len() { name.strip_suffix('-')? } else { name };
    let close = format!("</{tag}>\n");
    let inner = nests(name);
    let mut line = line_end;
    while line < end {
        if text[line..end].starts_with(&close) {
            return Some(Block {
                name,
                attributes,
                inside: line_end..line,
                whole: at..line + close.len(),
            });
        }
        let nested =
            inner.and_then(|inner| block(text, line, end, &|_| None).filter(|b| b.name == inner));
        line = nested.map_or_else(|| next_line(text, line, end), |nested| nested.whole.end);
    }
    None
}

fn next_line(text: &str, at: usize, end: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..end]).map_or(end, |line_break| at + line_break + 1)
}

/// The value of an attribute as it stands in the tag, escapes and all.
pub fn attribute<'t>(attributes: &'t str, name: &str) -> Option<&'t str> {
    let mut from = 0;
    loop {
        let at = from + attributes[from..].find(name)?;
        from = at + name.len();
        let begins = at == 0 || attributes[..at].ends_with(' ');
        // In a value every quote is escaped, so that this cannot be inside one.
        if let Some(value) = attributes[from..].strip_prefix("=\"").filter(|_| begins) {
            let mut escaped = false;
            let end = value.bytes().position(|byte| {
                let closes = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                closes
            })?;
            return Some(&value[..end]);
        }
    }
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

    #[test]
    fn blocks_are_found_again_whatever_they_hold() {
        let mut text = String::from("introduction with `<note>`\n");
        fenced(&mut text, "note", "at=\"1\"", "one\n</note>\n<list>\nnot a list\n</list>");
        text.push_str("between\n<list note=\"two\">\n");
        fenced(
            &mut text,
            "item",
            "path=\"a \\\" entry=\\\"x\" entry=\"e2\"",
            "</list>\nstill in it",
        );
        text.push_str("</list>\nrest\n<note>\nnever closed");
        let nests = |name: &str| (name == "list").then_some("item");
        let found = blocks(&text, 0..text.len(), &["note", "list"], &nests);
        let names: Vec<_> = found.iter().map(|block| block.name).collect();
        assert_eq!(names, ["note", "list"]);
        assert_eq!(&text[found[0].inside.clone()], "one\n</note>\n<list>\nnot a list\n</list>\n");
        assert_eq!(attribute(found[0].attributes, "at"), Some("1"));
        let items = blocks(&text, found[1].inside.clone(), &["item"], &nests);
        assert_eq!(items.len(), 1);
        assert_eq!(&text[items[0].inside.clone()], "</list>\nstill in it\n");
        assert_eq!(attribute(items[0].attributes, "entry"), Some("e2"));
        assert_eq!(attribute(items[0].attributes, "path"), Some("a \\\" entry=\\\"x"));
        assert_eq!(attribute(items[0].attributes, "label"), None);
        assert!(text[found[1].whole.end..].starts_with("rest\n"));
    }

    #[test]
    fn an_empty_block_is_one() {
        let text = "<list n=\"1\">\n</list>\n";
        let found = blocks(text, 0..text.len(), &["list"], &|_| None);
        assert_eq!(found.len(), 1);
        assert!(found[0].inside.is_empty());
        assert_eq!(found[0].whole, 0..text.len());
    }
}
