//! Reading JSON that may be damaged or shaped in an unexpected way.
//!
//! Pi parses its files with JavaScript, which takes lone surrogates and replaces broken UTF-8;
//! `serde_json` takes neither. [`mend`] brings a text to what JavaScript would have read, and
//! [`Fields`] reads an object without insisting on the type of any field, so that one odd value
//! never costs a whole line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

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

/// The fields of one JSON object, each still unparsed. Of a repeated key the last counts, as in
/// JavaScript.
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads `text`, which must be one JSON object and nothing else.
    pub fn parse(text: &'a str) -> Option<Fields<'a>> {
        serde_json::from_str(text).ok()
    }

    /// The raw value of `key`; absent and `null` are told apart.
    pub fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The object at a key; `None` where there is none or something else.
    pub fn object(&self, key: &str) -> Option<Fields<'a>> {
        Fields::parse(self.raw(key)?.get())
    }

    /// A string value; `None` for any other type.
    pub fn string(&self, key: &str) -> Option<String> {
        string(self.raw(key)?)
    }

    /// The boolean at a key; `None` where there is none or something else.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.parsed(key)
    }

    /// A number; Pi's integers may come as `50001.5`, so every number is read as `f64`.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.parsed(key)
    }

    /// The elements of an array value, unparsed; empty for any other type.
    pub fn array(&self, key: &str) -> Vec<&'a RawValue> {
        self.raw(key).map(|raw| elements(raw)).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Each key once, at its first place, with the value that counts.
    pub fn last_of_each(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let mut last: HashMap<&str, &'a RawValue> = self.iter().collect();
        self.iter().filter_map(move |(key, _)| last.remove(key).map(|value| (key, value)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn parsed<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }
}

/// Reads a text of a known form. The error says in one line which field is wrong and what it should
/// be; `whole` is what the text itself is called, if it is a part of something.
pub fn read<'de, T: Deserialize<'de>>(
    text: &'de str,
    whole: &str,
) -> std::result::Result<T, String> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = error.path().to_string();
        let parts = [whole, path.as_str()].into_iter().filter(|part| !matches!(*part, "" | "."));
        let place = parts.collect::<Vec<_>>().join(".");
        if error.inner().is_data() {
            fault(&error.into_inner().to_string(), place)
        } else {
            error.into_inner().to_string()
        }
    })?;
    parser.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// What serde says of a value, without the names of our types.
fn fault(text: &str, mut place: String) -> String {
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    let name = |text: &str| Some(text.strip_prefix('`')?.strip_suffix('`')?.to_owned());
    if let Some(field) = text.strip_prefix("missing field ").and_then(name) {
        if !place.is_empty() {
            place.push('.');
        }
        return format!("`{place}{field}` is missing");
    }
    let found =
        ["invalid type: ", "invalid value: "].iter().find_map(|lead| text.strip_prefix(lead));
    let text = match found.and_then(|found| found.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            let expected = match expected {
                "i64" | "u64" | "u32" => "a whole number",
                "f64" => "a number",
                "a map" => "an object",
                "a sequence" => "an array",
                expected if expected.starts_with("struct ") => "an object",
                expected => expected,
            };
            format!("expected {expected}, found {found}")
        }
        // A list that is too short for the fields of an object.
        None if text.contains("expected struct ") => "expected an object, found a list".to_owned(),
        None => text.to_owned(),
    };
    if place.is_empty() { text } else { format!("`{place}`: {text}") }
}

/// The decoded string of a raw value, `None` if it is not a string.
pub fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The elements of a raw array, empty if it is not an array.
pub fn elements(raw: &RawValue) -> Vec<&RawValue> {
    struct Elements<'a>(Vec<&'a RawValue>);
    impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
        fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
            struct V;
            impl<'de> Visitor<'de> for V {
                type Value = Vec<&'de RawValue>;
                fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                    f.write_str("an array")
                }
                fn visit_seq<A: SeqAccess<'de>>(
                    self,
                    mut seq: A,
                ) -> std::result::Result<Self::Value, A::Error> {
                    let mut all = Vec::new();
                    while let Some(element) = seq.next_element()? {
                        all.push(element);
                    }
                    Ok(all)
                }
            }
            d.deserialize_seq(V).map(Elements)
        }
    }
    serde_json::from_str::<Elements>(raw.get()).map(|e| e.0).unwrap_or_default()
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut all = Vec::with_capacity(8);
                while let Some(key) = map.next_key::<Key>()? {
                    all.push((key.0, map.next_value()?));
                }
                Ok(Fields(all))
            }
        }
        d.deserialize_map(V)
    }
}

/// A key that borrows where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> std::result::Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }
            fn visit_str<E>(self, key: &str) -> std::result::Result<Self::Value, E> {
                Ok(Cow::Owned(key.to_owned()))
            }
        }
        d.deserialize_str(V).map(Key)
    }
}

/// A number as JavaScript writes it: a whole one without `.0`.
pub fn number(value: f64) -> serde_json::Value {
    let whole = value as i64;
    if whole as f64 == value { whole.into() } else { value.into() }
}

/// The JSON of a value, which a later one takes over as it stands.
///
/// Errors: a defect, since whatever is given has a JSON form.
pub fn to_raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value).map_err(|error| Error::Defect(error.to_string()))
}

/// The JSON text without white space outside its strings. Pi writes none, so this mostly borrows.
pub fn compact(text: &str) -> Cow<'_, str> {
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

    #[test]
    fn wrong_types_are_absent_and_the_last_of_a_repeated_key_counts() {
        let fields = Fields::parse(r#"{"a":1,"a":"two","n":1.5,"null":null}"#).unwrap();
        assert_eq!(fields.string("a").as_deref(), Some("two"));
        assert_eq!(fields.number("n"), Some(1.5));
        assert_eq!(fields.string("n"), None);
        assert!(fields.raw("null").is_some() && fields.raw("absent").is_none());
    }

    #[test]
    fn a_value_of_the_wrong_form_is_named_with_what_it_should_be() {
        #[derive(Debug, Deserialize)]
        struct Inner {
            #[allow(dead_code)]
            on: bool,
        }
        #[derive(Debug, Deserialize)]
        struct Outer {
            #[allow(dead_code)]
            inner: Option<Inner>,
            #[allow(dead_code)]
            now: Option<i64>,
            #[allow(dead_code)]
            list: Option<Vec<Inner>>,
        }
        for (text, says) in [
            (r#"{"inner":5}"#, "`inner`: expected an object, found integer `5`"),
            (r#"{"inner":{}}"#, "`inner.on` is missing"),
            (r#"{"inner":[]}"#, "`inner`: expected an object, found a list"),
            (
                r#"{"inner":{"on":"yes, expected x"}}"#,
                "`inner.on`: expected a boolean, found string \"yes, expected x\"",
            ),
            (
                r#"{"list":[{"on":true},{"on":1}]}"#,
                "`list[1].on`: expected a boolean, found integer `1`",
            ),
            (r#"{"now":1.5}"#, "`now`: expected a whole number, found floating point `1.5`"),
            ("5", "expected an object, found integer `5`"),
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{} x", "trailing characters at line 1 column 4"),
        ] {
            assert_eq!(read::<Outer>(text, "").expect_err("it is wrong"), says, "{text}");
        }
        assert_eq!(
            read::<Inner>("{}", "payload").expect_err("it is wrong"),
            "`payload.on` is missing"
        );
    }

    #[test]
    fn compact_drops_white_space_outside_strings_only() {
        assert_eq!(
            compact("{ \"a b\" : [1,\n 2], \"c\":\"\\\" x\" }"),
            r#"{"a b":[1,2],"c":"\" x"}"#
        );
        assert!(matches!(compact(r#"{"a":1}"#), Cow::Borrowed(_)));
    }
}
