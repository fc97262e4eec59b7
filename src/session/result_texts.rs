//! The texts of a tool result without decoding them: most bytes of a session are theirs, and a search
//! wants few of their lines.

use std::borrow::Cow;

use crate::json::{self, Cursor};

/// The texts of a tool result, as they stand in its line.
#[derive(Debug)]
pub struct ResultTexts<'a> {
    pub tool_name: Cow<'a, str>,
    pub is_error: Option<bool>,
    /// The inside of each string: escapes are as JSON has them.
    pub texts: Vec<&'a str>,
}

impl<'a> ResultTexts<'a> {
    /// `None` says nothing about the line: it may be a result with other blocks than texts, or of
    /// another form.
    pub fn of_line(line: &'a str) -> Option<ResultTexts<'a>> {
        let mut cursor = Cursor::new(line);
        let (mut kind, mut result) = (None, None);
        cursor.object(|key, cursor| {
            match &*key {
                "type" => kind = Some(cursor.string()?),
                "message" => result = Some(ResultTexts::of_message(cursor)?),
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        cursor.end()?;
        result.filter(|_| kind.as_deref() == Some("message"))
    }

    fn of_message(cursor: &mut Cursor<'a>) -> Option<ResultTexts<'a>> {
        let (mut role, mut tool_name, mut is_error, mut texts) = (None, None, None, None);
        cursor.object(|key, cursor| {
            match &*key {
                "role" => role = Some(cursor.string()?),
                "toolName" => tool_name = Some(cursor.string()?),
                "isError" => is_error = json::bool(cursor.value()?),
                "content" => texts = Some(inside_texts(cursor)?),
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        (role? == "toolResult").then_some(())?;
        Some(ResultTexts { tool_name: tool_name?, is_error, texts: texts? })
    }
}

fn inside_texts<'a>(cursor: &mut Cursor<'a>) -> Option<Vec<&'a str>> {
    let mut texts = Vec::new();
    cursor.array(|cursor| {
        let (mut kind, mut text) = (None, None);
        cursor.object(|key, cursor| {
            match &*key {
                "type" => kind = Some(cursor.string()?),
                "text" => text = Some(cursor.value()?.get()),
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        (kind? == "text").then_some(())?;
        texts.push(text?.strip_prefix('"')?.strip_suffix('"')?);
        Some(())
    })?;
    Some(texts)
}
