//! A place in a JSON text, which passes over values or decodes strings, in one pass.
//!
//! Most bytes of a session stand in long strings with an escape in each line. This looks at many
//! bytes at a time, which is what `serde_json` does not do; it takes and refuses the same texts.

use std::borrow::Cow;

use wide::u8x16;

use super::brackets::Open;
use super::escapes;
use super::raw::Raw;

/// Bytes looked at together.
const BLOCK: usize = 16;

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
        if self.enter_object()? { self.fields(each) } else { Some(()) }
    }

    /// Into an object, up to its first key; whether it has one. An empty one is passed over.
    pub fn enter_object(&mut self) -> Option<bool> {
        self.take(b'{')?;
        let has_fields = self.peek()? != b'}';
        if !has_fields {
            self.at += 1;
        }
        Some(has_fields)
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
        self.close()?;
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
        self.close()
    }

    /// The quote that ends a string.
    fn close(&mut self) -> Option<()> {
        (self.byte()? == b'"').then_some(())?;
        self.at += 1;
        Some(())
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
mod tests;
