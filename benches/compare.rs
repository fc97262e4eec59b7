//! Whole processes on the same files in one run, as ratios to ripgrep: see `compare.sh`.
//!
//! `MEGABYTES` is the size of the large sessions (100), `RUNS` how often each command is run (9),
//! `PI_STET_BIN` the binary.

#[allow(dead_code)]
mod measure;
#[allow(dead_code)]
mod sessions;
#[allow(dead_code)]
#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use measure::{Cost, cost, cost_with, made, ms, number, runs};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, prepare, kind, megabytes, ..] = words.as_slice()
        && prepare == PREPARE
    {
        sessions::envelopes(&sessions::file(kind, megabytes.parse().expect("a number")));
        return ExitCode::SUCCESS;
    }
    for tool in ["rg", "jq", "wc"] {
        if !runs(&[tool, "--version"]) {
            eprintln!("{tool} is not installed: it is a yardstick. benches/compare.sh installs it");
            return ExitCode::FAILURE;
        }
    }
    let large = number("MEGABYTES", 100);
    let first = prepared("ordinary", large);
    let eighth = prepared("eight compactions", large);
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    let (first_path, eighth_path) = (text(&first), text(&eighth));
    // What cargo made for this bench has what tests want of its dependencies.
    let binary = std::env::var("PI_STET_BIN").unwrap_or_else(|_| text(&support::call::binary()));

    let rg = cost(&["rg", "--no-config", "-c", "toolResult", &first_path]);
    let rg_eighth = cost(&["rg", "--no-config", "-c", "toolResult", &eighth_path]);
    let nothing = cost(&["true"]);
    println!("| command | time | ratio | aim | processor | memory |");
    println!("|---|---|---|---|---|---|");
    row("true", nothing, None, "");
    let empty = made("compare", "empty.json");
    std::fs::write(&empty, EMPTY).expect("room");
    row(
        "a hook that reads no session",
        cost_with(&[&binary, "hook"], Some(&empty)),
        Some((nothing, "true")),
        "2",
    );
    row(&format!("rg -c, {large} MB"), rg, None, "");
    row(&format!("rg -c, {large} MB with eight compactions"), rg_eighth, None, "");
    row("wc -l", cost(&["wc", "-l", &first_path]), Some((rg, "rg")), "");
    // By the line, because jq gives a file up at its first half of a surrogate pair.
    let types = ["jq", "-R", "fromjson? | .type", &first_path];
    row("jq .type", cost(&types), Some((rg, "rg")), "");

    let hook = |name: &str, session: &Path, rg, by_reference, inline| {
        let (reference, whole) = sessions::envelope_paths(session);
        let hook = [binary.as_str(), "hook"];
        row(
            &format!("{name} compaction"),
            cost_with(&hook, Some(&reference)),
            Some((rg, "rg")),
            by_reference,
        );
        row(
            &format!("{name} compaction, inline"),
            cost_with(&hook, Some(&whole)),
            Some((rg, "rg")),
            inline,
        );
    };
    hook("first", &first, rg, "3", "");
    hook("ninth", &eighth, rg_eighth, "2", "");
    let ours = |name: &str, arguments: &[&str], aim| {
        row(name, cost(&[&[binary.as_str()], arguments].concat()), Some((rg, "rg")), aim);
    };
    ours("grep, no match", &["grep", &first_path, "no such words anywhere"], "4");
    ours("grep, some lines", &["grep", &first_path, "424"], "4");
    ours("grep, few of many lines", &["grep", &first_path, r"thread \d+"], "4");
    ours("grep, a word on every tenth line", &["grep", &first_path, "parser"], "4");
    ours("grep --terms", &["grep", &first_path, "--terms", "parser line"], "");
    ours("list", &["list", &first_path], "2");

    println!("\n| first compaction | 10 MB | {large} MB | ratio |\n|---|---|---|---|");
    for kind in sessions::KINDS {
        let (small, _) = sessions::envelope_paths(&prepared(kind, large / 10));
        let (whole, _) = sessions::envelope_paths(&prepared(kind, large));
        let small = cost_with(&[&binary, "hook"], Some(&small));
        let whole = cost_with(&[&binary, "hook"], Some(&whole));
        println!(
            "| {kind} | {:.1} ms, {} KB | {:.1} ms, {} KB | {:.1} |",
            ms(small.wall),
            small.kilobytes,
            ms(whole.wall),
            whole.kilobytes,
            whole.wall.as_secs_f64() / small.wall.as_secs_f64()
        );
    }
    ExitCode::SUCCESS
}

const PREPARE: &str = "prepare";

/// A session with its envelopes, made by another process: the memory that a process once held counts
/// as that of the ones it starts.
fn prepared(kind: &str, megabytes: u64) -> PathBuf {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new(this);
    command.args([PREPARE, kind, &megabytes.to_string()]);
    assert!(command.status().is_ok_and(|status| status.success()), "{kind}");
    sessions::path(kind, megabytes)
}

/// A compaction that failed: all it takes is a notice.
const EMPTY: &str = r#"{"protocol":1,"event":"session_compact_failed","session":{"id":"s","cwd":"/"},"payload":{"reason":"threshold","aborted":true}}"#;

fn row(name: &str, cost: Cost, of: Option<(Cost, &str)>, aim: &str) {
    let ratio = of.map_or_else(String::new, |(other, name)| {
        format!("{:.2} × {name}", cost.wall.as_secs_f64() / other.wall.as_secs_f64())
    });
    println!(
        "| {name} | {:.1} ms | {ratio} | {aim} | {:.1} ms | {} KB |",
        ms(cost.wall),
        ms(cost.cpu),
        cost.kilobytes
    );
}
