//! Paths as checkpoints show them: one spelling for each, and no other file than the one that was
//! meant.

use pi_stet::session::paths::{abbreviate_cwd, relative};

use super::choices::Choices;

const PARTS: [&str; 14] =
    ["/", "/", ".", "..", "a", "b", "app", "home", "~", "@", " ", "é", "//", "..."];

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (path, cwd) = (path(&mut choices), path(&mut choices));
    let shown = relative(&path, &cwd);
    assert_eq!(relative(&shown, &cwd), shown, "{path:?} in {cwd:?}: shown again it is the same");
    // Where both are absolute, the shown path leads to the same place.
    let path = path.strip_prefix('@').filter(|rest| !rest.is_empty()).unwrap_or(&path);
    if cwd.starts_with('/') && !path.is_empty() && !path.starts_with('~') {
        let (meant, reached) = (steps(path, &cwd), steps(&shown, &cwd));
        assert_eq!(reached, meant, "{path:?} in {cwd:?} is shown as {shown:?}");
    }
    let command = choices.text() + &cwd + &choices.text();
    let shorter = abbreviate_cwd(&command, &cwd);
    if cwd.trim_end_matches('/').is_empty() {
        assert_eq!(shorter, command);
    }
    assert!(shorter.len() <= command.len());
}

fn path(choices: &mut Choices) -> String {
    let parts = choices.below(12);
    (0..parts).map(|_| choices.of(&PARTS)).collect()
}

/// The folders from the root on.
fn steps(path: &str, cwd: &str) -> Vec<String> {
    let cwd = if path.starts_with('/') { "" } else { cwd };
    cwd.split('/').chain(path.split('/')).fold(Vec::new(), |mut steps, step| {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step.to_owned()),
        }
        steps
    })
}
