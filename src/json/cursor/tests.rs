use super::*;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

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
        "\"a\n\"",
        "\"\\\\\n\"",
        "{\"a\t\":1}",
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
fn depth_costs_no_stack() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(Raw::parse(&deep).map(Raw::get), Some(deep.as_str()));
    assert_eq!(Raw::parse(&deep[1..]), None);
    for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
        // Objects and lists in an order that does not repeat with the depth.
        let is_object = |at: &usize| (at * at / 7).is_multiple_of(2);
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
    fn damage_is_seen_as_serde_json_sees_it(text in json(), place in any::<prop::sample::Index>(), put in "[\"\\\\{}\\[\\],:0-9eE.u\n\u{1} ]{0,2}", len in 0usize..3) {
        let chars: Vec<char> = text.chars().collect();
        let at = place.index(chars.len() + 1);
        let rest = chars.iter().skip(at + len);
        let text: String = chars.iter().take(at).copied().chain(put.chars()).chain(rest.copied()).collect();
        agree(&text);
    }
}
