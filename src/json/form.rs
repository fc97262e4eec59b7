//! Reading what has a known form, and saying which field has another one.

use serde::Deserialize;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
