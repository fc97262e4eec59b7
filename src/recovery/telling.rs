//! Which of many lines tell something: those whose words few of the others have. A line that is
//! printed a hundred times with other numbers and names tells less than one that stands alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::text::is_wide;

/// Words of a line that count: its rarest.
const COUNTED: usize = 4;
/// A shorter word says little; a longer run of letters is a key or a picture.
const SHORTEST: usize = 3;
const LONGEST: usize = 24;

/// The words of many lines, and how many lines have each.
#[derive(Default)]
pub struct Telling {
    lines_with: HashMap<u64, u32>,
    lines: usize,
}

impl Telling {
    pub fn add(&mut self, line: &str) {
        self.lines += 1;
        for word in words(line) {
            *self.lines_with.entry(word).or_default() += 1;
        }
    }

    /// How much a line tells among those that were added: from 0 to 1.
    pub fn of(&self, line: &str) -> f64 {
        let lines = (self.lines.max(2)) as f64;
        let mut rarest: Vec<f64> = words(line)
            .iter()
            .map(|word| (lines / f64::from(self.lines_with.get(word).copied().unwrap_or(1))).ln())
            .collect();
        rarest.sort_by(|a, b| b.total_cmp(a));
        rarest.iter().take(COUNTED).sum::<f64>() / COUNTED as f64 / lines.ln()
    }
}

/// The different words of a line, as hashes: runs of letters in lower case, identifiers in their
/// parts. What has digits is a number or a name and tells lines of one make apart, no more.
fn words(line: &str) -> Vec<u64> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut all = Vec::new();
    for run in line.split(|c: char| !c.is_alphanumeric()) {
        if run.chars().any(is_wide) {
            all.extend(run.chars().filter(|c| is_wide(*c)).map(|c| hasher.hash_one(c)));
            continue;
        }
        if run.len() > LONGEST || run.chars().any(|c| c.is_numeric()) {
            continue;
        }
        let mut start = 0;
        let mut before_is_lower = false;
        let borders = run.char_indices().filter(|(_, c)| {
            let border = before_is_lower && c.is_uppercase();
            before_is_lower = c.is_lowercase();
            border
        });
        let mut take = |word: &str| {
            if word.len() >= SHORTEST {
                all.push(hasher.hash_one(word.to_lowercase()));
            }
        };
        for (at, _) in borders {
            take(&run[start..at]);
            start = at;
        }
        take(&run[start..]);
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_stands_alone_tells_most() {
        let mut telling = Telling::default();
        let mut lines: Vec<String> =
            (0..200).map(|n| format!("test parser::case_{n} took {n} ms ... ok")).collect();
        lines.push("test parser::edge panicked: index out of bounds".into());
        lines.push("テスト parser は失敗しました".into());
        lines.iter().for_each(|line| telling.add(line));
        let usual = telling.of(&lines[7]);
        assert!(telling.of(&lines[200]) > usual + 0.3);
        assert!(telling.of(&lines[201]) > usual + 0.3);
        assert!(telling.of("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf") <= usual, "a picture");
        assert!((0.0..=1.0).contains(&usual));
    }
}
