//! `context_grep` with a pattern: every line of the history that matches, newest first. Few
//! matches come with their surroundings, many as one line each.

use regex::{Regex, RegexBuilder};
use std::time::{Duration, Instant};

use super::arguments::GrepQuery;
use super::page::Pager;
use super::transcript::{Belongs, EntryText, Line, Secondary, Transcript};
use super::{Answer, GREP, SEARCH_PAGE};
use crate::error::Result;
use crate::text::counted;

/// Context around a match where none was asked for.
const BEFORE: usize = 2;
const AFTER: usize = 6;
/// Characters of a matching line in the short form, around the match.
const LINE_CHARS: usize = 300;
/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;
/// A search that takes longer ends with what it has, newest first, and says so.
const PATIENCE: Duration = Duration::from_millis(800);
/// Matches that are kept; all are counted.
const MAX_HITS: usize = 20_000;

/// A pattern, and what to say about how it was taken.
pub struct Pattern {
    regex: Regex,
    note: Option<String>,
}

impl Pattern {
    /// Patterns that the engine cannot take (look-around, back-references, too large) are searched
    /// as the text they are.
    pub fn new(pattern: &str, case_sensitive: bool) -> Option<Pattern> {
        let build = |pattern: &str| {
            RegexBuilder::new(pattern)
                .case_insensitive(!case_sensitive)
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(2 * PATTERN_BYTES)
                .build()
        };
        match build(pattern) {
            Ok(regex) => Some(Pattern { regex, note: None }),
            Err(error) => {
                let why = match error {
                    regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                    error => error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
                };
                let note = format!(
                    "The pattern was searched as literal text, not as a regular expression ({why})."
                );
                Some(Pattern { regex: build(&regex::escape(pattern)).ok()?, note: Some(note) })
            }
        }
    }
}

struct Hit {
    /// Number in `Found::entries`.
    entry: usize,
    number: usize,
    section: String,
    line: String,
    /// How often the same line stands in the same entry.
    times: usize,
}

#[derive(Default)]
struct Found {
    entries: Vec<Head>,
    hits: Vec<Hit>,
    lines: usize,
    left_out: [usize; 3],
    /// Entries looked at before patience ran out, if it did.
    cut_short_after: Option<usize>,
    /// The surroundings of each entry's matches while they fit one page.
    surroundings: Option<Vec<String>>,
    surroundings_len: usize,
}

struct Head {
    id: String,
    header: String,
    what: String,
}

pub fn answer(transcript: &Transcript, query: &GrepQuery, pattern: &str) -> Result<Answer> {
    let Some(compiled) = Pattern::new(pattern, query.case_sensitive) else {
        return Ok(Answer::nothing(
            "The pattern is too large to search for; use a part of it.".to_owned(),
        ));
    };
    let found = search(transcript, query, &compiled.regex)?;
    let title = title(&found, &compiled, pattern);
    if found.hits.is_empty() {
        return Ok(Answer::nothing(title));
    }
    let asked_for_context = query.before.is_some() || query.after.is_some();
    let mut pager = Pager::new(SEARCH_PAGE, query.paging.page);
    let limit = query.max_matches.unwrap_or(usize::MAX);
    match &found.surroundings {
        Some(blocks) if asked_for_context || found.surroundings_len <= SEARCH_PAGE => {
            for (head, block) in found.entries.iter().zip(blocks).take(limit) {
                pager.push(
                    &format!("{}\n{block}", head.header),
                    &format!("({}, continued)\n", head.header),
                );
            }
        }
        _ => {
            for hit in found.hits.iter().take(limit) {
                let head = &found.entries[hit.entry];
                pager.push(&short_form(head, hit), "");
            }
        }
    }
    let (text, pages) = pager.finish();
    Ok(super::page_of(transcript, title, text, query.paging.page, pages, GREP))
}

fn short_form(head: &Head, hit: &Hit) -> String {
    let times = if hit.times > 1 { format!(" (×{})", hit.times) } else { String::new() };
    format!("{} {}{}, line {}{times}: {}", head.id, head.what, hit.section, hit.number, hit.line)
}

fn search(transcript: &Transcript, query: &GrepQuery, regex: &Regex) -> Result<Found> {
    let start = Instant::now();
    let mut found = Found { surroundings: Some(Vec::new()), ..Found::default() };
    let explicit = query.before.is_some() || query.after.is_some();
    for (looked_at, entry) in transcript.entries().rev().enumerate() {
        if start.elapsed() > PATIENCE {
            found.cut_short_after = Some(looked_at);
            break;
        }
        let entry = entry?;
        let before = found.hits.len();
        let matching = matches_in(&entry, query, regex, &mut found);
        if found.hits.len() > before {
            found.entries.push(Head {
                id: entry.id.clone(),
                header: entry.header(),
                what: entry.what.clone(),
            });
            if explicit || found.surroundings_len <= SEARCH_PAGE {
                let block = surroundings(&entry, &matching, query);
                found.surroundings_len +=
                    block.chars().count() + entry.header().chars().count() + 2;
                if let Some(blocks) = &mut found.surroundings {
                    blocks.push(block);
                }
            } else {
                found.surroundings = None;
            }
        }
    }
    Ok(found)
}

/// The numbers of the matching lines; notes them in `found`.
fn matches_in(
    entry: &EntryText,
    query: &GrepQuery,
    regex: &Regex,
    found: &mut Found,
) -> Vec<usize> {
    let mut matching = Vec::new();
    let first_hit = found.hits.len();
    for Line { number, section, text } in entry.lines() {
        let Some(section) = section else { continue };
        let belongs = query.scope.of(section);
        if belongs == Belongs::No {
            continue;
        }
        let Some(at) = regex.find(text) else { continue };
        if let Belongs::LeftOut(secondary) = belongs {
            found.left_out[secondary as usize] += 1;
            continue;
        }
        found.lines += 1;
        matching.push(number);
        let line = around(text, at.start());
        let full = found.hits.len() >= MAX_HITS;
        let same = found.hits[first_hit..].iter_mut().rev().take(64).find(|hit| hit.line == line);
        match same {
            Some(hit) => hit.times += 1,
            None if full => {}
            None => {
                let (entry, section) = (found.entries.len(), entry.section_name(section));
                found.hits.push(Hit { entry, number, section, line, times: 1 });
            }
        }
    }
    matching
}

/// A long line around the match.
pub fn around(line: &str, at: usize) -> String {
    if line.chars().count() <= LINE_CHARS {
        return line.trim_end().to_owned();
    }
    let start = line[..at].char_indices().rev().nth(LINE_CHARS / 3).map_or(0, |(at, _)| at);
    let rest = &line[start..];
    let end = rest.char_indices().nth(LINE_CHARS).map_or(rest.len(), |(at, _)| at);
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{before}{}{after}", &rest[..end])
}

/// The matching lines with the lines around them, inside the entry's borders; `>` marks a match.
fn surroundings(entry: &EntryText, matching: &[usize], query: &GrepQuery) -> String {
    let (before, after) = (query.before.unwrap_or(BEFORE), query.after.unwrap_or(AFTER));
    let mut out = String::new();
    let mut next = matching.iter().copied().peekable();
    let mut shown_to = 0;
    for line in entry.lines() {
        while next.peek().is_some_and(|hit| *hit + after < line.number) {
            next.next();
        }
        let Some(hit) = next.peek().copied() else { break };
        if line.number + before < hit {
            continue;
        }
        if shown_to + 1 < line.number && shown_to > 0 {
            out.push_str("  …\n");
        }
        shown_to = line.number;
        let is_hit = matching.binary_search(&line.number).is_ok();
        out.push_str(&format!(
            "{} {:>4}  {}\n",
            if is_hit { '>' } else { ' ' },
            line.number,
            line.text
        ));
    }
    out
}

fn title(found: &Found, pattern: &Pattern, text: &str) -> String {
    let mut title = match found.lines {
        0 => format!("No matches for {text:?}."),
        lines => format!(
            "{} of {text:?} in {}, newest first.",
            counted(lines, "matching line", "matching lines"),
            counted(found.entries.len(), "entry", "entries")
        ),
    };
    if found.lines > MAX_HITS {
        title.push_str(&format!(" The newest {MAX_HITS} are listed."));
    }
    if let Some(note) = left_out_note(found.left_out) {
        title.push(' ');
        title.push_str(&note);
    }
    if let Some(entries) = found.cut_short_after {
        title.push_str(&format!(
            " The search was cut short after the newest {}; narrow it with in or tool, or use a simpler pattern.",
            counted(entries, "entry", "entries")
        ));
    }
    if let Some(note) = &pattern.note {
        title.push(' ');
        title.push_str(note);
    }
    title
}

/// How many lines stand where a search looks only when asked to.
pub fn left_out_note(left_out: [usize; 3]) -> Option<String> {
    let kinds = [
        (Secondary::Summary, "in compaction summaries (in: [\"summary\"])"),
        (Secondary::Reminder, "in reminders (in: [\"custom\"])"),
        (Secondary::Recovery, "in earlier recovery calls (tool: NAME)"),
    ];
    let parts: Vec<String> = kinds
        .iter()
        .filter(|(kind, _)| left_out[*kind as usize] > 0)
        .map(|(kind, place)| format!("{} {place}", left_out[*kind as usize]))
        .collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join(", ")))
}
