//! What is fuzzed and what must hold. `fuzz_targets/` feeds these with made-up input;
//! `tests/fuzz_replay.rs` of the crate feeds them the corpus, on stable.

// Each target is a program of its own that uses its part.
#![allow(dead_code)]

pub mod checkpoint_file;
pub mod choices;
pub mod envelope;
pub mod hook;
pub mod json;
pub mod paging;
pub mod paths;
pub mod regex;
pub mod reply;
pub mod session;
pub mod story;
