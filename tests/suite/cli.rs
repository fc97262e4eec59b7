//! The command line. A case is a folder under tests/cases: the arguments (`command`), what goes to
//! stdin, the expected stdout and stderr, and the status where it is not 0. `SNAPSHOTS=overwrite`
//! renews the outputs of all cases; read them before you commit them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::support::author::iso;
use crate::support::call::{TempSession, binary, run};
use crate::support::session::Session;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");

#[test]
fn every_case_has_its_output() {
    let mut cases = Vec::new();
    collect(Path::new(CASES), &mut cases);
    cases.sort();
    assert!(cases.len() > 20, "only {} cases under {CASES}", cases.len());
    let failed: Vec<_> = cases.iter().filter_map(|case| check(case).err()).collect();
    assert!(failed.is_empty(), "{} of {} cases\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn collect(folder: &Path, cases: &mut Vec<PathBuf>) {
    if folder.join("command").is_file() {
        return cases.push(folder.to_owned());
    }
    for entry in std::fs::read_dir(folder).expect("a folder of cases") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, cases);
        }
    }
}

/// Runs one case in the folder of its group.
fn check(case: &Path) -> Result<(), String> {
    let read = |name: &str| std::fs::read_to_string(case.join(name));
    let command = read("command").expect("the case has a command");
    let arguments: Vec<&str> = command.split_whitespace().collect();
    let stdin = std::fs::read(case.join("stdin")).unwrap_or_default();
    let status =
        read("status").map_or(0, |text| text.trim().parse().expect("a status is a number"));
    let begin = now_ms();
    let output = run(&arguments, &stdin, Path::new(CASES));

    let name = case.strip_prefix(CASES).expect("a case").display().to_string();
    let mut faults = Vec::new();
    if output.status != status {
        faults.push(format!("{name}: status {} and not {status}", output.status));
    }
    for (stream, actual) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        let path = case.join(stream);
        if actual.is_empty() && !path.exists() {
            continue;
        }
        let actual = Data::text(without_times(&actual, begin));
        let expected = Data::read_from(&path, Some(DataFormat::Text)).raw();
        let compared =
            Assert::new().action_env("SNAPSHOTS").try_eq(Some(&stream), actual, expected);
        faults.extend(compared.err().map(|error| format!("{name}: {error}")));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(since.as_millis()).expect("a time of this century")
}

/// Times from after the beginning of the run are `[NOW]`, and how long it took is `[MS]`.
fn without_times(text: &str, begin: i64) -> String {
    let begin = iso(begin);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let time = rest.get(..begin.len()).filter(|time| is_time(time) && **time >= *begin);
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(0);
        let (shown, len) = match time {
            Some(time) => ("[NOW]", time.len()),
            None if digits > 0 && is_milliseconds(&rest[digits..]) => ("[MS]", digits),
            None => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        out.push_str(shown);
        rest = &rest[len..];
    }
    out
}

fn is_milliseconds(unit: &str) -> bool {
    unit.strip_prefix(" ms").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

fn is_time(text: &str) -> bool {
    text.bytes()
        .zip(iso(0).bytes())
        .all(|(b, like)| b == like || (b.is_ascii_digit() && like.is_ascii_digit()))
}

#[test]
fn times_are_taken_out_of_outputs_and_nothing_else() {
    let begin = 1_767_657_600_000;
    let text =
        "at 2026-01-06T00:00:00.001Z, not 2026-01-05T23:59:59.999Z; 12.5 ms, 3 of 4 msgs, 5 — é";
    assert_eq!(
        without_times(text, begin),
        "at [NOW], not 2026-01-05T23:59:59.999Z; [MS] ms, 3 of 4 msgs, 5 — é"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let big = Session::new().user(&"a long text ".repeat(50_000)).user("kept").named("kept");
    let file = TempSession::of(&big);
    let mut child = Command::new(binary())
        .args(["compact", "--first-kept", &big.id_of("kept")])
        .arg(file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut first = [0u8; 12];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("the beginning");
    // The pipe is closed here, most of the checkpoint unread.
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{stderr}");
    assert_eq!(&first, b"# Checkpoint");
    assert!(!stderr.contains("panic") && !stderr.contains("pipe"), "{stderr}");
}

#[test]
fn a_schema_is_printed_as_it_is_published() {
    for name in pi_stet::protocol::schema_names() {
        let output = run(&["schema", name], b"", Path::new(CASES));
        assert_eq!((output.status, output.stderr.as_str()), (0, ""));
        let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/schema");
        let published = schemas.join(format!("{name}.schema.json"));
        let published = std::fs::read_to_string(published).expect("a published schema");
        assert_eq!(output.stdout, published);
    }
}
