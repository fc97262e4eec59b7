//! What recovery costs, as ratios to ripgrep on the same file, and what it finds.
//!
//!     cargo bench --bench recovery              both
//!     cargo bench --bench recovery -- speed     on a session of 100 MB (MEGABYTES=n for another)
//!     cargo bench --bench recovery -- facts     one call each for the facts of SEEDS=1,2,3
//!
//! Needs `rg`.

#[allow(dead_code)]
mod measure;
#[allow(dead_code)]
#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use measure::{Cost, cost, ms, number, runs};
use support::facts::finding::ask_for_all;
use support::facts::write_story;

fn main() -> ExitCode {
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |word: &str| chosen.is_empty() || chosen.iter().any(|other| other == word);
    if !runs(&["rg", "--version"]) {
        eprintln!("ripgrep (rg) is not installed: it is the yardstick");
        return ExitCode::FAILURE;
    }
    if wants("facts") {
        facts();
    }
    if wants("speed") {
        speed();
    }
    ExitCode::SUCCESS
}

fn facts() {
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| "1,2,3".into());
    let tell = std::env::var_os("TELL").is_some();
    for seed in seeds.split(',').map(|seed| seed.parse::<u64>().expect("a number")) {
        let file = made(&format!("facts-{seed}.jsonl"));
        let facts = write_story(&file, seed, number("KILOBYTES", 8_000) * 1_000)
            .expect("room for the session");
        let found = ask_for_all(&file, &facts, seed, 1, true, tell);
        let percent = |n: usize| format!("{:5.1} %", 100.0 * n as f64 / found.facts as f64);
        println!(
            "seed {seed}: {} facts           ours as terms      rg   rg -o .{{0,120}}",
            found.facts
        );
        println!(
            "  two words          {}   {}   {}   {}",
            percent(found.two_words),
            percent(found.two_terms),
            percent(found.two_words_rg),
            percent(found.two_words_rg_cut)
        );
        println!(
            "  one word           {}   {}   {}   {}",
            percent(found.one_word),
            percent(found.one_term),
            percent(found.one_word_rg),
            percent(found.one_word_rg_cut)
        );
    }
}

fn speed() {
    let megabytes = number("MEGABYTES", 100);
    let file = made(&format!("speed-{megabytes}.jsonl"));
    if !file.exists() {
        write_story(&file, 7, megabytes * 1_000_000).expect("room for the session");
    }
    let path = file.to_str().expect("a path");
    let rg = |arguments: &[&str]| cost(&[&["rg", "--no-config"], arguments, &[path]].concat());
    let yardstick = rg(&["-c", "toolResult"]);
    println!(
        "rg -c toolResult: {:.1} ms, of them {:.1} ms of processor",
        ms(yardstick.wall),
        ms(yardstick.cpu)
    );
    let binary = support::call::binary();
    let binary = binary.to_str().expect("a path");
    // The second ratio does not change with what else the machine does.
    let ours = |name: &str, arguments: &[&str], with: Option<Cost>| {
        let took = cost(&[&[binary], arguments].concat());
        let times = |of: Duration, rg: Duration| of.as_secs_f64() / rg.as_secs_f64();
        let with = with.map_or_else(String::new, |rg| {
            format!("  {:6.2} × rg with the same pattern", times(took.cpu, rg.cpu))
        });
        println!(
            "{name:28} {:7.1} ms {:6.2} × rg  processor {:7.1} ms {:6.2} × rg  {:>6} KB{with}",
            ms(took.wall),
            times(took.wall, yardstick.wall),
            ms(took.cpu),
            times(took.cpu, yardstick.cpu),
            took.kilobytes,
        );
    };
    ours("list", &["list", path], None);
    ours("list, page 40", &["list", path, "--page", "40"], None);
    ours("list --in toolResult", &["list", path, "--in", "toolResult"], None);
    let patterns = [
        ("grep, nothing", "no such words anywhere"),
        ("grep, one line", "Decision: we keep .* in src/auth"),
        ("grep, two words", "panicked.*ledgererror"),
        ("grep, an id", "7f3a9c"),
        ("grep, a number", "4711"),
        ("grep, a common word", "compiling"),
        ("grep, in every entry", "the"),
        ("grep, no literal", r"[0-9]{4}-[0-9]{2}-[0-9]{2}T\S+ INFO"),
        ("grep, nothing to go by", r"\b\d{6}\b"),
        ("grep, Cyrillic", "не найден"),
    ];
    for (name, pattern) in patterns {
        let with = rg(&["-i", "-c", pattern]);
        ours(name, &["grep", path, pattern], Some(with));
    }
    let terms = [
        "ledger panicked",
        "Compiling sensor",
        "what error did we see in the invoice parser",
        "7f3a9c",
        "the",
    ];
    for words in terms {
        ours(&format!("terms, {words}"), &["grep", path, "--terms", words], None);
    }
    println!("patterns that are meant to hang:");
    let long = format!("(?:{}){{30}}x", ".{0,80}a");
    for pattern in [
        "(a+)+$",
        "(a|aa)+$",
        r"(.*)*[a-z]\d{3}!",
        r"(?:a?){200}a{200}",
        r"\w{1,60}\w{1,60}!\w",
        r"(?:\w+\s+){5,40}\w+!!",
        "(x+x+)+y",
        long.as_str(),
        r"[^x]*[^y]*[^z]*[^q]*\z!",
    ] {
        let took = cost(&[&[binary, "grep", path], &[pattern][..]].concat());
        println!("  {:7.1} ms  {}", ms(took.wall), &pattern[..pattern.len().min(40)]);
    }
}

/// A file of this bench, beside what cargo builds.
fn made(name: &str) -> PathBuf {
    measure::made("recovery", name)
}
