//! The tests of the crate from outside, one file per subject. They are one program because each
//! program costs a link.

#[path = "../support/mod.rs"]
mod support;

mod behaviours;
mod cap;
mod checkpoint;
mod checkpoint_files;
mod cli;
mod command_line;
mod damage;
mod envelope;
mod evidence;
mod files_and_text;
mod generator;
mod hook;
mod hostile_names;
mod hostile_sizes;
mod inheritance;
mod metadata;
mod project;
mod properties;
mod recovery;
mod recovery_arguments;
mod recovery_facts;
mod recovery_lookup;
mod recovery_properties;
mod report;
mod said;
mod shortcuts;
mod spoofing;
mod structure;
mod surroundings;
mod switching;
mod terminals;
mod verify;
