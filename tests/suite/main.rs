//! The tests of the crate from outside, one file per subject. They are one program because each
//! program costs a link.

#[path = "../support/mod.rs"]
mod support;

mod behaviours;
mod cli;
mod damage;
mod envelope;
mod files_and_text;
mod generator;
mod hook;
mod inheritance;
mod properties;
mod said;
mod shortcuts;
mod structure;
