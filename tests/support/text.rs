//! Text that JSON can carry and a Rust string cannot: lone halves of surrogate pairs.

/// Characters of a private plane stand for lone surrogates until a line is written.
const STAND_INS: std::ops::RangeInclusive<u32> = 0xF_D800..=0xF_DFFF;

/// The stand-in for a lone surrogate such as `0xD83D`.
pub fn lone(unit: u16) -> char {
    assert!((0xD800..=0xDFFF).contains(&unit), "{unit:x} is no surrogate");
    char::from_u32(0xF_0000 | u32::from(unit)).expect("plane 15 has no holes")
}

/// A JSON text as it stands in the file: stand-ins become `\ud83d` escapes.
pub fn wire(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match STAND_INS.contains(&(c as u32)) {
            true => out.push_str(&format!("\\u{:04x}", c as u32 & 0xFFFF)),
            false => out.push(c),
        }
    }
    out
}

/// A text as a reader gets it: a lone surrogate is U+FFFD, two that fit are one character.
pub fn as_read(text: &str) -> String {
    let mut units = Vec::with_capacity(text.len());
    for c in text.chars() {
        match STAND_INS.contains(&(c as u32)) {
            true => units.push((c as u32 & 0xFFFF) as u16),
            false => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16_lossy(&units)
}
