use super::*;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "0199a000-0000-7000-8000-000000000001";

#[test]
fn names_are_those_that_pi_would_give() {
    for name in ["a", "0199a000-0000-7000", "a.b_c-d", "A9"] {
        assert!(is_safe(name), "{name}");
    }
    for name in
        ["", ".", "..", "../x", "a/b", "a\\b", "-a", "a-", ".a", "a.", "ä", "a b", "a\n", "_"]
    {
        assert!(!is_safe(name), "{name:?}");
    }
    assert!(!is_safe(&"x".repeat(201)));
    assert_eq!(session_of("/s/2026-01-05T09-00-00-000Z_a_b.jsonl"), Some("a_b"));
    assert_eq!(session_of("/s/2026-01-05T09-00-00-000Z_..jsonl"), None);
    assert_eq!(session_of("/s/mine.jsonl"), None);
}

/// What the writer of that number writes the nth time: different lengths, so that a torn file shows.
fn content(writer: u32, n: u32) -> String {
    format!(
        "begin {writer} {n}\n{}end {writer} {n}\n",
        "line of text\n".repeat((n % 97) as usize * 5)
    )
}

fn is_whole(text: &str) -> bool {
    let mut words = text.lines().next().unwrap_or_default().split(' ').skip(1);
    let mut number = || words.next().and_then(|word| word.parse().ok());
    matches!((number(), number()), (Some(writer), Some(n)) if content(writer, n) == text)
}

const FOLDER_VARIABLE: &str = "STORE_TEST_FOLDER";

/// The child of the tests below: writes until it is killed, or ten thousand times. By itself it
/// writes a few times into a folder of its own.
#[test]
#[ignore = "a process that other tests start"]
fn writer() {
    let own = tempfile::tempdir().expect("a folder");
    let given = std::env::var(FOLDER_VARIABLE).ok();
    let times = if given.is_some() { 10_000 } else { 100 };
    let store = Store::of(given.as_deref().or(own.path().to_str()).expect("a path"));
    let writer = std::process::id();
    for n in 0..times {
        store.update(NAME, |_| Some(content(writer, n))).expect("the folder is there");
    }
}

fn start_writer(folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "checkpoint::store::tests::writer"])
        .env(FOLDER_VARIABLE, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts again")
}

fn wait_for_writes(store: &Store) {
    while store.read(NAME).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_file_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of(folder.path().to_str().expect("a path"));
    for round in 0..40u64 {
        let mut writer = start_writer(folder.path());
        wait_for_writes(&store);
        std::thread::sleep(Duration::from_micros(round * 731 % 9000));
        writer.kill().expect("a signal");
        writer.wait().expect("it ends");
        let text = store.read(NAME).expect("a file").text;
        assert!(is_whole(&text), "round {round}: {text}");
        // Who comes next needs no cleaning up.
        let after = content(0, round as u32);
        store.update(NAME, |_| Some(after.clone())).expect("it can be written");
        assert_eq!(store.read(NAME).expect("a file").text, after);
        std::fs::remove_file(store.path(NAME)).expect("gone");
    }
}

#[test]
fn two_writers_at_once_tear_nothing_and_lose_no_update() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of(folder.path().to_str().expect("a path"));
    let mut writers = [start_writer(folder.path()), start_writer(folder.path())];
    wait_for_writes(&store);
    let mut authors = std::collections::HashSet::new();
    let start = Instant::now();
    let mut looks = 0;
    while looks < 500 || (authors.len() < 2 && start.elapsed() < Duration::from_secs(20)) {
        let text = store.read(NAME).expect("always a file").text;
        assert!(is_whole(&text), "{text}");
        authors.insert(text.split(' ').nth(1).map(str::to_owned));
        looks += 1;
    }
    writers.iter_mut().for_each(|writer| {
        writer.kill().expect("a signal");
        writer.wait().expect("it ends");
    });
    assert_eq!(authors.len(), 2, "both came to write");

    // What an update makes of the present text is never based on one that is gone.
    std::fs::remove_file(store.path(NAME)).expect("gone");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let add =
                        |found: Option<Found>| Some(found.map_or(String::new(), |f| f.text) + "x");
                    store.update(NAME, add).expect("room");
                }
            });
        }
    });
    assert_eq!(store.read(NAME).expect("a file").text.len(), 200);
}

/// Runs a shell script with `$1` a folder, in which the child writes; gives its exit status.
fn in_shell(script: &str, folder: &Path) -> std::process::Output {
    Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(folder)
        .arg(std::env::current_exe().expect("this program"))
        .env(FOLDER_VARIABLE, folder)
        .output()
        .expect("a shell")
}

/// The child of the next tests: one write that must fail, and the old file whole after it. By
/// itself it is one of them.
#[test]
#[ignore = "a process that other tests start"]
fn refused_writer() {
    let Ok(folder) = std::env::var(FOLDER_VARIABLE) else {
        return a_system_that_refuses_the_write_leaves_the_old_file();
    };
    let store = Store::of(&folder);
    let large = "x".repeat(200_000);
    let refused = store.update(NAME, |_| Some(large)).expect_err("there is no room");
    println!("refused: {:?}", refused.kind());
    assert_eq!(store.read(NAME).expect("the old one").text, "the old text");
    let left = std::fs::read_dir(store.path(NAME).parent().expect("a folder")).expect("readable");
    let names: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
}

const RUN: &str = "\"$2\" --ignored --exact checkpoint::store::tests::refused_writer --nocapture";

#[test]
fn a_system_that_refuses_the_write_leaves_the_old_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of(folder.path().to_str().expect("a path"));
    store.update(NAME, |_| Some("the old text".to_owned())).expect("room");
    // Files of at most 64 blocks; the signal that goes with it is ignored.
    let output = in_shell(&format!("trap '' XFSZ; ulimit -f 64; {RUN}"), folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("refused: FileTooLarge"), "{output:?}");
}

/// Needs the right to mount (root, or user namespaces).
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_the_old_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size=128k full \"$1\" || exit 77
        mkdir -m 700 \"$1/checkpoints\" && printf 'the old text' > \"$1/checkpoints/{NAME}.md\" || exit 1
        {RUN}"
    );
    let output = match in_shell(
        &format!("unshare -m sh -c '{}' sh \"$1\" \"$2\"", script.replace('\'', "'\\''")),
        folder.path(),
    ) {
        output if output.status.code() == Some(0) => output,
        _ => in_shell(
            &format!("unshare -rm sh -c '{}' sh \"$1\" \"$2\"", script.replace('\'', "'\\''")),
            folder.path(),
        ),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("refused: StorageFull"),
        "a small tmpfs could not be filled (it needs root or user namespaces): {output:?}"
    );
}
