//! Retained startup reads: what the agent read between the first and the second user message
//! because the project's instructions name it. A checkpoint keeps those outputs word for word.
//!
//! Which file is named is a question of letters: nothing is opened and nothing understood.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::error::Result;
use crate::fence::fenced;
use crate::json::Fields;
use crate::session::pairing::{Outcome, Pairing};
use crate::session::paths::{is_absolute, relative};
use crate::session::projection::Edits;
use crate::session::{Block, Body, Branch, Detail, EntryNo, Role, text_of};
use crate::text::escape_attribute;

/// Instructions that name files.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// Where they stand, for paths relative to them.
    pub path: String,
    pub text: String,
}

/// One selected output.
#[derive(Debug, Clone, PartialEq)]
pub struct StartupRead {
    /// The entry of the result.
    pub entry: String,
    /// Relative to the working directory where it lies inside.
    pub path: String,
    pub offset: Option<f64>,
    pub limit: Option<f64>,
    /// Once a checkpoint holds it, its text is carried from there.
    pub text: Option<String>,
}

/// What is selected so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// The second user message has not come yet: more may be added.
    pub open: bool,
    pub reads: Vec<StartupRead>,
}

/// The selection for the branch: the stored one, completed while it is open; without the reads
/// that were omitted from the context since.
///
/// Errors: the session changed while it was read.
pub fn select(
    branch: &Branch,
    edits: &Edits,
    stored: Option<Selection>,
    given: &[Instructions],
    cwd: &str,
) -> Result<Selection> {
    let mut selection = match stored {
        Some(stored) if !stored.open => stored,
        stored => {
            let mut selection = stored.unwrap_or_default();
            complete(branch, edits, &mut selection, given, cwd)?;
            selection
        }
    };
    selection.reads.retain(|read| {
        let entry = branch.position(&read.entry).and_then(|position| branch.get(position));
        !entry.is_some_and(|entry| matches!(edits.get(&entry), Some(None)))
    });
    Ok(selection)
}

/// The text of a read as the model saw it.
///
/// Errors: the session changed while it was read.
pub fn text(branch: &Branch, edits: &Edits, entry: &str) -> Result<Option<String>> {
    let Some(number) = branch.position(entry).and_then(|position| branch.get(position)) else {
        return Ok(None);
    };
    shown_text(branch, edits, number)
}

fn shown_text(branch: &Branch, edits: &Edits, entry: EntryNo) -> Result<Option<String>> {
    match edits.get(&entry) {
        Some(None) => Ok(None),
        Some(Some(replacement)) => Ok(text_of(replacement)),
        None => match branch.session.read(entry, Detail::All)?.body {
            Body::ToolResult(result) => Ok(result.text()),
            _ => Ok(None),
        },
    }
}

/// The reads from which a selection is made, by the entries of their results.
///
/// Errors: the session changed while it was read.
pub fn all_reads(
    branch: &Branch,
    edits: &Edits,
    cwd: &str,
) -> Result<HashMap<String, StartupRead>> {
    let (interval, _) = interval(branch);
    let candidates = candidates(branch, edits, interval, cwd)?.into_iter();
    let read = |candidate: Candidate| {
        let entry = branch.session.id(candidate.entry).to_owned();
        let Candidate { path, offset, limit, .. } = candidate;
        (entry.clone(), StartupRead { entry, path, offset, limit, text: None })
    };
    Ok(candidates.map(read).collect())
}

/// The positions between the first and the second user message, and whether the second has come.
fn interval(branch: &Branch) -> (Range<usize>, bool) {
    let mut users = branch.iter().filter(|(_, entry)| branch.session.role(*entry) == Role::User);
    let Some((first, _)) = users.next() else {
        return (0..0, false);
    };
    let second = users.next().map(|(position, _)| position);
    (first + 1..second.unwrap_or(branch.len()), second.is_some())
}

struct Candidate {
    entry: EntryNo,
    /// Relative to the working directory where it lies inside.
    path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

fn complete(
    branch: &Branch,
    edits: &Edits,
    selection: &mut Selection,
    given: &[Instructions],
    cwd: &str,
) -> Result<()> {
    let (interval, is_over) = interval(branch);
    selection.open = !is_over;
    let candidates = candidates(branch, edits, interval, cwd)?;

    let mut instructions = if given.is_empty() { of_session(branch)? } else { given.to_vec() };
    for candidate in candidates.iter().filter(|candidate| is_instruction_file(&candidate.path)) {
        if let Some(text) = shown_text(branch, edits, candidate.entry)? {
            instructions.push(Instructions { path: candidate.path.clone(), text });
        }
    }
    // Long before the second user message the same files may have been read many times.
    let mut named: HashMap<String, bool> = HashMap::new();
    let known: HashSet<String> = selection.reads.iter().map(|read| read.entry.clone()).collect();
    for candidate in candidates {
        let id = branch.session.id(candidate.entry);
        let is_named = *named.entry(candidate.path.clone()).or_insert_with(|| {
            instructions.iter().any(|instructions| names(instructions, &candidate.path, cwd))
        });
        if known.contains(id) || !is_named || shown_text(branch, edits, candidate.entry)?.is_none()
        {
            continue;
        }
        selection.reads.push(StartupRead {
            entry: id.to_owned(),
            path: candidate.path,
            offset: candidate.offset,
            limit: candidate.limit,
            text: None,
        });
    }
    Ok(())
}

/// The successful reads of the interval, each certain to belong to its call.
fn candidates(
    branch: &Branch,
    edits: &Edits,
    range: Range<usize>,
    cwd: &str,
) -> Result<Vec<Candidate>> {
    let session = branch.session;
    let mut pairing = Pairing::default();
    let mut calls = Vec::new();
    for position in range {
        let Some(entry) =
            branch.get(position).filter(|entry| !matches!(edits.get(entry), Some(None)))
        else {
            continue;
        };
        if !matches!(session.role(entry), Role::Assistant | Role::ToolResult) {
            continue;
        }
        match session.read(entry, Detail::Kept)?.body {
            Body::Assistant(message) => {
                let content =
                    edits.get(&entry).and_then(Option::as_ref).unwrap_or(&message.content);
                for block in content {
                    if let Block::ToolCall(call) = block {
                        let number = pairing.call(&call.id, &call.name);
                        let arguments =
                            Fields::parse(&call.arguments).filter(|_| call.name == "read");
                        if let Some(arguments) = arguments
                            && let Some(path) = arguments.string("path")
                        {
                            let (offset, limit) =
                                (arguments.number("offset"), arguments.number("limit"));
                            calls.push((number, relative(&path, cwd).into_owned(), offset, limit));
                        }
                    }
                }
            }
            Body::ToolResult(result) => {
                pairing.result(&result.call_id, &result.tool_name, result.is_error, entry);
            }
            _ => {}
        }
    }
    let mut found: Vec<Candidate> = calls
        .into_iter()
        .filter_map(|(number, path, offset, limit)| match pairing.pair(number)? {
            (Outcome::Ok, entry) => Some(Candidate { entry: *entry, path, offset, limit }),
            _ => None,
        })
        .collect();
    found.sort_by_key(|candidate| candidate.entry);
    Ok(found)
}

/// Instructions as the session's own prompt has them.
fn of_session(branch: &Branch) -> Result<Vec<Instructions>> {
    for (_, entry) in branch.iter().rev() {
        if branch.session.role(entry) == Role::System
            && let Body::System { sections, .. } = branch.session.read(entry, Detail::All)?.body
            && let Some((_, text)) = sections.iter().find(|(name, _)| name == "project_context")
        {
            return Ok(of_prompt(text));
        }
    }
    Ok(Vec::new())
}

/// The named instruction blocks of a rendered prompt (`<project_instructions path="…">`).
pub fn of_prompt(prompt: &str) -> Vec<Instructions> {
    let mut found = Vec::new();
    let mut rest = prompt;
    while let Some((_, from)) = rest.split_once("<project_instructions path=\"")
        && let Some((path, body)) = from.split_once("\">")
        && let Some((text, after)) = body.split_once("</project_instructions>")
    {
        found.push(Instructions { path: path.to_owned(), text: text.to_owned() });
        rest = after;
    }
    found
}

fn is_instruction_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "AGENTS.override.md" | "AGENTS.md" | "AGENTS.MD" | "CLAUDE.md" | "CLAUDE.MD")
}

/// Whether the instructions name the file, by whole path, by the path from the working directory
/// or from their own folder, or by its bare name.
fn names(instructions: &Instructions, path: &str, cwd: &str) -> bool {
    let absolute = absolute(path, cwd);
    let own = self::absolute(&instructions.path, cwd);
    let own_folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = absolute.rsplit('/').next().unwrap_or_default().to_owned();
    let mut spellings = vec![from(cwd, &absolute), from(own_folder, &absolute)];
    if name.contains('.') || name.chars().count() >= 3 {
        spellings.push(name);
    }
    spellings.push(absolute);
    spellings
        .iter()
        .any(|spelling| spelling.len() > 1 && stands_alone(&instructions.text, spelling))
}

/// The path as it is written in a folder, with `..` where it lies outside.
fn from(folder: &str, absolute: &str) -> String {
    let mut path: Vec<&str> = absolute.split('/').collect();
    let mut folder: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
    let common = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    path.drain(..common);
    folder.drain(..common);
    [vec![".."; folder.len()], path].concat().join("/")
}

/// A path in a home directory stays as it is: nobody here knows where that lies.
fn absolute(path: &str, cwd: &str) -> String {
    match is_absolute(path) || path.starts_with('~') {
        true => relative(path, "").into_owned(),
        false => relative(&format!("{cwd}/{path}"), "").into_owned(),
    }
}

/// Whether `name` stands in the text as a path of its own: not inside a longer path or name.
fn stands_alone(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].strip_suffix("./").unwrap_or(&text[..at]);
        let after = &text[at + name.len()..];
        // A full stop that ends a sentence belongs to the sentence.
        let after = match after.strip_prefix('.') {
            Some(rest) if !rest.starts_with(is_name_character) => rest,
            _ => after,
        };
        !before.ends_with(is_name_character) && !after.starts_with(is_name_character)
    })
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '\\' | '-')
}

/// The section of the checkpoint.
#[derive(Debug, Default)]
pub struct Section {
    pub text: String,
    /// The byte range of each read's text within it.
    pub texts: Vec<Range<usize>>,
}

pub fn render(reads: &[(StartupRead, String)]) -> Section {
    let mut section = Section::default();
    if reads.is_empty() {
        return section;
    }
    let out = &mut section.text;
    out.push_str("<retained-startup-reads note=\"outputs of the first reads, as they were then; files may have changed since\">\n");
    for (read, text) in reads {
        let mut attributes =
            format!("path=\"{}\" entry=\"{}\"", escape_attribute(&read.path), read.entry);
        for (name, value) in [("offset", read.offset), ("limit", read.limit)] {
            if let Some(value) = value {
                attributes.push_str(&format!(" {name}=\"{value}\""));
            }
        }
        section.texts.push(fenced(out, "startup-read", &attributes, text));
    }
    out.push_str("</retained-startup-reads>\n");
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, path: &str) -> bool {
        let instructions = Instructions { path: "/w/app/docs/AGENTS.md".into(), text: text.into() };
        names(&instructions, path, "/w/app")
    }

    #[test]
    fn a_file_is_named_by_any_of_its_spellings() {
        for text in [
            "Read /w/app/docs/style.md first.",
            "Read docs/style.md.",
            "See ./docs/style.md, then go on",
            "`style.md` is required",
            "[style](style.md)",
            "@docs/style.md",
            "first \"docs/style.md\"",
        ] {
            assert!(named(text, "docs/style.md"), "{text}");
            assert!(named(text, "/w/app/docs/style.md"), "{text}");
        }
    }

    #[test]
    fn a_part_of_another_path_or_name_is_not_it() {
        for text in [
            "old/docs/style.md",
            "docs/style.md.bak",
            "other/style.md",
            "my-style.md",
            "style.mdx",
            "docs/style_md",
            "Style.md",
        ] {
            assert!(!named(text, "docs/style.md"), "{text}");
        }
        assert!(named("see ../README.md", "README.md"));
        assert!(named("see ../../shared/a.md", "/w/shared/a.md"));
        assert!(!named("see ../../../shared/a.md", "/w/shared/a.md"));
        // The folder of the instructions is not the one that `~` or `..` lead to.
        assert!(!named("docs/style.md", "~/docs/style.md"));
        assert!(named("see ~/docs/style.md", "~/docs/style.md"));
        assert!(!named("docs/style.md", "../docs/style.md"));
        // A name that short would match anything.
        assert!(!named("give it a go", "src/a"));
        assert!(named("see src/a for it", "src/a"));
    }

    #[test]
    fn prompts_hold_named_blocks() {
        let prompt = "x\n<project_instructions path=\"/w/AGENTS.md\">\nRead a.md\n</project_instructions>\n\n<project_instructions path=\"/w/app/CLAUDE.md\">\nb\n</project_instructions>";
        let found = of_prompt(prompt);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path.as_str(), found[1].text.trim()), ("/w/AGENTS.md", "b"));
    }
}
