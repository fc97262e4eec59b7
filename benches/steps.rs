//! The steps of the library, at 1 and 100 MB: `cargo bench --bench steps [-- NAME]`.

#[allow(dead_code)]
mod measure;
#[allow(dead_code)]
mod sessions;
#[allow(dead_code)]
#[path = "../tests/support/mod.rs"]
mod support;

use divan::{Bencher, black_box};
use pi_stet::recovery::{self, Caller};
use pi_stet::session::{Branch, Leaf, Reading, Role, Session};
use pi_stet::settings::{Limit, Measure};
use pi_stet::verbatim::{Request, draft};
use serde_json::{Map, Value, json};

fn main() {
    divan::main();
}

const MEGABYTES: [u64; 2] = [1, 100];

fn open(kind: &str, megabytes: u64) -> Session<'static> {
    Session::open(&sessions::file(kind, megabytes), Reading::AsPi).expect("a session")
}

fn branch<'s>(session: &'s Session<'static>) -> Branch<'s, 'static> {
    session.branch(&Leaf::Last).expect("a branch")
}

/// Everything but the newest request.
fn request<'r>(branch: &Branch, cwd: &'r str) -> Request<'r> {
    let is_request =
        |(position, entry)| (branch.session.role(entry) == Role::User).then_some(position);
    Request {
        first_kept: branch.iter().rev().find_map(is_request).expect("a request"),
        tokens_before: 180_000.0,
        trigger: "threshold",
        words: None,
        at: "2026-03-09T10:00:00.000Z",
        cwd,
        instructions: &[],
        working_state: None,
    }
}

#[divan::bench(args = MEGABYTES)]
fn load(bencher: Bencher, megabytes: u64) {
    let path = sessions::file("ordinary", megabytes);
    bencher.bench(|| Session::open(&path, Reading::AsPi).expect("a session").len());
}

#[divan::bench(args = MEGABYTES)]
fn span(bencher: Bencher, megabytes: u64) {
    let session = open("ordinary", megabytes);
    let branch = branch(&session);
    let request = request(&branch, &session.header.cwd);
    bencher.bench(|| draft(&branch, &request).expect("a draft").is_some());
}

#[divan::bench(args = MEGABYTES)]
fn render(bencher: Bencher, megabytes: u64) {
    let session = open("ordinary", megabytes);
    let branch = branch(&session);
    let request = request(&branch, &session.header.cwd);
    let mut draft = draft(&branch, &request).expect("a draft").expect("something to compact");
    bencher.bench_local(|| draft.finish(None).expect("a checkpoint").summary.len());
}

/// Behind eight compactions: every line of every span is looked at.
#[divan::bench(args = MEGABYTES)]
fn cap(bencher: Bencher, megabytes: u64) {
    let session = open("eight compactions", megabytes);
    let branch = branch(&session);
    let request = request(&branch, &session.header.cwd);
    let limit = Limit { size: 80_000, measure: Measure::Chars };
    bencher.bench_local(|| {
        let mut draft = draft(&branch, &request).expect("a draft").expect("something to compact");
        draft.finish(Some((limit, 100.0))).expect("a checkpoint").summary.len()
    });
}

fn search(bencher: Bencher, megabytes: u64, tool: &str, arguments: Value) {
    let session = open("ordinary", megabytes);
    let branch = branch(&session);
    let arguments: Map<String, Value> = support::author::object(arguments);
    bencher.bench_local(|| {
        let answer = recovery::answer(&branch, tool, black_box(&arguments), Caller::Shell);
        answer.expect("a session").map(|answer| answer.text.len()).is_ok()
    });
}

#[divan::bench(args = MEGABYTES)]
fn grep(bencher: Bencher, megabytes: u64) {
    search(bencher, megabytes, "context_grep", json!({ "pattern": "no such words anywhere" }));
}

#[divan::bench(args = MEGABYTES)]
fn ranked(bencher: Bencher, megabytes: u64) {
    search(bencher, megabytes, "context_grep", json!({ "terms": ["parser", "expected"] }));
}

#[divan::bench(args = MEGABYTES)]
fn list(bencher: Bencher, megabytes: u64) {
    search(bencher, megabytes, "context_list_entries", json!({}));
}
