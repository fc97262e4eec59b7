//! Which of many lines tell something: those whose words few of the others have. A line that is
//! printed a hundred times with other numbers and names tells less than one that stands alone.

use std::collections::HashMap;

use once_cell::sync::Lazy;

use crate::text::is_wide;

/// Words of a line that count: its rarest.
const COUNTED: usize = 4;
/// A shorter word says little; a longer run of letters is a key or a picture.
const SHORTEST: usize = 3;
const LONGEST: usize = 24;

/// Words that are looked for more than others, and what a line counts more for one of them.
const TROUBLE: [&str; 16] = [
    "error",
    "errors",
    "fail",
    "failed",
    "failure",
    "fails",
    "panicked",
    "panic",
    "fatal",
    "exception",
    "refused",
    "denied",
    "cannot",
    "timeout",
    "invalid",
    "never",
];
const OF_TROUBLE: f64 = 0.3;

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

    /// How much a line tells among those that were added: from 0 to a little over 1.
    pub fn of(&self, line: &str) -> f64 {
        let lines = (self.lines.max(2)) as f64;
        let words = words(line);
        let of_trouble = words.iter().any(|word| TROUBLE_WORDS.contains(word));
        let mut rarest: Vec<f64> = words
            .iter()
            .map(|word| {
                libm::log(lines / f64::from(self.lines_with.get(word).copied().unwrap_or(1)))
            })
            .collect();
        rarest.sort_by(|a, b| b.total_cmp(a));
        let rare = rarest.iter().take(COUNTED).sum::<f64>() / COUNTED as f64 / libm::log(lines);
        if of_trouble { rare + OF_TROUBLE } else { rare }
    }
}

/// The different words of a line, as hashes: runs of letters in lower case, identifiers in their
/// parts. What has digits is a number or a name and tells lines of one make apart, no more.
fn words(line: &str) -> Vec<u64> {
    let mut all = Vec::new();
    for run in line.split(|c: char| !c.is_alphanumeric()) {
        if !run.is_ascii() && run.chars().any(is_wide) {
            all.extend(run.chars().filter(|c| is_wide(*c)).map(|c| hash([c])));
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
                all.push(hash(word.chars()));
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

static TROUBLE_WORDS: Lazy<Vec<u64>> =
    Lazy::new(|| TROUBLE.iter().map(|word| hash(word.chars())).collect());

/// FNV-1a over the characters in lower case: nothing hostile can be gained from a collision here.
fn hash(word: impl IntoIterator<Item = char>) -> u64 {
    let lower = word.into_iter().flat_map(char::to_lowercase);
    lower.fold(0xcbf2_9ce4_8422_2325, |hash, c| (hash ^ c as u64).wrapping_mul(0x0100_0000_01b3))
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
        let failed = telling.of("test parser::case_7 took 7 ms ... failed");
        assert!(failed > usual);
    }
}
