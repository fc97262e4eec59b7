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
    // The first byte of every stand-in in UTF-8; most texts have none, and some are long.
    if memchr::memchr(0xF3, json.as_bytes()).is_none() {
        return json.to_owned();
    }
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

/// One JSON object of a file, as lenient as JavaScript: broken UTF-8 and lone surrogates are U+FFFD.
pub fn parse(bytes: &[u8]) -> Option<serde_json::Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str(&without_lone_surrogates(text)).ok().filter(serde_json::Value::is_object)
}

fn without_lone_surrogates(text: &str) -> String {
    let unit = |escape: &str| u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let len = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(unit(&escape[6..]), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            _ => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        out.push_str(&escape[..len]);
        rest = &escape[len..];
    }
    out + rest
}
