//! A compaction of this method as text.

use super::digest::Digest;
use super::source::{Checkpoint, Source};
use super::{Request, Tier, wording};
use crate::fence::fenced;
use crate::text::{escape_attribute, grouped};

pub struct Sections<'s> {
    pub checkpoint: Option<&'s Checkpoint>,
    /// What earlier compactions carried, and what was asked before the checkpoint.
    pub carried: &'s Digest<'s>,
    /// What the checkpoint does not cover.
    pub news: Option<Digest<'s>>,
    /// Where a turn begins that goes on below.
    pub split_turn: Option<usize>,
    pub file_lists: &'s str,
    /// The how manieth compaction of the branch this is.
    pub compaction: usize,
    pub tier: Tier,
    /// Time of the first kept entry.
    pub tail_from: Option<String>,
}

impl Sections<'_> {
    pub fn render(&self, request: &Request, no_progress: bool) -> String {
        let mut out = String::from(wording::INTRODUCTION);
        if let Some(checkpoint) = self.checkpoint {
            out.push('\n');
            fenced(&mut out, "checkpoint", &attributes(checkpoint), &checkpoint.text);
            if checkpoint.chars > checkpoint.text.chars().count() {
                out.push_str(&cut_note(checkpoint));
            }
        }
        if !self.carried.is_empty() {
            out.push('\n');
            let text = self.carried.render(None);
            fenced(&mut out, "carried", wording::CARRIED, without_last_break(&text));
        }
        if let Some(news) = &self.news {
            out.push('\n');
            let attributes = match self.checkpoint {
                Some(_) => wording::SINCE_CHECKPOINT,
                None => wording::NO_CHECKPOINT,
            };
            let text = format!("{}\n{}", news.counts(), news.render(self.split_turn));
            fenced(&mut out, "digest", attributes, without_last_break(&text));
        }
        if !self.file_lists.is_empty() {
            out.push('\n');
            out.push_str(self.file_lists);
        }
        out.push_str(&format!(
            "\nCompaction {} ({}, {}): {} The context held about {} tokens before.\n",
            self.compaction,
            escape_attribute(request.trigger),
            request.at,
            match (self.checkpoint, self.tier) {
                (None, _) => "the model had written no checkpoint.",
                (Some(_), Tier::Covered) => "the checkpoint covers all work up to here.",
                (Some(_), Tier::Digested) => "the checkpoint is older than the work up to here.",
            },
            grouped(request.tokens_before.max(0.0) as u64),
        ));
        if no_progress {
            out.push_str(wording::NO_PROGRESS);
        }
        out.push('\n');
        out.push_str(&wording::closing(self.tail_from.as_deref()));
        out
    }
}

/// Who is known to have written a checkpoint, when, and what of the conversation it knows.
pub fn attributes(checkpoint: &Checkpoint) -> String {
    let mut out = format!(
        "written-by=\"{}\" at=\"{}\"",
        if checkpoint.is_models() { "model" } else { "unknown" },
        escape_attribute(&checkpoint.at)
    );
    if let Some(entry) = &checkpoint.entry {
        out.push_str(&format!(" entry=\"{}\"", escape_attribute(entry)));
    }
    if checkpoint.source != Source::Call {
        out.push_str(&format!(" source=\"{}\"", checkpoint.source.name()));
    }
    out
}

fn cut_note(checkpoint: &Checkpoint) -> String {
    let whole = match &checkpoint.entry {
        Some(entry) => format!("; entry {entry} has the whole text"),
        None => String::new(),
    };
    format!(
        "(Cut: the checkpoint had {} characters, {} are kept{whole}.)\n",
        grouped(checkpoint.chars as u64),
        grouped(checkpoint.text.chars().count() as u64)
    )
}

/// A tag closes on a line of its own.
fn without_last_break(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}
