//! Every sentence of the message serves a point, every point is served, and nothing is said twice.

use std::collections::BTreeSet;

use pi_stet::manifest::manifest;
use pi_stet::orientation::TEXT;
use pi_stet::recovery::TOOLS;
use pi_stet::verbatim::wording;

const MOST_WORDS: usize = 350;
/// So many words in a row are a repetition.
const RUN: usize = 6;

/// What the message has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// Where the model is.
    Situation,
    /// Headings.
    Order,
    /// Retained startup reads and the uncompacted tail are available evidence.
    AvailableEvidence,
    /// Retained prose can guide continuation without verifying each fact again.
    ProseGuides,
    /// Recover only when task-relevant inputs are missing.
    OnlyWhatIsMissing,
    /// Current files and cheap recomputation come first.
    CheapWaysFirst,
    /// A compaction alone triggers no lookup, no rediscovery of reading requirements, no rereading.
    NoBlanketRecovery,
    /// Restoring inputs is not repeating writes.
    NoRepeatedWork,
    /// Inspect the state of Git.
    GitState,
    /// Historical output is not current state.
    OldOutput,
    /// Resolve doubts and contradictions before a claim is taken as established.
    ClaimsNeedSupport,
    /// What is unresolved is labelled unverified; recovered reasoning is a hypothesis.
    Unverified,
    /// Reread before `write` replaces a file; nothing from memory.
    RereadBeforeWrite,
    /// No such rule for small exact edits and new files.
    NotForSmallEdits,
    /// What recovery is good for.
    WhenToRecover,
    /// The tools.
    HowToRecover,
    /// What recovery is not for.
    NotForRecovery,
}

use Point::*;

/// The beginning of each sentence, and what it is there for.
const SENTENCES: &[(&str, Point)] = &[
    ("Part of this conversation has just been compacted.", Situation),
    ("Carry on with what the user asked for last.", Situation),
    ("What you have", Order),
    ("The messages after the checkpoint, and the startup reads", AvailableEvidence),
    ("Prose in the checkpoint is good enough", ProseGuides),
    ("What you lack", Order),
    ("Restore an input only if the task needs it", OnlyWhatIsMissing),
    ("Begin with the cheap ways", CheapWaysFirst),
    ("A compaction alone is no reason", NoBlanketRecovery),
    ("Restoring inputs is not redoing work", NoRepeatedWork),
    ("In a Git repository", GitState),
    ("What is true", Order),
    ("Old output tells how things stood then.", OldOutput),
    ("Whether files, builds and tests are like that today", OldOutput),
    ("Where the task depends on something doubtful or contradictory", ClaimsNeedSupport),
    ("What you could not settle, call unverified.", Unverified),
    ("Reasoning found in the history is a hypothesis.", Unverified),
    ("What you write", Order),
    ("Before `write` replaces an existing file", RereadBeforeWrite),
    ("Never fill in its unchanged parts from memory.", RereadBeforeWrite),
    ("Small exact edits and new files", NotForSmallEdits),
    ("What the history is for", Order),
    ("An exact earlier output, the origin of a finding", WhenToRecover),
    ("`context_lookup` answers one question.", HowToRecover),
    ("`context_list_entries`, `context_grep` and `context_show_entry`", HowToRecover),
    ("They reach only this conversation; use them", NotForRecovery),
    ("Requirements that were never given", NotForRecovery),
];

fn sentences() -> Vec<&'static str> {
    TEXT.lines()
        .map(|line| line.trim_start_matches("- "))
        .filter(|line| !line.is_empty())
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .collect()
}

#[test]
fn every_sentence_serves_a_point_and_every_point_is_served() {
    let sentences = sentences();
    for (sentence, (beginning, _)) in sentences.iter().zip(SENTENCES) {
        assert!(sentence.starts_with(beginning), "{sentence:?} is not {beginning:?}");
    }
    assert_eq!(sentences.len(), SENTENCES.len());
    let served: BTreeSet<Point> = SENTENCES.iter().map(|(_, point)| *point).collect();
    assert_eq!(served.len(), NotForRecovery as usize + 1, "{served:?}");
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[test]
fn it_is_short() {
    let count = TEXT.split_whitespace().count();
    assert!(count <= MOST_WORDS, "{count} words");
}

#[test]
fn it_names_the_recovery_tools() {
    for tool in TOOLS {
        assert_eq!(TEXT.matches(&format!("`{tool}`")).count(), 1, "{tool}");
    }
}

#[test]
fn it_repeats_neither_the_checkpoint_nor_the_descriptions_of_the_tools() {
    let closing = wording::closing(None);
    let mut others =
        vec![wording::INTRODUCTION, wording::EVIDENCE_BOUNDARY, wording::MIXED_CONTEXT, &closing];
    let tools = manifest().tools;
    for tool in &tools {
        others.push(&tool.description);
        others.extend(tool.prompt_snippet.as_deref());
        others.extend(tool.prompt_guidelines.iter().map(String::as_str));
    }
    let ours = words(TEXT);
    for other in others {
        let theirs = words(other);
        let runs: BTreeSet<&[String]> = theirs.windows(RUN).collect();
        assert!(!runs.is_empty(), "{other}");
        let repeated = ours.windows(RUN).find(|run| runs.contains(run));
        assert_eq!(repeated, None, "{other}");
    }
}
