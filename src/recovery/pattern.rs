//! A pattern as it is searched: a regular expression in linear time, or the text it is; and how
//! long a search may take.

use std::ops::Range;
use std::time::{Duration, Instant};

use regex_automata::{Input, meta};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, Look};

use super::literal::Literal;
use super::sieve::{Sieve, plain_text};

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

pub struct Pattern {
    regex: meta::Regex,
    pub sieve: Option<Sieve>,
    /// The pattern itself, if it is a text of plain characters.
    pub text: Option<Literal>,
    /// For texts of many lines, where there is no sieve: it matches at least where the pattern
    /// matches a line.
    of_texts: Option<meta::Regex>,
    /// What to say about how it was taken.
    pub note: Option<String>,
}

impl Pattern {
    /// Patterns that the engine cannot take (look-around, back-references, too large) are searched
    /// as the text they are; `None` if even that is too large.
    pub fn new(pattern: &str, case_sensitive: bool) -> Option<Pattern> {
        match compile(pattern, case_sensitive) {
            Ok((regex, hir)) => {
                let sieve = Sieve::of(&hir);
                let of_texts = sieve.is_none().then(|| of_texts(pattern, case_sensitive)).flatten();
                Some(Pattern { regex, sieve, text: plain_text(&hir), of_texts, note: None })
            }
            Err(why) => {
                let (regex, hir) = compile(&regex_syntax::escape(pattern), case_sensitive).ok()?;
                let note = format!(
                    "The pattern was searched as literal text, not as a regular expression ({why})."
                );
                let (sieve, text) = (Sieve::of(&hir), plain_text(&hir));
                Some(Pattern { regex, sieve, text, of_texts: None, note: Some(note) })
            }
        }
    }

    /// The first match in a line.
    ///
    /// Errors: the time for a search is up.
    pub fn find(&self, line: &str, patience: &mut Patience) -> Result<Option<Range<usize>>, Spent> {
        // Other letters may fold to those of the text.
        if let Some(text) = self.text.as_ref().filter(|_| line.is_ascii()) {
            patience.looked_at(line.len())?;
            let bytes = line.as_bytes();
            return Ok(text.find(bytes, 0).and_then(|found| text.whole(bytes, found)));
        }
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

    /// Where the next match can be, from the line that begins at `start` on.
    ///
    /// Errors: the time for a search is up.
    pub fn skip(&self, text: &str, start: usize, patience: &mut Patience) -> Result<Skip, Spent> {
        let Some(regex) = &self.of_texts else { return Ok(Skip::ToPlace(start)) };
        let rest = &text.as_bytes()[start..];
        let line_end =
            |from: usize| memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |at| from + at);
        if line_end(0) > patience.stride {
            return Ok(Skip::ToPlace(start));
        }
        let end = line_end(patience.stride.min(rest.len()));
        // Any match will do: the first one to end begins no later than the first line that matches
        // ends, and to follow `(?s).*` to its end for each line would take as long as all of them.
        let found = regex.find(Input::new(text).range(start..start + end).earliest(true));
        let place = found.map(|found| found.start());
        patience.looked_at(place.map_or(end, |place| place - start))?;
        Ok(place.map_or(Skip::OverLines(start + end), Skip::ToPlace))
    }

    /// For the time that this pattern may take.
    pub fn patience(&self) -> Patience {
        /// In the worst case each byte costs a step for every state of the pattern.
        const FIRST_PART: usize = 1 << 28;
        let stride = (FIRST_PART / self.regex.memory_usage().max(1)).clamp(64, 1 << 20);
        Patience { until: Instant::now() + PATIENCE, stride, unchecked: 0 }
    }
}

/// What [`Pattern::skip`] comes to.
pub enum Skip {
    /// The line of this place may match.
    ToPlace(usize),
    /// No line does up to the one that ends here.
    OverLines(usize),
}

/// The pattern with borders of lines where the text of a line has its borders.
fn of_texts(pattern: &str, case_sensitive: bool) -> Option<meta::Regex> {
    let mut parser = ParserBuilder::new();
    parser.case_insensitive(!case_sensitive).multi_line(true);
    let hir = parser.build().parse(pattern).ok()?;
    // `\A` and `\z` mean each line to us, and `$` may stand before a carriage return.
    let looks = hir.properties().look_set();
    let of_lines = [Look::Start, Look::End, Look::EndLF, Look::StartCRLF, Look::EndCRLF];
    (!of_lines.into_iter().any(|look| looks.contains(look))).then(|| built(&hir).ok()).flatten()
}

fn compile(pattern: &str, case_sensitive: bool) -> Result<(meta::Regex, Hir), String> {
    let parsed = ParserBuilder::new().case_insensitive(!case_sensitive).build().parse(pattern);
    let hir = parsed
        .map_err(|error| error.to_string().lines().last().unwrap_or_default().trim().to_owned())?;
    let regex = built(&hir)?;
    Ok((regex, hir))
}

fn built(hir: &Hir) -> Result<meta::Regex, String> {
    let config = meta::Config::new()
        .nfa_size_limit(Some(PATTERN_BYTES))
        .hybrid_cache_capacity(2 * PATTERN_BYTES);
    meta::Builder::new().configure(config).build_from_hir(hir).map_err(|error| {
        match error.size_limit() {
            Some(_) => "it is too large".to_owned(),
            None => error.to_string(),
        }
    })
}

/// A search that takes longer ends with what it has, newest first, and says so. A build for tests is
/// many times slower, and beside other tests slower still.
const PATIENCE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 8_000 } else { 800 });

/// A clock that is not looked at for every line.
#[derive(Clone)]
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

    /// Patience that ends at the first look at the clock, which comes early.
    #[cfg(test)]
    pub fn short() -> Patience {
        Patience { until: Instant::now(), stride: 64, unchecked: 0 }
    }

    /// The time is up now.
    pub fn is_over(&self) -> bool {
        Instant::now() > self.until
    }

    /// Counts what was searched; the clock is read once in many bytes.
    ///
    /// Errors: the time is up.
    pub fn looked_at(&mut self, bytes: usize) -> Result<(), Spent> {
        self.unchecked += bytes + 1;
        if self.unchecked < self.stride {
            return Ok(());
        }
        self.unchecked = 0;
        if self.is_over() { Err(Spent) } else { Ok(()) }
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
