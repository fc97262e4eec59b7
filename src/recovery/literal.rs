//! Finding a short text in many bytes, ASCII letters in either case. A search looks at a hundred
//! megabytes this way.

use std::ops::Range;

use crate::blocks::{BLOCK, equal_folded, padded, places};

/// A text to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    units: Vec<Unit>,
    /// Up to three bytes of the text, the rarest ones: where they stand in it.
    probes: [usize; 3],
    /// The probes lie in `from..to`, a part without a unit that may be wider than one byte.
    from: usize,
    to: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The lower case of a letter that is folded.
    byte: u8,
    /// 0x20 for a letter that stands for both cases.
    fold: u8,
    /// `s` and `k` also stand for `ſ` and the Kelvin sign.
    exotic: bool,
}

impl Unit {
    pub fn exact(byte: u8) -> Unit {
        Unit { byte, fold: 0, exotic: false }
    }

    /// A letter in either case, as Unicode folds it.
    pub fn folded(letter: u8) -> Unit {
        let byte = letter.to_ascii_lowercase();
        Unit { byte, fold: 0x20, exotic: matches!(byte, b's' | b'k') }
    }

    /// A letter in either case of ASCII; any other byte as it is.
    pub fn ascii(byte: u8) -> Unit {
        let fold = if byte.is_ascii_alphabetic() { 0x20 } else { 0 };
        Unit { byte: byte | fold, fold, exotic: false }
    }

    pub fn is_space(self) -> bool {
        self.byte == b' '
    }

    fn is(self, byte: u8) -> bool {
        byte | self.fold == self.byte
    }

    /// How seldom the byte is in what a session holds: the greater the rarer.
    fn rarity(self) -> u32 {
        match self.byte | self.fold {
            b' ' | b'e' | b't' => 1,
            b'a' | b'n' | b'o' | b'r' | b'i' | b's' | b'l' => 2,
            b'c' | b'd' | b'u' | b'p' | b'm' | b'0' | b'1' | b'2' => 3,
            b'f' | b'g' | b'h' | b'y' | b'b' | b'w' | b'v' | b'-' | b'_' | b',' | b'3'..=b'9' => 4,
            b'k' | b'x' | b'(' | b')' | b'=' => 5,
            _ => 6,
        }
    }
}

impl Literal {
    /// `None` where the text is too short, or of `s` and `k` only.
    pub fn new(units: Vec<Unit>) -> Option<Literal> {
        let parts = units.split(|unit| unit.exotic);
        let mut start = 0;
        let mut best: Option<(u32, usize, usize)> = None;
        for part in parts {
            let rarity = part.iter().map(|unit| unit.rarity()).sum::<u32>();
            if part.len() > 1 && best.is_none_or(|(most, _, _)| rarity > most) {
                best = Some((rarity, start, start + part.len()));
            }
            start += part.len() + 1;
        }
        let (_, from, to) = best?;
        let mut places: Vec<usize> = (from..to).collect();
        places.sort_by_key(|place| std::cmp::Reverse(units[*place].rarity()));
        let probe = |n: usize| places[n.min(places.len() - 1)];
        let probes = [probe(0), probe(1), probe(2)];
        Some(Literal { units, probes, from, to })
    }

    /// It is made of at most so many digits.
    pub fn is_number_up_to(&self, digits: usize) -> bool {
        self.units.len() <= digits && self.units.iter().all(|unit| unit.byte.is_ascii_digit())
    }

    /// How seldom the text is: the greater the rarer.
    pub fn rarity(&self) -> u32 {
        self.units.iter().map(|unit| unit.rarity()).sum()
    }

    /// Where in `bytes` the text stands, or may stand, from `at` on: a position inside of it.
    pub fn find(&self, bytes: &[u8], at: usize) -> Option<usize> {
        // Places of the part `from..to`; where the text around it begins is not known if it has
        // units of more than one width.
        let part = self.to - self.from;
        let end = (bytes.len() + 1).checked_sub(part)?;
        let mut at = at;
        while at < end {
            let mut starts = places(self.starts(bytes, at)).map(|place| at + place);
            if let Some(found) = starts.find(|start| self.stands_at(bytes, *start)) {
                return Some(found);
            }
            at += BLOCK;
        }
        None
    }

    /// Where the whole of the text is that was found at a position, byte for byte; `None` if only
    /// a closer look can tell.
    pub fn whole(&self, bytes: &[u8], found: usize) -> Option<Range<usize>> {
        let start = found.checked_sub(self.from)?;
        let here = start..start + self.units.len();
        let units = bytes.get(here.clone())?.iter().zip(&self.units);
        units.into_iter().all(|(byte, unit)| unit.is(*byte)).then_some(here)
    }

    /// From which bytes of the block at `at` on the probes stand together.
    fn starts(&self, bytes: &[u8], at: usize) -> u64 {
        self.probes.iter().fold(u64::MAX, |all, probe| {
            let Some(bytes) = bytes.get(at + probe - self.from..) else { return 0 };
            let unit = self.units[*probe];
            all & match bytes.first_chunk() {
                Some(block) => equal_folded(block, unit.byte, unit.fold),
                None => equal_folded(&padded(bytes), unit.byte, unit.fold),
            }
        })
    }

    /// Whether the text stands where its part `from..to` begins at `start`.
    fn stands_at(&self, bytes: &[u8], start: usize) -> bool {
        let part = &self.units[self.from..self.to];
        let Some(here) = bytes.get(start..start + part.len()) else { return false };
        here.iter().zip(part).all(|(byte, unit)| unit.is(*byte))
            && agrees(&self.units[self.to..], bytes[start + part.len()..].iter())
            && agrees(self.units[..self.from].iter().rev(), bytes[..start].iter().rev())
    }
}

/// Whether the bytes are those of the units; a byte that may be part of a wider one is taken as one.
fn agrees<'u, 'b>(
    units: impl IntoIterator<Item = &'u Unit>,
    mut bytes: impl Iterator<Item = &'b u8>,
) -> bool {
    for unit in units {
        match bytes.next() {
            Some(byte) if unit.is(*byte) => {}
            Some(byte) if unit.exotic && !byte.is_ascii() => return true,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> Option<Literal> {
        let unit = |b: u8| if b.is_ascii_alphabetic() { Unit::folded(b) } else { Unit::exact(b) };
        Literal::new(text.bytes().map(unit).collect())
    }

    #[test]
    fn letters_that_unicode_folds_to_ascii_are_taken_along() {
        let task = folded("task 12").unwrap();
        for text in ["TASK 12", "taſk 12", "tas\u{212a} 12", "ta\u{17f}\u{212a} 12"] {
            assert!(task.find(text.as_bytes(), 0).is_some(), "{text}");
        }
        assert_eq!(task.find("tazk 12".as_bytes(), 0), None);
        assert_eq!(folded("ssk"), None, "nothing in it has one width");
    }

    proptest! {
        /// Against the plainest way, at every place, in texts of the letters of the needle.
        #[test]
        fn it_finds_what_is_there(text in "[abAB1 _\n]{0,300}", needle in "[abAB1_]{2,6}", at in 0usize..20) {
            let literal = folded(&needle).unwrap();
            let (text, needle) = (text.to_lowercase(), needle.to_lowercase());
            let at = at.min(text.len());
            let expected = text[at..].find(&needle).map(|place| place + at);
            prop_assert_eq!(literal.find(text.as_bytes(), at), expected);
        }
    }
}
