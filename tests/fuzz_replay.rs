//! Every fuzz target on stable: its corpus, and a fixed number of variations of it. `fuzz/README.md`
//! says how to fuzz for longer.

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use std::path::Path;

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % (end.max(1) as u64)) as usize
    }

    /// A part of the input another one, lost, doubled, or followed by a part of `other`.
    fn vary(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut varied = input.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(varied.len() + 1);
            let len = self.below(1 + (varied.len() - at).min(24));
            match self.below(5) {
                0 => varied[at..at + len].fill(self.below(256) as u8),
                1 => drop(varied.drain(at..at + len)),
                2 => {
                    let part = varied[at..at + len].to_vec();
                    varied.splice(at..at, part);
                }
                3 => varied.insert(at, self.below(256) as u8),
                _ => {
                    let from = self.below(other.len() + 1);
                    let part = &other[from..from + self.below(1 + (other.len() - from).min(200))];
                    varied.splice(at..at, part.iter().copied());
                }
            }
        }
        varied
    }
}

fn replay(target: &str, variations: usize, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.expect("a file of the corpus").path())
        .collect();
    files.sort();
    let inputs: Vec<Vec<u8>> =
        files.iter().map(|file| std::fs::read(file).expect("a file of the corpus")).collect();
    assert!(inputs.len() >= 5, "{} has only {} inputs", folder.display(), inputs.len());
    run(b"");
    for (input, file) in inputs.iter().zip(&files) {
        // Names the file when it fails.
        println!("{}", file.display());
        run(input);
    }
    let mut dice = Dice(1);
    for _ in 0..variations {
        let (one, other) = (dice.below(inputs.len()), dice.below(inputs.len()));
        let varied = dice.vary(&inputs[one], &inputs[other]);
        println!("{target}: {}", String::from_utf8_lossy(&varied).escape_debug());
        run(&varied);
    }
}

#[test]
fn envelope() {
    replay("envelope", 4_000, targets::envelope::run);
}

#[test]
fn json() {
    replay("json", 20_000, targets::json::run);
}

#[test]
fn session() {
    replay("session", 1_500, targets::session::run);
}

#[test]
fn hook() {
    replay("hook", 200, targets::hook::run);
}

#[test]
fn paging() {
    replay("paging", 80, targets::paging::run);
}

#[test]
fn regex() {
    replay("regex", 150, targets::regex::run);
}

#[test]
fn paths() {
    replay("paths", 4_000, targets::paths::run);
}

#[test]
fn checkpoint_file() {
    replay("checkpoint_file", 1_500, targets::checkpoint_file::run);
}
