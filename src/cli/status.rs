//! `pi-stet status SESSION`.

use super::{StatusArgs, input, output};
use crate::checkpoint::{Files, source};
use crate::error::Result;
use crate::session::{Leaf, Reading, Session};
use crate::status::{Status, Surroundings};

pub fn run(args: &StatusArgs) -> Result<()> {
    input::with_session(&args.session, Reading::Recover, |session| print(args, session))
}

fn print(args: &StatusArgs, session: &Session) -> Result<()> {
    let branch = session.branch(&args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id))?;
    let settings = input::settings(&branch)?;
    let around = Surroundings {
        cwd: &session.header.cwd,
        instructions: &[],
        context_window: args.context_window.map(|window| window as f64),
        is_shell: true,
        keep_recent_tokens: args.keep_recent_tokens,
        now: &input::now(),
    };
    let max_age = settings.checkpoint_max_age_seconds;
    // The command line knows the session alone; a checkpoint in a file is not looked for.
    let checkpoint = source::find(&branch, around.cwd, max_age, Files::default)?;
    let status = Status::of(&branch, &settings, checkpoint.as_ref(), &around)?;
    output::stdout(&format!("{status}\n"))
}
