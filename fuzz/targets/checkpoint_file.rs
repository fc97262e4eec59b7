//! Checkpoint files: whatever stands in one, it is read; what was written is read back.

use pi_stet::checkpoint::file::{Frame, compose, parse};
use pi_stet::checkpoint::store::{is_safe, session_of};
use pi_stet::checkpoint::{Checkpoint, Files, Found, Source, source};
use pi_stet::session::{Leaf, Reading, Session};

use super::choices::Choices;
use super::story::Story;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    if choices.flag() {
        of_any_text(&mut choices);
    } else {
        written_and_read_back(&mut choices);
    }
}

/// A file of anybody's, beside a session.
fn of_any_text(choices: &mut Choices) {
    let mtime_ms = 1_767_603_600_000.0 + f64::from(choices.byte()) * 600_000.0;
    let which = choices.below(3);
    let text = choices.text() + &choices.text() + &choices.text();
    let parsed = parse(&text);
    assert!(text.contains(&parsed.text), "it says what stands in it");
    let story = Story::told(choices);
    let bytes = story.jsonl();
    let session = Session::from_jsonl(bytes.as_bytes(), Reading::AsPi).expect("a session");
    let branch = session.branch(&Leaf::Last).expect("a branch");
    let found = Some(Found { text: text.clone(), mtime_ms });
    let files = match which {
        0 => Files { own: found, ..Files::default() },
        1 => Files { parent: found, ..Files::default() },
        _ => Files { shared: found, ..Files::default() },
    };
    let checkpoint = source::find(&branch, &story.cwd, 3600, || files).expect("it stays the same");
    if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.source != Source::Call) {
        assert!(checkpoint.end <= branch.len() && text.contains(&checkpoint.text));
        assert!(checkpoint.text.chars().count() <= 6_000 && !checkpoint.text.is_empty());
    }
    assert!(!is_safe(&text) || !text.contains(['/', '\\', '\0', '\n']));
    assert!(session_of(&text).is_none_or(is_safe));
}

fn written_and_read_back(choices: &mut Choices) {
    let text = choices.text().trim().to_owned();
    if text.is_empty() {
        return;
    }
    let entry = choices.flag().then(|| choices.text());
    let (session, cwd, through) = (choices.text(), choices.text(), choices.text());
    let at = "2026-01-05T09:00:00.000Z";
    let checkpoint = Checkpoint {
        chars: text.chars().count(),
        text,
        source: Source::Call,
        at: at.to_owned(),
        entry,
        end: 1,
    };
    let frame = Frame { session: &session, cwd: &cwd, at, through: &through };
    let activity = if choices.flag() {
        format!("[USER] {}\n", choices.text().replace('\n', " "))
    } else {
        String::new()
    };
    let file = compose(Some(&checkpoint), "", &activity, &frame);
    let parsed = parse(&file);
    assert_eq!(parsed.text, checkpoint.text, "{file}");
    assert_eq!(parsed.author.as_deref(), Some("model"));
    assert_eq!(parsed.at.as_deref(), Some(at));
    assert_eq!(parsed.cwd.as_deref(), Some(cwd.as_str()));
    assert_eq!(parsed.covered.is_some(), checkpoint.entry.is_some());
    assert!(!parsed.rewritten);
}
