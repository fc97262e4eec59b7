//! What a compaction must take out of a session and how it must look, worked out from the raw
//! entries by the rules of Pi and of the checkpoint's format. Shares no code with what it checks.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::session::Session;
use super::text::as_read;

/// The entries from the root to this leaf.
pub fn path_to<'s>(session: &'s Session, leaf: Option<&str>) -> Vec<&'s Value> {
    path_in(session.entries(), leaf)
}

pub fn path_in<'e>(entries: impl Iterator<Item = &'e Value>, leaf: Option<&str>) -> Vec<&'e Value> {
    let by_id: HashMap<&str, &Value> = entries.map(|entry| (id(entry), entry)).collect();
    let mut path = Vec::new();
    let mut next = leaf.and_then(|leaf| by_id.get(leaf));
    while let Some(entry) = next {
        path.push(*entry);
        next = entry["parentId"].as_str().and_then(|parent| by_id.get(parent));
    }
    path.reverse();
    path
}

pub fn id(entry: &Value) -> &str {
    entry["id"].as_str().unwrap_or_default()
}

/// Where the context of a path begins, behind or before its newest compaction.
pub fn context_start(path: &[&Value]) -> usize {
    let Some(compaction) = path.iter().rposition(|entry| entry["type"] == "compaction") else {
        return 0;
    };
    let kept = path[compaction]["firstKeptEntryId"].as_str();
    let kept = path[..compaction].iter().position(|entry| Some(id(entry)) == kept);
    kept.unwrap_or(compaction + 1)
}

/// The messages between the beginning of the context and the first kept entry, as a model saw them:
/// what Pi would hand to its summariser.
pub fn span(path: &[&Value], first_kept: &str) -> Vec<Value> {
    let start = context_start(path);
    let end = path
        .iter()
        .rposition(|entry| id(entry) == first_kept)
        .expect("the kept entry is on the path");
    let edits: HashMap<&str, &Value> = path[start..]
        .iter()
        .filter(|entry| entry["type"] == "context_edit")
        .map(|edit| (edit["targetId"].as_str().unwrap_or_default(), &edit["replacement"]))
        .collect();
    let visible = |entry: &&&Value| {
        matches!(entry["type"].as_str(), Some("message" | "custom_message"))
            || (entry["type"] == "branch_summary" && entry["summary"] != "")
    };
    path[start..end.max(start)]
        .iter()
        .filter(visible)
        .filter(|entry| entry["message"]["role"] != "system")
        .filter_map(|entry| edited(entry, edits.get(id(entry)).copied()))
        .collect()
}

fn edited(entry: &Value, edit: Option<&Value>) -> Option<Value> {
    let mut entry = entry.clone();
    match edit {
        None => {}
        Some(Value::Null) => return None,
        Some(replacement) if entry["type"] == "custom_message" => {
            entry["content"] = replacement["content"].clone();
        }
        Some(replacement) => {
            let content = &replacement["content"];
            let wrap = content.is_string() && entry["message"]["role"] != "user";
            entry["message"]["content"] = match wrap {
                true => json!([{ "type": "text", "text": content }]),
                false => content.clone(),
            };
        }
    }
    Some(entry)
}

/// One item of a span: the entry it names and what its text is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub entry: String,
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    /// Any characters of one line: what a signature shows of arguments, the size of an image.
    Anything,
}

/// The items of a span, in order.
pub fn items(span: &[Value]) -> Vec<Item> {
    let outcomes = outcomes(span);
    span.iter().flat_map(|entry| entry_items(entry, &outcomes)).collect()
}

/// The outcome label of each call that has a result in the span.
fn outcomes(span: &[Value]) -> HashMap<&str, String> {
    let results = span.iter().filter(|entry| entry["message"]["role"] == "toolResult");
    results
        .filter_map(|entry| {
            let outcome = match entry["message"]["isError"].as_bool()? {
                true => "error",
                false => "ok",
            };
            Some((entry["message"]["toolCallId"].as_str()?, format!("[{outcome} {}]", id(entry))))
        })
        .collect()
}

fn entry_items(entry: &Value, outcomes: &HashMap<&str, String>) -> Vec<Item> {
    let message = &entry["message"];
    let entry_id = id(entry);
    let one = |pieces: Vec<Piece>| vec![Item { entry: entry_id.to_owned(), pieces }];
    let text = |text: String| Piece::Text(as_read(&text));
    match (entry["type"].as_str(), message["role"].as_str()) {
        (Some("branch_summary"), _) => one(vec![text(format!(
            "[Branch summary]: {}",
            entry["summary"].as_str().unwrap_or_default()
        ))]),
        (Some("custom_message"), _) => match entry["customType"].as_str().unwrap_or_default() {
            ours if ours.starts_with("stet.") => Vec::new(),
            other => one(vec![text(format!("[Custom]: {other} [content removed {entry_id}]"))]),
        },
        (_, Some("bashExecution")) if message["excludeFromContext"] == true => Vec::new(),
        (_, Some("bashExecution")) => {
            let outcome = match message["exitCode"].as_i64() {
                _ if message["cancelled"] == true => "unknown",
                None => "unknown",
                Some(0) => "ok",
                Some(_) => "error",
            };
            let end = text(format!(" [{outcome} {entry_id}]"));
            one(vec![text("[User bash]: $ ".into()), Piece::Anything, end])
        }
        (_, Some("user")) => user_item(entry).into_iter().collect(),
        (_, Some("assistant")) => assistant_items(entry, outcomes),
        _ => Vec::new(),
    }
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn text_of(block: &Value) -> Option<&str> {
    block["text"].as_str().filter(|_| block["type"] == "text")
}

fn user_item(entry: &Value) -> Option<Item> {
    let mut pieces = vec![Piece::Text("[User]: ".into())];
    let mut blank = true;
    for (at, block) in blocks(&entry["message"]["content"]).iter().enumerate() {
        let separator = if at == 0 { "" } else { "\n" };
        if let Some(text) = text_of(block) {
            blank &= text.trim().is_empty();
            pieces.push(Piece::Text(as_read(&format!("{separator}{text}"))));
        } else if block["type"] == "image" {
            blank = false;
            let mime_type = block["mimeType"].as_str().unwrap_or_default();
            pieces.push(Piece::Text(format!("{separator}[image {mime_type}, ")));
            pieces.push(Piece::Anything);
            pieces.push(Piece::Text(format!(", entry {}]", id(entry))));
        }
    }
    (!blank).then(|| Item { entry: id(entry).to_owned(), pieces })
}

fn assistant_items(entry: &Value, outcomes: &HashMap<&str, String>) -> Vec<Item> {
    let mut items: Vec<Vec<Piece>> = Vec::new();
    let (mut prose, mut calls) = (Vec::new(), Vec::new());
    let mut flush = |prose: &mut Vec<String>, calls: &mut Vec<Value>| {
        if prose.iter().any(|text| !text.trim().is_empty()) {
            items.push(vec![Piece::Text(as_read(&format!("[Assistant]: {}", prose.join("\n"))))]);
        }
        if !calls.is_empty() {
            items.push(call_pieces(calls, outcomes));
        }
        prose.clear();
        calls.clear();
    };
    for block in blocks(&entry["message"]["content"]) {
        if let Some(text) = text_of(&block) {
            if !calls.is_empty() {
                flush(&mut prose, &mut calls);
            }
            prose.push(text.to_owned());
        } else if block["type"] == "toolCall" {
            if !prose.is_empty() {
                flush(&mut prose, &mut calls);
            }
            calls.push(block);
        }
    }
    flush(&mut prose, &mut calls);
    if let Some(end @ ("aborted" | "error" | "length")) = entry["message"]["stopReason"].as_str() {
        items.push(vec![Piece::Text(format!("[Assistant message ended: {end} {}]", id(entry)))]);
    }
    items.into_iter().map(|pieces| Item { entry: id(entry).to_owned(), pieces }).collect()
}

fn call_pieces(calls: &[Value], outcomes: &HashMap<&str, String>) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text("[Assistant tool calls]: ".into())];
    for (at, call) in calls.iter().enumerate() {
        let separator = if at == 0 { "" } else { "; " };
        let name = call["name"].as_str().unwrap_or_default();
        let outcome = outcomes.get(call["id"].as_str().unwrap_or_default());
        pieces.push(Piece::Text(format!("{separator}{name}(")));
        pieces.push(Piece::Anything);
        pieces.push(Piece::Text(format!(") {}", outcome.map_or("[unknown]", String::as_str))));
    }
    pieces
}

/// Fails unless the text is exactly these items, each on a line of its own.
pub fn assert_items(text: &str, items: &[Item]) {
    let mut at = 0;
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            assert!(
                text[at..].starts_with('\n'),
                "item {number} begins on a new line: {:.300?}",
                &text[at..]
            );
            at += 1;
        }
        // An item ends at the end or before the next one; the shortest match that does is it.
        let rest = match_pieces(&text[at..], &item.pieces, number + 1 == items.len());
        at = rest.map(|rest| text.len() - rest.len()).unwrap_or_else(|| {
            panic!("item {number} must be {:?}\nhere stands {:.600?}", item.pieces, &text[at..])
        });
    }
    assert_eq!(&text[at..], "", "the span goes on after its last item");
}

/// What remains behind the pieces, if the text begins with them.
fn match_pieces<'t>(text: &'t str, pieces: &[Piece], is_last: bool) -> Option<&'t str> {
    let Some((piece, more)) = pieces.split_first() else {
        let ends = if is_last { text.is_empty() } else { text.starts_with('\n') };
        return ends.then_some(text);
    };
    match piece {
        Piece::Text(expected) => match_pieces(text.strip_prefix(expected.as_str())?, more, is_last),
        Piece::Anything => {
            let line_end = text.find('\n').unwrap_or(text.len());
            let cuts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            cuts.take_while(|at| *at <= line_end)
                .find_map(|at| match_pieces(&text[at..], more, is_last))
        }
    }
}
