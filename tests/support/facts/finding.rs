//! Whether a fact is found: one call of `context_grep` with words of its line, one page.

use std::path::Path;
use std::process::Command;

use pi_stet::recovery::{Caller, GREP, answer};
use pi_stet::session::{Branch, Leaf, Reading, Session};
use pi_stet::text::visible;
use serde_json::{Map, Value, json};

use super::super::generate::Dice;
use super::Fact;

/// Characters of ripgrep's output that are looked at: as many as a page of ours has.
const PAGE: usize = 12_000;
/// A shorter word is no search.
const WORD: usize = 3;

/// How many facts each way of asking found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub facts: usize,
    /// `word1.*word2`
    pub two_words: usize,
    /// The same, with ripgrep on the file.
    pub two_words_rg: usize,
    /// With ripgrep, which is told to cut the line down to the surroundings of the match.
    pub two_words_rg_cut: usize,
    /// Two words as terms.
    pub two_terms: usize,
    pub one_word: usize,
    pub one_word_rg: usize,
    pub one_word_rg_cut: usize,
    pub one_term: usize,
}

/// Asks for every fact in every way. Misses are printed when asked for.
pub fn ask_for_all(file: &Path, facts: &[Fact], seed: u64, ripgrep: bool, tell: bool) -> Found {
    let session = Session::open(file, Reading::Recover).expect("a session");
    let branch = session.branch(&Leaf::Last).expect("a branch");
    let mut dice = Dice::new(seed);
    let mut found = Found { facts: facts.len(), ..Found::default() };
    for fact in facts {
        let words = words(&fact.line);
        let first = dice.below(words.len() as u64 - 1) as usize;
        let second = first + 1 + dice.below((words.len() - first - 1) as u64) as usize;
        let pattern = format!("{}.*{}", words[first], words[second]);
        let terms = format!("{} {}", words[second], words[first]);
        let word = words[dice.below(words.len() as u64) as usize].clone();

        let ask = |key: &str, text: &str, count: &mut usize| {
            let page = page(&branch, key, text);
            if shows(&page, fact) {
                *count += 1;
            } else if tell {
                let head: String =
                    page.lines().next().unwrap_or_default().chars().take(150).collect();
                println!(
                    "MISS {} {key} {text:?}: {:?} in {}\n     {head}",
                    fact.kind, fact.line, fact.entry
                );
            }
        };
        ask("pattern", &pattern, &mut found.two_words);
        ask("terms", &terms, &mut found.two_terms);
        ask("pattern", &word, &mut found.one_word);
        ask("terms", &word, &mut found.one_term);
        if ripgrep {
            found.two_words_rg += usize::from(rg_shows(&["-i", &pattern], file, fact));
            found.one_word_rg += usize::from(rg_shows(&["-i", &word], file, fact));
            let cut = |pattern: &str| format!(".{{0,120}}{pattern}.{{0,120}}");
            found.two_words_rg_cut += usize::from(rg_shows(&["-io", &cut(&pattern)], file, fact));
            found.one_word_rg_cut += usize::from(rg_shows(&["-io", &cut(&word)], file, fact));
        }
    }
    found
}

fn page(branch: &Branch, key: &str, text: &str) -> String {
    let arguments: Map<String, Value> = [(key.to_owned(), json!(text))].into_iter().collect();
    let answer =
        answer(branch, GREP, &arguments, Caller::Shell).expect("the session does not change");
    answer.expect("good arguments").text
}

/// The whole line stands in the page, and the page says where it is from.
fn shows(page: &str, fact: &Fact) -> bool {
    page.contains(visible(fact.line.trim()).as_ref()) && page.contains(&fact.entry)
}

/// The line stands in what ripgrep prints first, as JSON has it.
fn rg_shows(arguments: &[&str], file: &Path, fact: &Fact) -> bool {
    let output =
        Command::new("rg").arg("--no-config").args(arguments).arg(file).output().expect("ripgrep");
    let output = String::from_utf8_lossy(&output.stdout);
    let head: String = output.chars().take(PAGE).collect();
    let json = Value::from(fact.line.trim()).to_string();
    head.contains(json.trim_matches('"'))
}

/// The words of a line, in its order.
fn words(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.chars().count() >= WORD).map(str::to_owned).collect()
}
