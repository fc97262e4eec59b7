//! What the answers of both searches are made of.

use std::ops::Range;

use super::transcript::Secondary;
use crate::text::{counted, visible};

/// `9f3c2a1b [bash error] 12: …`, and where the line begins in it.
pub fn row(id: &str, tag: &str, number: usize, times: usize, line: &str) -> (String, usize) {
    let times = if times > 1 { format!(" (×{times})") } else { String::new() };
    let mut text = format!("{id} [{tag}] {number}{times}: ");
    let begin = text.len();
    text.push_str(line);
    (text, begin)
}

/// The part of a line around a match, as it is shown.
pub fn around(line: &str, at: &Range<usize>, most: usize) -> String {
    if line.len() <= most || line.chars().nth(most).is_none() {
        return visible(line.trim_end()).into_owned();
    }
    // A match that is longer itself is shown from its beginning.
    let matched = line[at.clone()].chars().count().min(most);
    let lead = (most - matched) / 2;
    let start =
        line[..at.start].char_indices().rev().take(lead).last().map_or(at.start, |(at, _)| at);
    let rest = &line[start..];
    let end = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < rest.len() { "…" } else { "" };
    format!("{before}{}{after}", visible(&rest[..end]))
}

/// How much stands where a search looks only when it is asked to.
#[derive(Debug, Default)]
pub struct LeftOut([usize; 3]);

impl LeftOut {
    pub fn add(&mut self, secondary: Secondary, count: usize) {
        self.0[secondary as usize] += count;
    }

    pub fn add_all(&mut self, other: &LeftOut) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    pub fn note(&self, one: &str, many: &str) -> Option<String> {
        let kinds = [
            (Secondary::Summary, "in compaction summaries (in: [\"summary\"])"),
            (Secondary::Reminder, "in reminders (in: [\"custom\"])"),
            (Secondary::Recovery, "in earlier recovery calls (tool: NAME)"),
        ];
        let parts: Vec<String> = kinds
            .iter()
            .filter(|(kind, _)| self.0[*kind as usize] > 0)
            .map(|(kind, place)| format!("{} {place}", counted(self.0[*kind as usize], one, many)))
            .collect();
        (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join(", ")))
    }
}
