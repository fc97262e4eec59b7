//! Matching lines with the lines around them.

use super::entry::Hit;
use crate::recovery::arguments::GrepQuery;
use crate::recovery::row::around;
use crate::recovery::transcript::EntryText;

/// Lines around a match where none were asked for.
const BEFORE: usize = 2;
const AFTER: usize = 6;
/// Characters of a line.
const LONG_LINE: usize = 600;

/// The matching lines and those around them, inside the entry's borders; `>` marks a match.
pub fn of(entry: &EntryText, hits: &[Hit], query: &GrepQuery) -> String {
    let (before, after) = (query.before.unwrap_or(BEFORE), query.after.unwrap_or(AFTER));
    let mut out = String::new();
    let mut next = hits.iter().peekable();
    let mut shown_to = 0;
    for line in entry.lines() {
        while next.peek().is_some_and(|hit| hit.number + after < line.number) {
            next.next();
        }
        let Some(hit) = next.peek() else { break };
        if line.number + before < hit.number {
            continue;
        }
        if shown_to + 1 < line.number && shown_to > 0 {
            out.push_str("  …\n");
        }
        shown_to = line.number;
        let is_hit = hits.binary_search_by_key(&line.number, |hit| hit.number);
        let (mark, at, times) = match is_hit {
            Ok(n) => ('>', hits[n].at.clone(), hits[n].times),
            Err(_) => (' ', 0..0, 1),
        };
        let times = if times > 1 { format!("(×{times}) ") } else { String::new() };
        let text = around(line.text, &at, LONG_LINE);
        out.push_str(&format!("{mark} {:>4}  {times}{text}\n", line.number));
    }
    out.pop();
    out
}
