//! Compaction without a model for the Pi coding agent.
//!
//! The rooms, top to bottom, each looking only down: [`cli`] · [`hook`], [`manifest`], [`status`] ·
//! [`verbatim`], [`recovery`], [`orientation`] · [`settings`] · [`session`] · [`protocol`], [`text`], [`json`], [`error`].

pub mod cli;
pub mod error;
pub mod hook;
pub mod json;
pub mod manifest;
pub mod orientation;
pub mod protocol;
pub mod recovery;
pub mod session;
pub mod settings;
pub mod status;
pub mod text;
pub mod verbatim;
