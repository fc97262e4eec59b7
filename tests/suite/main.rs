//! The tests of the crate from outside, one file per subject. They are one program because each
//! program costs a link.

#[path = "../support/mod.rs"]
mod support;

mod behaviours;
mod checkpoint;
mod checkpoint_files;
mod damage;
mod envelope;
mod files_and_text;
mod generator;
mod hook;
mod inheritance;
mod properties;
mod said;
mod structure;
mod switching;
