//! JSON texts: the cursor takes and refuses what `serde_json` does, and makes the same of it.

use pi_stet::json::{Cursor, Raw, mend};
use serde_json::Value;
use serde_json::value::RawValue;

pub fn run(data: &[u8]) {
    let text = mend(data);
    let raw = Raw::parse(&text);
    let plain: Option<&RawValue> = serde_json::from_str(&text).ok();
    assert_eq!(raw.map(Raw::get), plain.map(RawValue::get), "{text:?}");
    let mut cursor = Cursor::new(&text);
    let value = built(&mut cursor, 0).filter(|_| cursor.end().is_some());
    // A value that is too deep, or a number that is too large, is refused by serde_json as it reads.
    if let Ok(expected) = serde_json::from_str::<Value>(&text) {
        assert_eq!(value, Some(expected), "{text:?}");
    }
    if let (Some(raw), Some(plain)) = (raw, plain) {
        let compact = raw.compact();
        assert_eq!(compact, Raw::from(plain).compact(), "{text:?}");
        assert_eq!(
            serde_json::from_str::<Value>(&compact).ok(),
            serde_json::from_str::<Value>(&text).ok()
        );
    }
}

/// Deeper than `serde_json` goes.
const DEEPEST: usize = 200;

/// The value, put together from what a cursor hands over.
fn built(cursor: &mut Cursor, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    match cursor.peek()? {
        b'{' => {
            let mut map = serde_json::Map::new();
            cursor.object(|key, value| {
                map.insert(key.into_owned(), built(value, depth + 1)?);
                Some(())
            })?;
            Some(map.into())
        }
        b'[' => {
            let mut all = Vec::new();
            cursor.array(|value| {
                all.push(built(value, depth + 1)?);
                Some(())
            })?;
            Some(all.into())
        }
        b'"' => cursor.string().map(|text| text.into_owned().into()),
        _ => serde_json::from_str(cursor.value()?.get()).ok(),
    }
}
