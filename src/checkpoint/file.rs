//! The text of a checkpoint file: what the model wrote, what the harness recorded, and a comment
//! line before each that says who wrote it, when, and up to which entry.

use serde_json::{Value, json};

use super::source::Checkpoint;
use crate::json::Fields;
use crate::session::ids;
use crate::text::is_time;

const CHECKPOINT_MARK: &str = "<!-- stet:checkpoint ";
const ACTIVITY_MARK: &str = "<!-- stet:activity ";
const MARK_END: &str = " -->";
/// The author of a text that was found in a file of the older extension.
const OLDER_AUTHOR: &str = "older extension";
/// How the older extension begins what its harness recorded.
const OLDER_ACTIVITY: &str = "## Recent activity [";

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// What somebody wrote on purpose; empty where only a harness did.
    pub text: String,
    /// `model`, `harness`, …; absent in files of the older extension.
    pub author: Option<String>,
    /// When the text was written, ISO 8601.
    pub at: Option<String>,
    /// The entry up to which it knows.
    pub covered: Option<String>,
    /// The project it belongs to.
    pub cwd: Option<String>,
    /// A harness of the older extension rewrote the file: its time says nothing about its text.
    pub rewritten: bool,
}

/// What the comment lines say besides the checkpoint's own.
pub struct Frame<'f> {
    pub session: &'f str,
    pub cwd: &'f str,
    /// Now, ISO 8601.
    pub at: &'f str,
    /// The entry up to which the activity was recorded.
    pub through: &'f str,
}

/// The whole file.
pub fn compose(
    checkpoint: Option<&Checkpoint>,
    goal: &str,
    activity: &str,
    frame: &Frame,
) -> String {
    let (author, at, covered, text) = match checkpoint {
        Some(checkpoint) => (
            if checkpoint.is_models() { "model" } else { OLDER_AUTHOR },
            checkpoint.at.as_str(),
            checkpoint.entry.as_deref(),
            checkpoint.text.as_str(),
        ),
        None => ("harness", frame.at, None, goal),
    };
    let mut head = json!({ "v": 1, "author": author, "at": at });
    if let Some(covered) = covered {
        head["covered"] = json!(covered);
    }
    head["session"] = json!(frame.session);
    head["cwd"] = json!(frame.cwd);
    let tail = json!({ "author": "harness", "at": frame.at, "through": frame.through });
    let mut out = format!("{CHECKPOINT_MARK}{}{MARK_END}\n{text}\n\n", inside_comment(&head));
    out.push_str(&format!("{ACTIVITY_MARK}{}{MARK_END}\n", inside_comment(&tail)));
    if !activity.is_empty() {
        out.push_str("## Recent activity\n");
        out.push_str(activity);
    }
    out
}

/// JSON that cannot end a comment.
fn inside_comment(value: &Value) -> String {
    value.to_string().replace('>', "\\u003e").replace("--", "-\\u002d")
}

pub fn parse(text: &str) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((head, body)) = text
        .strip_prefix(CHECKPOINT_MARK)
        .and_then(|rest| rest.split_once('\n'))
        .and_then(|(head, body)| Some((head.trim_end().strip_suffix(MARK_END)?, body)))
    else {
        return older(text);
    };
    // Only the last mark is the harness's; a text may quote one.
    let end = line_starts(body, ACTIVITY_MARK).last().unwrap_or(body.len());
    let head = Fields::parse(head);
    let field = |name: &str| head.as_ref().and_then(|head| head.string(name));
    let author = field("author");
    let written = author.as_deref() != Some("harness");
    Parsed {
        text: if written { body[..end].trim().to_owned() } else { String::new() },
        at: field("at").filter(|at| is_time(at)),
        covered: field("covered").map(|id| ids::plain(&id).into_owned()),
        cwd: field("cwd"),
        // Its time was the file's; since then a harness has written it anew.
        rewritten: author.as_deref() == Some(OLDER_AUTHOR),
        author,
    }
}

/// A file of the older extension: text, and behind it what its harness recorded.
fn older(text: &str) -> Parsed {
    let activity = line_starts(text, OLDER_ACTIVITY).last();
    let own = activity.map_or(text, |at| &text[..at]);
    Parsed { text: own.trim().to_owned(), rewritten: activity.is_some(), ..Parsed::default() }
}

/// Where lines begin with `mark`.
fn line_starts<'t>(text: &'t str, mark: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(mark)
        .map(|(at, _)| at)
        .filter(move |at| *at == 0 || text[..*at].ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    const FRAME: Frame =
        Frame { session: "s", cwd: "/w--x", at: "2026-01-01T00:00:00.000Z", through: "e9" };

    fn checkpoint(text: &str) -> Checkpoint {
        Checkpoint {
            text: text.into(),
            chars: text.chars().count(),
            source: Source::Call,
            at: "2025-12-31T00:00:00.000Z".into(),
            entry: Some("e5".into()),
            end: 6,
        }
    }

    #[test]
    fn a_file_gives_back_the_text_to_the_letter() {
        for text in [
            "## GOAL\nship it",
            "## Recent activity [harness-recorded, turn 1]\nquoted by the model",
            "<!-- stet:activity {} -->\nquoted too",
            "a --> b",
        ] {
            let file = compose(Some(&checkpoint(text)), "", "[USER e1] hello\n", &FRAME);
            let parsed = parse(&file);
            assert_eq!(parsed.text, text);
            assert_eq!(parsed.covered.as_deref(), Some("e5"));
            assert_eq!(parsed.author.as_deref(), Some("model"));
            assert_eq!(parsed.cwd.as_deref(), Some("/w--x"));
            let first = file.lines().next().unwrap();
            assert_eq!(first.matches("--").count(), 2, "one comment: {first}");
        }
    }

    #[test]
    fn what_a_harness_wrote_is_never_taken_for_a_models_text() {
        let file = compose(None, "## Goal\nthe newest request", "[TOOL] bash\n", &FRAME);
        assert_eq!(parse(&file).text, "");
    }

    #[test]
    fn files_of_the_older_extension_are_read_without_their_activity() {
        let parsed =
            parse("## GOAL\na\n\n## Recent activity [harness-recorded, turn 3, T]\n[USER] x\n");
        assert_eq!((parsed.text.as_str(), parsed.rewritten), ("## GOAL\na", true));
        // One that is nothing but activity has no text of its own.
        let parsed = parse("## Recent activity [harness-recorded, turn 3, T]\n[USER] x\n");
        assert_eq!((parsed.text.as_str(), parsed.rewritten), ("", true));
        let parsed = parse("just a text\n");
        assert_eq!((parsed.text.as_str(), parsed.rewritten), ("just a text", false));
    }
}
