//! Compaction without a model for the Pi coding agent.
//!
//! The rooms, top to bottom, each looking only down: [`cli`] · [`hook`], [`manifest`], [`status`], [`verify`], [`report`] ·
//! [`verbatim`], [`checkpoint`], [`recovery`], [`orientation`] · [`settings`] · [`session`] · [`protocol`], [`text`], [`fence`], [`json`], [`error`], `blocks`.

mod blocks;
pub mod checkpoint;
pub mod cli;
pub mod error;
pub mod fence;
pub mod hook;
pub mod json;
pub mod manifest;
pub mod orientation;
pub mod protocol;
pub mod recovery;
pub mod report;
pub mod session;
pub mod settings;
pub mod status;
pub mod text;
pub mod verbatim;
pub mod verify;
