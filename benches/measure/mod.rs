//! What a process costs: its time, its processor time, its memory.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time and the processor time of a run, medians of several; the most memory it held.
#[derive(Clone, Copy)]
pub struct Cost {
    pub wall: Duration,
    pub cpu: Duration,
    pub kilobytes: i64,
}

/// The cost of a command without input. `RUNS` says how often it is run (9).
pub fn cost(words: &[&str]) -> Cost {
    cost_with(words, None)
}

/// The same for a command that reads a file.
pub fn cost_with(words: &[&str], input: Option<&Path>) -> Cost {
    // Once for the caches of the disk and the linker; and who only says no is fast.
    assert!(!is_refused(words, input), "{words:?} {input:?}");
    let runs: Vec<Cost> = (0..number("RUNS", 9)).map(|_| run(words, input)).collect();
    let median = |of: fn(&Cost) -> Duration| {
        let mut times: Vec<Duration> = runs.iter().map(of).collect();
        times.sort();
        times[times.len() / 2]
    };
    let kilobytes = runs.iter().map(|run| run.kilobytes).min().unwrap_or_default();
    Cost { wall: median(|run| run.wall), cpu: median(|run| run.cpu), kilobytes }
}

// `wait4` waits for it.
#[allow(clippy::zombie_processes)]
fn run(words: &[&str], input: Option<&Path>) -> Cost {
    let mut command = command(words, input);
    let start = Instant::now();
    let child = command.spawn().expect("it runs");
    let mut status = 0;
    // SAFETY: the child is ours and not waited for; both out-parameters live on the stack.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as i32, &raw mut status, 0, &mut usage);
        usage
    };
    let wall = start.elapsed();
    // Who gives up at once is fast. Searches end with 1 where nothing matches.
    let code = ExitStatus::from_raw(status).code();
    assert!(matches!(code, Some(0 | 1)), "{words:?} ended with {code:?}");
    let time = |of: libc::timeval| {
        Duration::from_secs(of.tv_sec as u64) + Duration::from_micros(of.tv_usec as u64)
    };
    Cost { wall, cpu: time(usage.ru_utime) + time(usage.ru_stime), kilobytes: usage.ru_maxrss }
}

/// The answer to an envelope is an error.
fn is_refused(words: &[&str], input: Option<&Path>) -> bool {
    let mut command = command(words, input);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut output = child.stdout.take().expect("its output");
    let mut beginning = [0; 40];
    let held = output.read(&mut beginning).expect("it answers");
    // To its end, but not held: the memory of this process counts as that of those it starts.
    std::io::copy(&mut output, &mut std::io::sink()).expect("it answers");
    child.wait().expect("it ends");
    beginning[..held].starts_with(br#"{"protocol":1,"error""#)
}

fn command(words: &[&str], input: Option<&Path>) -> Command {
    let stdin = input.map_or_else(Stdio::null, |path| File::open(path).expect("the input").into());
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub fn runs(words: &[&str]) -> bool {
    command(words, None).status().is_ok_and(|status| status.success())
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A file of a bench, beside what cargo builds.
pub fn made(bench: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(bench);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}
