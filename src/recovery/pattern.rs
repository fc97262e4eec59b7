//! A pattern as it is searched: a regular expression in linear time, or the text it is; and how
//! long a search may take.

use std::ops::Range;
use std::time::{Duration, Instant};

use regex_automata::{Input, meta};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::sieve::Sieve;

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

pub struct Pattern {
    regex: meta::Regex,
    pub sieve: Option<Sieve>,
    /// What to say about how it was taken.
    pub note: Option<String>,
}

impl Pattern {
    /// Patterns that the engine cannot take (look-around, back-references, too large) are searched
    /// as the text they are; `None` if even that is too large.
    pub fn new(pattern: &str, case_sensitive: bool) -> Option<Pattern> {
        match compile(pattern, case_sensitive) {
            Ok((regex, hir)) => Some(Pattern { regex, sieve: Sieve::of(&hir), note: None }),
            Err(why) => {
                let (regex, hir) = compile(&regex_syntax::escape(pattern), case_sensitive).ok()?;
                let note = format!(
                    "The pattern was searched as literal text, not as a regular expression ({why})."
                );
                Some(Pattern { regex, sieve: Sieve::of(&hir), note: Some(note) })
            }
        }
    }

    /// The first match in a line.
    pub fn find(&self, line: &str, patience: &mut Patience) -> Result<Option<Range<usize>>, Spent> {
        let mut part = line.len().min(patience.stride);
        loop {
            // What stands behind the part is seen, so that `$` and `\b` mean what they mean.
            let found = self.regex.find(Input::new(line).range(0..part));
            patience.looked_at(part)?;
            match found {
                Some(found) => return Ok(Some(found.range())),
                None if part == line.len() => return Ok(None),
                None => part = line.len().min(part.saturating_mul(4)),
            }
        }
    }

    /// For the time that this pattern may take.
    pub fn patience(&self) -> Patience {
        /// In the worst case each byte costs a step for every state of the pattern.
        const FIRST_PART: usize = 1 << 28;
        let stride = (FIRST_PART / self.regex.memory_usage().max(1)).clamp(64, 1 << 20);
        Patience { until: Instant::now() + PATIENCE, stride, unchecked: 0 }
    }
}

fn compile(pattern: &str, case_sensitive: bool) -> Result<(meta::Regex, Hir), String> {
    let parsed = ParserBuilder::new().case_insensitive(!case_sensitive).build().parse(pattern);
    let hir = parsed
        .map_err(|error| error.to_string().lines().last().unwrap_or_default().trim().to_owned())?;
    let config = meta::Config::new()
        .nfa_size_limit(Some(PATTERN_BYTES))
        .hybrid_cache_capacity(2 * PATTERN_BYTES);
    match meta::Builder::new().configure(config).build_from_hir(&hir) {
        Ok(regex) => Ok((regex, hir)),
        Err(error) if error.size_limit().is_some() => Err("it is too large".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A search that takes longer ends with what it has, newest first, and says so.
const PATIENCE: Duration = Duration::from_millis(600);

/// A clock that is not looked at for every line.
pub struct Patience {
    until: Instant,
    /// Bytes between two looks: few for a pattern that can be slow.
    stride: usize,
    unchecked: usize,
}

/// The time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent;

impl Patience {
    pub fn new() -> Patience {
        Patience { until: Instant::now() + PATIENCE, stride: 1 << 20, unchecked: 0 }
    }

    pub fn looked_at(&mut self, bytes: usize) -> Result<(), Spent> {
        self.unchecked += bytes + 1;
        if self.unchecked < self.stride {
            return Ok(());
        }
        self.unchecked = 0;
        if Instant::now() > self.until { Err(Spent) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_searched_in_parts_as_if_it_were_whole() {
        let pattern = Pattern::new(r"(?:a{0,60}b{0,60}){0,20}\bend$", true).unwrap();
        assert!(pattern.patience().stride < 10_000, "it is one that can be slow");
        let line = format!("{} end", "ab".repeat(20_000));
        let mut patience = Patience::new();
        patience.stride = 64;
        patience.until += Duration::from_secs(60);
        assert!(pattern.find(&line, &mut patience).unwrap().is_some());
        assert_eq!(pattern.find(&format!("{line}ing"), &mut patience), Ok(None));
    }

    #[test]
    fn what_is_no_regular_expression_is_text() {
        let found = |pattern: &str, line: &str| {
            let pattern = Pattern::new(pattern, false).unwrap();
            (pattern.note.is_some(), pattern.find(line, &mut Patience::new()).unwrap().is_some())
        };
        assert_eq!(found("foo(", "call FOO(1)"), (true, true));
        assert_eq!(found(r"(?<!a)b", "cb"), (true, false));
        assert_eq!(found(r"(a)\1", r"is (a)\1 here"), (true, true));
        assert_eq!(found(r"\w{1,100}\w{1,100}", r"\w{1,100}\w{1,100}"), (true, true));
        assert_eq!(found("fo+", "foo"), (false, true));
    }
}
