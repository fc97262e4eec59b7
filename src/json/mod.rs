//! Reading JSON that may be damaged or shaped in an unexpected way.
//!
//! Pi parses its files with JavaScript, which takes lone surrogates and replaces broken UTF-8. [`mend`]
//! brings a text to what JavaScript would have read, and [`Fields`] reads an object without insisting
//! on the type of any field, so that one odd value never costs a whole line.

mod brackets;
mod cursor;
pub mod escapes;
mod form;
mod mend;
mod raw;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
pub use cursor::Cursor;
pub use form::read;
pub use mend::mend;
pub use raw::Raw;

/// The fields of one JSON object, each still unparsed. Of a repeated key the last counts, as in
/// JavaScript.
pub struct Fields<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Fields<'a> {
    /// Reads `text`, which must be one JSON object and nothing else.
    pub fn parse(text: &'a str) -> Option<Fields<'a>> {
        let mut cursor = Cursor::new(text);
        match cursor.enter_object()? {
            true => Fields::of(cursor),
            false => cursor.end().map(|()| Fields(Vec::new())),
        }
    }

    /// Reads what is left of an object's text from one of its keys on.
    pub fn parse_rest(text: &'a str) -> Option<Fields<'a>> {
        Fields::of(Cursor::new(text))
    }

    fn of(mut cursor: Cursor<'a>) -> Option<Fields<'a>> {
        let mut all = Vec::with_capacity(8);
        cursor.fields(|key, cursor| {
            all.push((key, cursor.value()?));
            Some(())
        })?;
        cursor.end().map(|()| Fields(all))
    }

    /// The raw value of `key`; absent and `null` are told apart.
    pub fn raw(&self, key: &str) -> Option<Raw<'a>> {
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

    /// The same, borrowed where it has no escapes.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        text(self.raw(key)?)
    }

    /// The boolean at a key; `None` where there is none or something else.
    pub fn bool(&self, key: &str) -> Option<bool> {
        bool(self.raw(key)?)
    }

    /// A number; Pi's integers may come as `50001.5`, so every number is read as `f64`.
    pub fn number(&self, key: &str) -> Option<f64> {
        number_in(self.raw(key)?)
    }

    /// The elements of an array value, unparsed; empty for any other type.
    pub fn array(&self, key: &str) -> Vec<Raw<'a>> {
        self.raw(key).map(elements).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Each key once, at its first place, with the value that counts.
    pub fn last_of_each(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        let mut last: HashMap<&str, Raw<'a>> = self.iter().collect();
        self.iter().filter_map(move |(key, _)| last.remove(key).map(|value| (key, value)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The decoded string of a raw value, `None` if it is not a string.
pub fn string(raw: Raw) -> Option<String> {
    text(raw).map(Cow::into_owned)
}

/// The same, borrowed where it has no escapes.
pub fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    Cursor::new(raw.get()).string()
}

/// The elements of a raw array, empty if it is not an array.
pub fn elements(raw: Raw<'_>) -> Vec<Raw<'_>> {
    let mut all = Vec::new();
    Cursor::new(raw.get()).array(|element| {
        all.push(element.value()?);
        Some(())
    });
    all
}

/// A raw boolean, `None` if it is something else.
pub fn bool(raw: Raw) -> Option<bool> {
    match raw.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A raw number, `None` if it is none or no JavaScript number is as large.
pub fn number_in(raw: Raw) -> Option<f64> {
    raw.get().parse().ok().filter(|number: &f64| number.is_finite())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_types_are_absent_and_the_last_of_a_repeated_key_counts() {
        let fields = Fields::parse(r#"{"a":1,"a":"two","n":1.5,"null":null}"#).unwrap();
        assert_eq!(fields.string("a").as_deref(), Some("two"));
        assert_eq!(fields.number("n"), Some(1.5));
        assert_eq!(fields.string("n"), None);
        assert!(fields.raw("null").is_some() && fields.raw("absent").is_none());
    }
}
