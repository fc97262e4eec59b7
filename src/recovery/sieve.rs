//! Which entries can hold what a pattern searches, told from their bytes as they stand in the file:
//! decoding is what costs.
//!
//! It rests on one fact: each run of [plain](is_plain) characters in an entry as it is read stands
//! in the entry's line byte for byte, unless the line escapes characters that need no escape.

use memchr::memmem::Finder;
use once_cell::sync::Lazy;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::literal::{Literal, Unit};
use crate::session::Role;

/// Alternatives (`a|b|c`) that are searched one by one.
const MAX_LITERALS: usize = 8;
/// Positions in lists up to here are written out (see `transcript`); shorter numbers may be one.
pub const MAX_INDEX_DIGITS: usize = 3;

/// Texts of which every match has at least one.
#[derive(Debug)]
pub struct Sieve {
    literals: Vec<Literal>,
    /// One of them can be the position in a list, which no line has.
    may_be_index: bool,
}

impl Sieve {
    /// `None` where a match need not have any certain text.
    pub fn of(pattern: &Hir) -> Option<Sieve> {
        let literals = required(pattern)?;
        let may_be_index = literals.iter().any(|text| text.is_number_up_to(MAX_INDEX_DIGITS));
        Some(Sieve { literals, may_be_index })
    }

    /// Texts of which one is asked for, ASCII letters in either case.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<Sieve> {
        let literals: Option<Vec<_>> = texts
            .into_iter()
            .map(|text| Literal::new(text.bytes().map(Unit::ascii).collect()))
            .collect();
        literals.map(|literals| Sieve { literals, may_be_index: false })
    }

    /// Whether an entry with this line can have a match: never wrongly no.
    pub fn lets_through(&self, line: &[u8], role: Role) -> bool {
        // Lists are told apart in the arguments of calls alone.
        (self.may_be_index && role == Role::Assistant)
            || self.stands_in(line, role)
            || has_escaped_text(line)
    }

    /// Whether one of the texts stands where the entry has text, and not in Pi's own keys.
    pub fn stands_in(&self, line: &[u8], role: Role) -> bool {
        let begin = text_begin(line, role);
        self.literals.iter().any(|literal| {
            let mut at = begin;
            while let Some(found) = literal.find(line, at) {
                // The keys of a call's arguments are read too.
                if role == Role::Assistant || !is_syntax(line, found) {
                    return true;
                }
                at = found + 1;
            }
            false
        })
    }

    /// Places of the texts in a decoded text, in order.
    pub fn places<'t>(&'t self, text: &'t str) -> Places<'t> {
        let bytes = text.as_bytes();
        let next = self.literals.iter().map(|literal| literal.find(bytes, 0)).collect();
        Places { literals: &self.literals, bytes, next }
    }
}

pub struct Places<'t> {
    literals: &'t [Literal],
    bytes: &'t [u8],
    /// The next place of each literal.
    next: Vec<Option<usize>>,
}

impl Places<'_> {
    /// The first place from `at` on; `at` never goes back.
    pub fn from(&mut self, at: usize) -> Option<usize> {
        for (literal, next) in self.literals.iter().zip(&mut self.next) {
            if next.is_some_and(|place| place < at) {
                *next = literal.find(self.bytes, at);
            }
        }
        self.next.iter().flatten().min().copied()
    }
}

/// Whether the line has escapes such as `\u006f` where JSON needs none, so that text may stand in it
/// in other bytes.
pub fn has_escaped_text(line: &[u8]) -> bool {
    let is_control = |at: usize| matches!(&line[at + 2..], [b'0', b'0', b'0' | b'1', ..]);
    // Behind another backslash it is text.
    let backslashes = |at: usize| line[..at].iter().rev().take_while(|b| **b == b'\\').count();
    ESCAPE.find_iter(line).any(|at| !is_control(at) && backslashes(at).is_multiple_of(2))
}

// Made once: a session has many lines.
static ESCAPE: Lazy<Finder> = Lazy::new(|| Finder::new(b"\\u"));
static CONTENT: Lazy<Finder> = Lazy::new(|| Finder::new(CONTENT_KEY));
const CONTENT_KEY: &[u8] = b"\"content\"";

/// Where the text of an entry begins: in a message as Pi writes it, behind its ids and names.
fn text_begin(line: &[u8], role: Role) -> usize {
    /// Longer than Pi's fields before the content.
    const HEAD: usize = 600;
    if !matches!(role, Role::User | Role::Assistant | Role::ToolResult | Role::Custom) {
        return 0;
    }
    let head = &line[..line.len().min(HEAD)];
    // Inside a string the key's quotes would be escaped.
    let is_key = |at: &usize| head.get(at + CONTENT_KEY.len()) == Some(&b':');
    CONTENT.find(head).filter(is_key).unwrap_or(0)
}

/// Whether the place is in a key, or in the value of a block's `type`: `"isError":`, `"type":"text"`.
fn is_syntax(line: &[u8], at: usize) -> bool {
    /// Pi's keys are shorter.
    const LONGEST: usize = 32;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let before = line[..at].iter().rev().take(LONGEST).take_while(|byte| is_letter(byte)).count();
    let after = line[at..].iter().take(LONGEST).take_while(|byte| is_letter(byte)).count();
    let (start, rest) = (&line[..at - before], &line[at + after..]);
    let opens = start.ends_with(b"\"") && !start.ends_with(b"\\\"");
    opens && (rest.starts_with(b"\":") || start.ends_with(b"\"type\":\""))
}

/// Characters that are the same bytes in JSON and that no reading of ours adds: the lines of
/// arguments have `name: value`, `list[0].name`, those of commands `$ command`.
fn is_plain(c: char) -> bool {
    !c.is_ascii_control()
        && c != '\u{7f}'
        && !matches!(c, '"' | '\\' | '/' | ':' | '.' | '[' | ']' | '{' | '}' | '$')
}

/// The text that a pattern is, if it is one of plain characters and nothing else.
pub fn plain_text(pattern: &Hir) -> Option<Literal> {
    fn add(pattern: &Hir, units: &mut Vec<Unit>) -> Option<()> {
        match pattern.kind() {
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                units.extend(text.bytes().map(Unit::exact));
                text.chars().all(is_plain).then_some(())
            }
            HirKind::Class(class) => {
                units.push(Unit::folded(one_letter(class)?));
                Some(())
            }
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| add(part, units)),
            _ => None,
        }
    }
    let mut units = Vec::new();
    add(pattern, &mut units)?;
    Literal::new(units)
}

/// The best texts of which every match has one.
fn required(pattern: &Hir) -> Option<Vec<Literal>> {
    let mut collector = Collector::default();
    collector.add(pattern);
    collector.end_run();
    collector.best
}

/// Goes through what a pattern puts one behind the other.
#[derive(Default)]
struct Collector {
    run: Vec<Unit>,
    best: Option<Vec<Literal>>,
}

impl Collector {
    fn add(&mut self, pattern: &Hir) {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => text.chars().for_each(|c| self.char(c)),
                Err(_) => self.end_run(),
            },
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => self.run.push(Unit::folded(letter)),
                None => self.end_run(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Repetition(repetition) => {
                self.end_run();
                if repetition.min > 0 {
                    self.offer(required(&repetition.sub));
                }
            }
            HirKind::Alternation(ways) => {
                self.end_run();
                let all: Option<Vec<_>> = ways.iter().map(required).collect();
                self.offer(all.map(|all| all.concat()));
            }
        }
    }

    fn char(&mut self, c: char) {
        if is_plain(c) {
            let mut buffer = [0; 4];
            self.run.extend(c.encode_utf8(&mut buffer).bytes().map(Unit::exact));
        } else {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        // The space of `name: value` is ours.
        let start = run.iter().take_while(|unit| unit.is_space()).count();
        self.offer(Literal::new(run[start..].to_vec()).map(|literal| vec![literal]));
    }

    fn offer(&mut self, literals: Option<Vec<Literal>>) {
        let rarity = |literals: &[Literal]| literals.iter().map(Literal::rarity).min().unwrap_or(0);
        if let Some(literals) = literals.filter(|literals| literals.len() <= MAX_LITERALS)
            && self.best.as_ref().is_none_or(|best| rarity(&literals) > rarity(best))
        {
            self.best = Some(literals);
        }
    }
}

/// The ASCII letter that a class has in both cases, and nothing else (but what folds to it).
fn one_letter(class: &Class) -> Option<u8> {
    let Class::Unicode(class) = class else { return None };
    let chars: Vec<char> =
        class.iter().flat_map(|range| range.start()..=range.end()).take(4).collect();
    let lower = chars.iter().find(|c| c.is_ascii_lowercase())?;
    let expected = match lower {
        's' => vec!['S', 's', '\u{17f}'],
        'k' => vec!['K', 'k', '\u{212a}'],
        c => vec![c.to_ascii_uppercase(), *c],
    };
    (chars == expected).then_some(*lower as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(pattern: &str) -> Option<Sieve> {
        let mut parser = regex_syntax::ParserBuilder::new().case_insensitive(true).build();
        Sieve::of(&parser.parse(pattern).unwrap())
    }

    fn passes(pattern: &str, line: &str) -> bool {
        sieve(pattern).unwrap().lets_through(line.as_bytes(), Role::ToolResult)
    }

    fn passes_call(pattern: &str, line: &str) -> bool {
        sieve(pattern).unwrap().lets_through(line.as_bytes(), Role::Assistant)
    }

    #[test]
    fn what_a_match_must_have_is_found_in_the_pattern() {
        assert!(passes("error.*E0425", r#"{"text":"e0425"}"#));
        assert!(!passes("error.*E0425", r#"{"text":"error"}"#), "the rarer of two");
        assert!(passes("(?:cat|dog)+s", r#"{"text":"dogs"}"#));
        assert!(!passes("(cat|dog)+", r#"{"text":"bird"}"#));
        assert!(passes(r#"print\("hello"\)"#, r#"{"text":"print(\"hello\")"}"#));
        assert!(passes("src/auth", r#"{"text":"src\/auth"}"#));
        // The line is `path: src` when it is read.
        assert!(passes_call("path: src", r#"{"path":"src"}"#));
        // Calls have `list[12]` where the line has a list.
        assert!(passes_call("12", r#"{"list":[]}"#) && !passes("12", r#"{"list":[]}"#));
        assert!(!passes_call("1234", r#"{"list":[]}"#) && !passes_call("12 files", "[]"));
        for pattern in ["a*", "[ab]c?", r"\d+", "7", "(x|.)", ".", "", "x?y?z?", r"\[0\]"] {
            assert!(sieve(pattern).is_none(), "{pattern}: {:?}", sieve(pattern));
        }
    }

    #[test]
    fn escapes_that_json_does_not_need_let_a_line_through() {
        assert!(passes("error", r#"{"text":"err\u006fr"}"#));
        assert!(!passes("error", r#"{"text":"\u001b[31mred\u001b[0m"}"#));
        assert!(!passes("error", r#"{"text":"\\u003cred"}"#), "a backslash and a u");
        assert!(passes("error", r#"{"text":"\\\u003cred"}"#));
    }

    #[test]
    fn keys_and_names_of_the_format_are_not_text() {
        let line = |text: &str| {
            format!(
                r#"{{"type":"message","id":"a","parentId":"b","timestamp":"T","message":{{"role":"toolResult","toolCallId":"c","toolName":"grep","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":1}}}}"#
            )
        };
        for word in ["error", "text", "grep", "toolResult", "timestamp", "isError"] {
            assert!(!passes(word, &line("nothing")), "{word}");
            assert!(passes(word, &line(&format!("a {word}"))), "{word}");
            assert!(
                passes(word, &line(&format!(r#"{{\"{word}\":1}}"#))),
                "{word} as a key in the text"
            );
            assert!(
                passes(word, &line(&format!(r#"\"type\":\"{word}\""#))),
                "{word} as a type in the text"
            );
        }
    }
}
