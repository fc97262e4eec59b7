//! The matching lines of one entry, as far as the answer has a use for them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lines::{self, Match};
use super::rows::{MAX_ROWS, Row};
use crate::error::Result;
use crate::recovery::arguments::GrepQuery;
use crate::recovery::pattern::{Patience, Pattern, Spent};
use crate::recovery::readable::secondary_of_tool;
use crate::recovery::row::{LeftOut, around, row};
use crate::recovery::transcript::{Belongs, Candidate, EntryText, SectionKind};
use crate::session::EntryNo;

/// Characters of a line in the short form.
const SHORT_LINE: usize = 240;
/// A longer line is read when it is its turn, so that several of them are not held at once.
const LARGE: usize = 2 << 20;

/// What comes of an entry.
pub enum Met {
    CannotMatch,
    Found(Found),
    Large(EntryNo),
    /// Time was up before.
    Spent,
}

/// Its matching lines.
#[derive(Default)]
pub struct Found {
    pub lines: usize,
    /// Without those that are equal to another one of the entry; at least one of them, where they
    /// were only counted.
    pub different: usize,
    pub left_out: LeftOut,
    /// The time was up before its end.
    pub is_cut_short: bool,
    /// The different ones, as many as can be listed, if rows are wanted.
    pub rows: Vec<Row>,
    /// The entry and the different ones, if their surroundings are wanted.
    pub whole: Option<(EntryText, Vec<Hit>)>,
}

impl Found {
    /// So many lines of one section.
    fn counted(belongs: Belongs, lines: usize) -> Found {
        let mut found = Found::default();
        match belongs {
            Belongs::No => {}
            Belongs::LeftOut(secondary) => found.left_out.add(secondary, lines),
            Belongs::Yes => found.lines = lines,
        }
        found.different = usize::from(found.lines > 0);
        found
    }
}

/// A matching line of an entry.
pub struct Hit {
    pub number: usize,
    pub at: Range<usize>,
    /// How often the same line stands in the entry.
    pub times: usize,
}

/// What is looked for. Entries may be looked at by two threads; what is no longer wanted of those
/// that follow is said to both.
pub struct Look<'q> {
    query: &'q GrepQuery,
    pattern: &'q Pattern,
    patience: Patience,
    rows: AtomicBool,
    surroundings: AtomicBool,
}

impl<'q> Look<'q> {
    pub fn new(query: &'q GrepQuery, pattern: &'q Pattern, with_rows: bool) -> Look<'q> {
        Look {
            query,
            pattern,
            patience: pattern.patience(),
            rows: AtomicBool::new(with_rows),
            surroundings: AtomicBool::new(true),
        }
    }

    /// Of the entries that follow no rows are wanted.
    pub fn without_rows(&self) {
        self.rows.store(false, Ordering::Relaxed);
    }

    /// Of the entries that follow no surroundings are wanted.
    pub fn without_surroundings(&self) {
        self.surroundings.store(false, Ordering::Relaxed);
    }

    fn wants_rows(&self) -> bool {
        self.rows.load(Ordering::Relaxed)
    }

    fn wants_surroundings(&self) -> bool {
        self.surroundings.load(Ordering::Relaxed)
    }

    /// Looks at an entry that is not read yet.
    ///
    /// Errors: the session changed while it was read.
    pub fn candidate(&self, candidate: &Candidate) -> Result<Met> {
        if self.patience.is_over() {
            return Ok(Met::Spent);
        }
        let sieve = self.pattern.sieve.as_ref();
        if sieve.is_some_and(|sieve| !sieve.lets_through(candidate.line, candidate.role)) {
            return Ok(Met::CannotMatch);
        }
        if candidate.line.len() > LARGE {
            return Ok(Met::Large(candidate.entry));
        }
        let unread = if self.wants_surroundings() { None } else { self.unread(candidate) };
        Ok(Met::Found(match unread {
            Some(found) => found,
            None => self.entry(candidate.read()?),
        }))
    }

    /// A tool result as it stands in the session's line: most bytes of a session are theirs.
    fn unread(&self, candidate: &Candidate) -> Option<Found> {
        let (sieve, result) = (self.pattern.sieve.as_ref()?, candidate.result()?);
        let kind = SectionKind::ToolResult;
        let tool = Some(result.tool_name.as_ref());
        let belongs = self.query.scope.belongs(kind, tool, secondary_of_tool(&result.tool_name));
        if let Some(text) = self.pattern.text.as_ref().filter(|_| !self.wants_rows()) {
            let counts = result.texts.iter().map(|inside| lines::count_in_json(text, inside));
            if let Some(lines) = counts.sum() {
                return Some(Found::counted(belongs, lines));
            }
        }
        let mut search = Search::new(self);
        search.sections.push((kind, Some(result.tool_name)));
        let mut patience = self.patience.clone();
        let mut number = 1;
        for text in result.texts {
            // What does not belong is searched too, for the numbers of the lines.
            let breaks = lines::in_json(self.pattern, sieve, text, &mut patience, |found| {
                search.take(belongs, number, found);
            });
            match breaks {
                Ok(breaks) => number += breaks + 1,
                Err(Spent) => {
                    search.found.is_cut_short = true;
                    break;
                }
            }
        }
        Some(search.end(candidate.id(), result.is_error == Some(true)).0)
    }

    /// Looks at an entry that was read.
    pub fn entry(&self, entry: EntryText) -> Found {
        let mut search = Search::new(self);
        let mut patience = self.patience.clone();
        for (first, section) in entry.numbered() {
            let belongs = self.query.scope.of(section);
            if belongs == Belongs::No {
                continue;
            }
            search.sections.push((section.kind, section.tool.as_deref().map(Cow::Borrowed)));
            let searched = lines::in_text(self.pattern, &section.text, &mut patience, |found| {
                search.take(belongs, first, found);
            });
            if searched == Err(Spent) {
                search.found.is_cut_short = true;
                break;
            }
        }
        let (mut found, hits) = search.end(&entry.id, entry.failed);
        if self.wants_surroundings() && !hits.is_empty() {
            found.whole = Some((entry, hits));
        }
        found
    }
}

/// The matching lines of an entry, each kept once.
struct Search<'l, 'q, 'e> {
    look: &'l Look<'q>,
    found: Found,
    /// Those that were searched; the last one is now.
    sections: Vec<(SectionKind, Option<Cow<'e, str>>)>,
    /// Of each different line the first hit, with its section, and which of the hits it is.
    hits: Vec<(Hit, usize)>,
    numbers: HashMap<Cow<'e, str>, usize>,
}

impl<'l, 'q, 'e> Search<'l, 'q, 'e> {
    fn new(look: &'l Look<'q>) -> Search<'l, 'q, 'e> {
        Search {
            look,
            found: Found::default(),
            sections: Vec::new(),
            hits: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn take(&mut self, belongs: Belongs, first: usize, Match { breaks, line, at }: Match<'e>) {
        match belongs {
            Belongs::No => return,
            Belongs::LeftOut(secondary) => return self.found.left_out.add(secondary, 1),
            Belongs::Yes => self.found.lines += 1,
        }
        if !(self.look.wants_rows() || self.look.wants_surroundings()) {
            return;
        }
        let next = self.hits.len();
        match *self.numbers.entry(line).or_insert(next) {
            number if number < next => self.hits[number].0.times += 1,
            _ => {
                let hit = Hit { number: first + breaks, at, times: 1 };
                self.hits.push((hit, self.sections.len() - 1));
            }
        }
    }

    /// What was found, and the different lines of it.
    fn end(self, id: &str, failed: bool) -> (Found, Vec<Hit>) {
        let Search { look, mut found, sections, hits, numbers } = self;
        found.different = hits.len().max(usize::from(found.lines > 0));
        if look.wants_rows() {
            let listed = hits.len().min(MAX_ROWS);
            let mut lines = vec![""; listed];
            for (line, number) in numbers.iter().filter(|(_, number)| **number < listed) {
                lines[*number] = line;
            }
            let row = |((hit, section), line): (&(Hit, usize), &str)| {
                let (kind, tool) = &sections[*section];
                short_form(id, &kind.tag(tool.as_deref(), failed), hit, line)
            };
            found.rows = hits.iter().zip(lines).map(row).collect();
        }
        (found, hits.into_iter().map(|(hit, _)| hit).collect())
    }
}

fn short_form(id: &str, tag: &str, hit: &Hit, line: &str) -> Row {
    let shown = around(line, &hit.at, SHORT_LINE);
    Row::new(row(id, tag, hit.number, hit.times, &shown), is_of_whole_words(line, &hit.at))
}

/// Whether a match begins and ends where words do.
fn is_of_whole_words(line: &str, at: &Range<usize>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let begins = !joins(line[..at.start].chars().next_back());
    let ends = !joins(line[at.end..].chars().next());
    begins && ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::arguments::{Paging, Search};
    use crate::recovery::transcript::{Scope, Section, Transcript};
    use crate::session::{Leaf, Reading, Session};
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Value, json};
    use std::ops::ControlFlow;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#;

    /// A result of one or more texts, seldom of something else.
    fn result() -> impl Strategy<Value = Value> {
        let text = "(name|Name|na|an error|\\\\|\"|\n|\n|\r\n|\t|é|ſ| |\u{1b}){0,30}";
        let blocks = prop::collection::vec((text, any::<u8>()), 0..4).prop_map(|texts| {
            let block = |(text, dice): &(String, u8)| match dice {
                0..4 => json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" }),
                _ => json!({ "type": "text", "text": text }),
            };
            texts.iter().map(block).collect::<Vec<_>>()
        });
        let tool = select(&["bash", "read", "context_grep", "a\nb"]);
        (blocks, tool, select(&[json!(true), json!(false), Value::Null])).prop_map(
            |(content, tool, is_error)| {
                json!({ "role": "toolResult", "toolCallId": "c", "toolName": tool, "content": content, "isError": is_error })
            },
        )
    }

    fn told(found: &Found) -> (usize, usize, Vec<&str>, String) {
        let rows = found.rows.iter().map(|row| row.text.as_str()).collect();
        (found.lines, found.different, rows, format!("{:?}", found.left_out))
    }

    fn query(pattern: &str, tool: Option<&str>) -> GrepQuery {
        GrepQuery {
            search: Search::Pattern(pattern.to_owned()),
            before: None,
            after: None,
            max_matches: None,
            case_sensitive: false,
            scope: Scope { kinds: None, tool: tool.map(str::to_owned) },
            paging: Paging { page: 1, through_entry: None },
        }
    }

    fn entry_of(text: String) -> EntryText {
        let section = Section {
            kind: SectionKind::ToolResult,
            tool: Some("bash".to_owned()),
            secondary: None,
            label: None,
            text,
        };
        EntryText {
            id: "e1".to_owned(),
            what: "tool result of bash".to_owned(),
            timestamp: String::new(),
            failed: false,
            sections: vec![section],
        }
    }

    #[test]
    fn what_was_found_before_the_time_was_up_is_told() {
        let (query, pattern) = (query("name.*", None), Pattern::new("name.*", false).unwrap());
        let mut look = Look::new(&query, &pattern, true);
        look.patience = Patience::short();
        let found = look.entry(entry_of((0..100).map(|n| format!("name {n}\n")).collect()));
        assert!(found.is_cut_short);
        assert!((1..100).contains(&found.lines), "{}", found.lines);
        assert_eq!(found.rows.len(), found.lines);
        assert_eq!(found.whole.map(|(_, hits)| hits.len()), Some(found.lines));
    }

    #[test]
    fn of_many_lines_of_an_entry_so_many_become_rows_as_can_be_listed() {
        let (query, pattern) = (query("name", None), Pattern::new("name", false).unwrap());
        let look = Look::new(&query, &pattern, true);
        let lines = (0..=MAX_ROWS).map(|n| format!("name {n}\n")).chain(["name 7\n".to_owned()]);
        let found = look.entry(entry_of(lines.collect()));
        assert_eq!((found.lines, found.different), (MAX_ROWS + 2, MAX_ROWS + 1));
        assert_eq!(found.rows.len(), MAX_ROWS);
        assert_eq!(found.rows[7].text, "e1 [bash] 8 (×2): name 7");
    }

    proptest! {
        #[test]
        fn results_are_searched_in_the_file_as_when_they_are_read(
            results in prop::collection::vec(result(), 1..6),
            pattern in select(&["name", "an error", "na.*na", r"name\b", "(?-i)Name", "^na", "sn", "1b", "bna"]),
            tool in select(&[None, Some("bash"), Some("context_grep")]),
        ) {
            let lines = results.iter().enumerate().map(|(at, message)| {
                json!({ "type": "message", "id": format!("e{at}"), "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z", "message": message }).to_string()
            });
            let file = [HEADER.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
            let session = Session::from_jsonl(file.as_bytes(), Reading::Recover).unwrap();
            let query = query(pattern, tool);
            let compiled = Pattern::new(pattern, false).unwrap();
            for number in 0..results.len() {
                let id = format!("e{number}");
                let branch = session.branch(&Leaf::Id(&id)).unwrap();
                let transcript = Transcript::through(&branch, None).unwrap();
                let look = Look::new(&query, &compiled, true);
                let counting = Look::new(&query, &compiled, false);
                counting.without_surroundings();
                let compare = |candidate: Candidate| {
                    let read = look.entry(candidate.read()?);
                    if let Some(unread) = look.unread(&candidate) {
                        assert_eq!(told(&unread), told(&read));
                    } else {
                        let line = std::str::from_utf8(candidate.line).unwrap();
                        let must_read = line.contains("image") || compiled.sieve.is_none();
                        assert!(must_read, "it is searched unread: {line}");
                    }
                    if let Some(counted) = counting.unread(&candidate) {
                        assert_eq!((counted.lines, counted.rows.len()), (read.lines, 0));
                        assert_eq!(counted.different > 0, read.different > 0);
                        assert_eq!(told(&counted).3, told(&read).3);
                    }
                    Ok(())
                };
                transcript.map(|_, _| true, compare, |()| Ok(ControlFlow::Continue(()))).unwrap();
            }
        }
    }
}
