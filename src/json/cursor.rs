//! A place in a JSON text, which passes over values or decodes strings, in one pass.
//!
//! Most bytes of a session stand in long strings with an escape in each line. This looks at many
//! bytes at a time, which is what `serde_json` does not do; it takes and refuses the same texts.

use std::borrow::Cow;

use serde_json::value::RawValue;
use wide::u8x16;

use super::escapes;

/// Bytes looked at together.
const BLOCK: usize = 16;

/// A JSON value as it stands in a text: whole and well-formed, not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    text: &'a str,
    /// No white space stands outside its strings.
    is_compact: bool,
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

#[derive(Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// White space was passed over.
    is_spaced: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0, is_spaced: false }
    }

    /// Nothing but white space is left.
    pub fn end(&mut self) -> Option<()> {
        self.space();
        (self.at == self.text.len()).then_some(())
    }

    /// The byte that comes next behind white space.
    pub fn peek(&mut self) -> Option<u8> {
        self.space();
        self.byte()
    }

    /// The fields of an object: `each` takes the value behind the key. `None` if there is no
    /// object, or `each` says so.
    pub fn object(
        &mut self,
        each: impl FnMut(Cow<'a, str>, &mut Cursor<'a>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        match self.peek()? {
            b'}' => self.take(b'}'),
            _ => self.fields(each),
        }
    }

    /// The same from a key on.
    pub fn fields(
        &mut self,
        mut each: impl FnMut(Cow<'a, str>, &mut Cursor<'a>) -> Option<()>,
    ) -> Option<()> {
        loop {
            self.space();
            let key = self.string()?;
            self.take(b':')?;
            each(key, self)?;
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b'}'),
            }
        }
    }

    /// The elements of an array, each for `each` to take.
    pub fn array(&mut self, mut each: impl FnMut(&mut Cursor<'a>) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            return self.take(b']');
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                _ => return self.take(b']'),
            }
        }
    }

    /// A string, decoded. `None` if there is none, or if it has half a surrogate pair.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let start = self.at;
        if self.pass_plain()? == b'"' {
            self.at += 1;
            return Some(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut decoded = Vec::with_capacity(2 * (self.at - start) + 4 * BLOCK);
        decoded.extend_from_slice(&self.text.as_bytes()[start..self.at]);
        while self.copy_plain(&mut decoded)? == b'\\' {
            self.decode_escape(&mut decoded)?;
        }
        self.take(b'"')?;
        // Whole characters were copied, so it is UTF-8.
        String::from_utf8(decoded).ok().map(Cow::Owned)
    }

    /// The inside of a string, or a part of it, decoded.
    pub fn decoded(inside: &'a str) -> Option<Cow<'a, str>> {
        if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inside));
        }
        let mut cursor = Cursor::new(inside);
        let mut decoded = Vec::with_capacity(inside.len() + BLOCK);
        loop {
            match cursor.copy_plain(&mut decoded) {
                Some(b'\\') => cursor.decode_escape(&mut decoded)?,
                Some(_) => return None,
                None => return String::from_utf8(decoded).ok().map(Cow::Owned),
            }
        }
    }

    /// Passes over a value.
    pub fn value(&mut self) -> Option<Raw<'a>> {
        self.space();
        let (start, is_spaced) = (self.at, std::mem::take(&mut self.is_spaced));
        let mut open = Open::default();
        loop {
            match self.peek()? {
                b'"' => self.pass_string()?,
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    if self.peek()? == closing(bracket) {
                        self.at += 1;
                    } else {
                        open.push(bracket);
                        self.begin_member(bracket)?;
                        continue;
                    }
                }
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            loop {
                let Some(bracket) = open.last() else {
                    let is_compact = !self.is_spaced;
                    self.is_spaced |= is_spaced;
                    return Some(Raw { text: &self.text[start..self.at], is_compact });
                };
                let next = self.peek()?;
                self.at += 1;
                if next == b',' {
                    self.begin_member(bracket)?;
                    break;
                }
                (next == closing(bracket)).then_some(())?;
                open.pop();
            }
        }
    }

    /// In an object, up to the value behind the key.
    fn begin_member(&mut self, bracket: u8) -> Option<()> {
        if bracket == b'{' {
            self.space();
            self.pass_string()?;
            self.take(b':')?;
        }
        Some(())
    }

    fn pass_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        while self.pass_plain()? == b'\\' {
            // Where there is one escape there are more.
            let passed = escapes::pass(&self.text.as_bytes()[self.at..]);
            self.at += passed;
            if passed > 0 {
                continue;
            }
            self.at += 1;
            if self.pass(b"u") {
                self.code_unit()?;
            } else {
                unescaped(self.byte()?)?;
                self.at += 1;
            }
        }
        self.take(b'"')
    }

    /// Over plain characters of a string, to the byte behind them.
    fn pass_plain(&mut self) -> Option<u8> {
        while let Some(block) = self.block() {
            let plain = plain_bytes(block);
            self.at += plain;
            if plain < BLOCK {
                return self.byte();
            }
        }
        while self.byte().is_some_and(is_plain) {
            self.at += 1;
        }
        self.byte()
    }

    /// The same, and copies them.
    fn copy_plain(&mut self, to: &mut Vec<u8>) -> Option<u8> {
        while let Some(block) = self.block() {
            let plain = plain_bytes(block);
            self.at += plain;
            // As many bytes each time: that is one instruction.
            to.extend_from_slice(block);
            if plain < BLOCK {
                to.truncate(to.len() - BLOCK + plain);
                return self.byte();
            }
        }
        let start = self.at;
        let special = self.pass_plain();
        to.extend_from_slice(&self.text.as_bytes()[start..self.at]);
        special
    }

    /// The next bytes, if there are so many.
    fn block(&self) -> Option<&'a [u8; BLOCK]> {
        self.text.as_bytes().get(self.at..)?.first_chunk()
    }

    fn decode_escape(&mut self, to: &mut Vec<u8>) -> Option<()> {
        self.at += 1;
        let mut utf8 = [0; 4];
        to.extend_from_slice(self.escaped()?.encode_utf8(&mut utf8).as_bytes());
        Some(())
    }

    /// The character that the escape behind a backslash stands for.
    fn escaped(&mut self) -> Option<char> {
        let byte = self.byte()?;
        self.at += 1;
        if byte != b'u' {
            return unescaped(byte);
        }
        let first = self.code_unit()?;
        let units = match first {
            0xD800..0xDC00 => {
                self.word("\\u")?;
                [first, self.code_unit()?]
            }
            _ => [first, 0],
        };
        char::decode_utf16(units).next()?.ok()
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| {
            let value = char::from(*digit).to_digit(16)?;
            Some(unit << 4 | value as u16)
        })
    }

    fn number(&mut self) -> Option<()> {
        self.pass(b"-");
        match self.byte()? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.pass(b".") {
            self.digits()?;
        }
        if self.pass(b"eE") {
            self.pass(b"+-");
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    /// Passes over the next byte if it is one of these.
    fn pass(&mut self, bytes: &[u8]) -> bool {
        let is_one = self.byte().is_some_and(|byte| bytes.contains(&byte));
        self.at += usize::from(is_one);
        is_one
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then_some(())?;
        self.at += word.len();
        Some(())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then_some(())?;
        self.at += 1;
        Some(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
            self.is_spaced = true;
        }
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

/// The brackets that are open.
#[derive(Default)]
struct Open {
    /// The innermost ones, one bit for each, the last one in the lowest; a set bit is an object.
    inner: u64,
    depth: usize,
    /// Those around them, so many in each as there are bits.
    outer: Vec<u64>,
}

impl Open {
    const BITS: usize = u64::BITS as usize;

    fn push(&mut self, bracket: u8) {
        if self.depth > 0 && self.depth.is_multiple_of(Open::BITS) {
            self.outer.push(self.inner);
        }
        self.inner = self.inner << 1 | u64::from(bracket == b'{');
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(Open::BITS) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }

    fn last(&self) -> Option<u8> {
        (self.depth > 0).then_some(if self.inner & 1 == 1 { b'{' } else { b'[' })
    }
}

fn closing(bracket: u8) -> u8 {
    if bracket == b'{' { b'}' } else { b']' }
}

/// What the byte behind a backslash stands for.
fn unescaped(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

/// A byte that stands for itself in a string.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// How many bytes of a block are plain, up to the first one that is not.
fn plain_bytes(block: &[u8; BLOCK]) -> usize {
    let bytes = u8x16::new(*block);
    let equals = |byte| bytes.simd_eq(u8x16::splat(byte));
    let controls = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    let special = equals(b'"') | equals(b'\\') | controls;
    (special.to_bitmask().trailing_zeros() as usize).min(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The value, put together from what a cursor hands over.
    fn built(cursor: &mut Cursor) -> Option<Value> {
        match cursor.peek()? {
            b'{' => {
                let mut map = serde_json::Map::new();
                cursor.object(|key, value| {
                    map.insert(key.into_owned(), built(value)?);
                    Some(())
                })?;
                Some(map.into())
            }
            b'[' => {
                let mut all = Vec::new();
                cursor.array(|value| {
                    all.push(built(value)?);
                    Some(())
                })?;
                Some(all.into())
            }
            b'"' => cursor.string().map(|text| text.into_owned().into()),
            _ => serde_json::from_str(cursor.value()?.get()).ok(),
        }
    }

    /// Both take the same texts, and make the same of them.
    fn agree(text: &str) -> bool {
        let plain: Option<&RawValue> = serde_json::from_str(text).ok();
        let raw = Raw::parse(text).map(Raw::get);
        assert_eq!(raw, plain.map(RawValue::get), "{text:?}");
        let mut cursor = Cursor::new(text);
        let value = built(&mut cursor).filter(|_| cursor.end().is_some());
        assert_eq!(value, serde_json::from_str::<Value>(text).ok(), "{text:?}");
        raw.is_some()
    }

    #[test]
    fn it_takes_what_serde_json_takes_and_nothing_else() {
        for text in [
            "{}",
            "[]",
            " [ ] ",
            "{\"a\":[1,{\"b\":null}],\"a\":2}",
            "\"\\u00e9\\ud83d\\ude00\\/\"",
            "-0",
            "0.5e+3",
            "12E-1",
            "true",
            " false ",
            "[[[]],{}]",
            "\"é\u{7f}\"",
            "\t1\r\n",
        ] {
            assert!(agree(text), "{text:?}");
        }
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1 2]",
            "[}",
            "{]",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "tru",
            "nul",
            "truex",
            "\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"a\nb\"",
            "\"a\u{1}\"",
            "1 1",
            "{} x",
            "\u{feff}1",
            "NaN",
            "\u{a0}1",
            "\"\\u1\u{e9}2\"",
        ] {
            assert!(!agree(text), "{text:?}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_passed_over_but_no_text() {
        for text in [r#""\ud800""#, r#""\ud800\n""#, r#""\udc00""#, r#""\ud800\ud800""#] {
            assert!(Raw::parse(text).is_some(), "{text}");
            assert_eq!(Cursor::new(text).string(), None, "{text}");
            assert!(serde_json::from_str::<String>(text).is_err(), "{text}");
        }
    }

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

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(Raw::parse(&deep).map(Raw::get), Some(deep.as_str()));
        assert_eq!(Raw::parse(&deep[1..]), None);
        for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
            // Objects and lists in an order that does not repeat with the depth.
            let is_object = |at: &usize| at * at / 7 % 2 == 0;
            let open = |at| if is_object(&at) { "{\"a\":" } else { "[" };
            let close = |at| if is_object(&at) { "}" } else { "]" };
            let opened: String = (0..depth).map(open).collect();
            let closed: String = (0..depth).rev().map(close).collect();
            assert!(Raw::parse(&format!("{opened}0{closed}")).is_some(), "{depth}");
            let swapped = closed.replace('}', "x").replace(']', "}").replace('x', "]");
            assert!(Raw::parse(&format!("{opened}0{swapped}")).is_none(), "{depth}");
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            (-1e9f64..1e9).prop_map(Value::from),
            "[a\"\\\\\n\t\u{1}é😀/ ]{0,80}".prop_map(Value::from),
        ];
        let nested = leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a\"é]{0,3}", inner), 0..6)
                    .prop_map(|fields| fields.into_iter().collect::<Value>()),
            ]
        });
        (nested, any::<bool>()).prop_map(|(value, pretty)| match pretty {
            true => serde_json::to_string_pretty(&value).unwrap(),
            false => value.to_string(),
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_json_writes(text in json()) {
            prop_assert!(agree(&text));
        }

        #[test]
        fn damage_is_seen_as_serde_json_sees_it(text in json(), place in any::<prop::sample::Index>(), put in "[\"\\\\{}\\[\\],:0-9eE.u\u{1} ]{0,2}", len in 0usize..3) {
            let chars: Vec<char> = text.chars().collect();
            let at = place.index(chars.len() + 1);
            let rest = chars.iter().skip(at + len);
            let text: String = chars.iter().take(at).copied().chain(put.chars()).chain(rest.copied()).collect();
            agree(&text);
        }
    }
}
