//! Which of many lines tell something: those whose words few of the others have. A line that is
//! printed a hundred times with other numbers and names tells less than one that stands alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

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
    lines_with: HashMap<u64, u32, Stirred>,
    lines: usize,
}

/// The different words of a line, as hashes.
#[derive(Debug)]
pub struct Words(Vec<u64>);

impl Telling {
    pub fn add(&mut self, line: &Words) {
        self.lines += 1;
        for word in &line.0 {
            *self.lines_with.entry(*word).or_default() += 1;
        }
    }

    /// How much a line tells among those that were added: from 0 to a little over 1.
    pub fn of(&self, line: &Words) -> f64 {
        let lines = (self.lines.max(2)) as f64;
        // In how many lines its rarest words stand, the rarest first.
        let mut rarest = [u32::MAX; COUNTED];
        for word in &line.0 {
            let mut with = self.lines_with.get(word).copied().unwrap_or(1);
            for place in &mut rarest {
                if with < *place {
                    std::mem::swap(&mut with, place);
                }
            }
        }
        let counted = rarest.iter().take(line.0.len());
        let rare = counted.map(|with| libm::log(lines / f64::from(*with))).sum::<f64>();
        let rare = rare / COUNTED as f64 / libm::log(lines);
        let of_trouble = line.0.iter().any(|word| TROUBLE_WORDS.contains(word));
        if of_trouble { rare + OF_TROUBLE } else { rare }
    }
}

/// Hashes what is a hash already, differently in each process.
struct Stirred {
    seed: u64,
}

impl Default for Stirred {
    fn default() -> Stirred {
        Stirred { seed: RandomState::new().hash_one(0) }
    }
}

impl BuildHasher for Stirred {
    type Hasher = Stirring;
    fn build_hasher(&self) -> Stirring {
        Stirring(self.seed)
    }
}

struct Stirring(u64);

impl Hasher for Stirring {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The different words of a line: runs of letters in lower case, identifiers in their parts. What
/// has digits is a number or a name and tells lines of one make apart, no more.
pub fn words(line: &str) -> Words {
    let mut all = Vec::with_capacity(16);
    for run in line.split(|c: char| !c.is_alphanumeric()) {
        if !run.is_ascii() && run.chars().any(is_wide) {
            all.extend(run.chars().filter(|c| is_wide(*c)).map(|c| hash([c])));
            continue;
        }
        if run.len() < SHORTEST || run.len() > LONGEST || run.chars().any(|c| c.is_numeric()) {
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
    Words(all)
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
        lines.iter().for_each(|line| telling.add(&words(line)));
        let of = |line: &str| telling.of(&words(line));
        let usual = of(&lines[7]);
        assert!(of(&lines[200]) > usual + 0.3);
        assert!(of(&lines[201]) > usual + 0.3);
        assert!(of("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf") <= usual, "a picture");
        assert!((0.0..=1.0).contains(&usual));
        let failed = of("test parser::case_7 took 7 ms ... failed");
        assert!(failed > usual);
    }

    #[test]
    fn a_few_rare_words_count_and_the_others_do_not() {
        let mut telling = Telling::default();
        let lines = ["one", "one two", "one two three", "one two three four five six"];
        lines.iter().for_each(|line| telling.add(&words(line)));
        let log = |n: f64| libm::log(n);
        let expected = (3.0 * log(4.0) + log(2.0)) / 4.0 / log(4.0);
        assert!((telling.of(&words(lines[3])) - expected).abs() < 1e-12);
        // What has fewer words tells less.
        assert!((telling.of(&words("two")) - log(4.0 / 3.0) / 4.0 / log(4.0)).abs() < 1e-12);
        assert_eq!(telling.of(&words("")), 0.0);
    }
}
