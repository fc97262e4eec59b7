//! A JSON value that is not decoded.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::cursor::Cursor;

/// A JSON value as it stands in a text: whole and well-formed, not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    pub(super) text: &'a str,
    /// No white space stands outside its strings.
    pub(super) is_compact: bool,
}

impl<'a> Raw<'a> {
    /// The text, if it is one JSON value and nothing else.
    pub fn parse(text: &'a str) -> Option<Raw<'a>> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.end().map(|()| value)
    }

    /// The value as it stands in the text.
    pub fn get(self) -> &'a str {
        self.text
    }

    /// The value without white space outside its strings. Pi writes none, so this mostly borrows.
    pub fn compact(self) -> Cow<'a, str> {
        if self.is_compact { Cow::Borrowed(self.text) } else { compact(self.text) }
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(value: &'a RawValue) -> Raw<'a> {
        Raw { text: value.get(), is_compact: false }
    }
}

fn compact(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut kept_to = 0;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            // Past the string: to its closing quote, over every escaped character.
            b'"' => {
                while let Some((_, byte)) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.get_or_insert_default().push_str(&text[kept_to..at]);
                kept_to = at + 1;
            }
            _ => {}
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[kept_to..]);
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_drops_white_space_outside_strings_only() {
        let spaced = "{ \"a b\" : [1,\n 2], \"c\":\"\\\" x\" }";
        let compact = r#"{"a b":[1,2],"c":"\" x"}"#;
        assert_eq!(Raw::parse(spaced).unwrap().compact(), compact);
        // White space around a value is none inside of it, and the other way round.
        let list = format!(" [ {compact} , {spaced} , {compact} ] ");
        let mut kinds = Vec::new();
        Cursor::new(&list).array(|cursor| {
            let value = cursor.value()?;
            assert_eq!(value.compact(), compact);
            kinds.push(matches!(value.compact(), Cow::Borrowed(_)));
            Some(())
        });
        assert_eq!(kinds, [true, false, true]);
    }
}
