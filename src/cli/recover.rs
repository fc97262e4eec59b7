//! `pi-stet list|grep|show SESSION`: the recovery tools, with the answers they give in Pi.

use serde_json::{Map, Value, json};

use super::{GrepArgs, ListArgs, RecoverArgs, ShowArgs, input, output};
use crate::error::{Error, Result};
use crate::recovery::{self, Caller, GREP, LIST, SHOW};
use crate::session::{Leaf, Reading};
use crate::text::counted;

pub fn list(args: &ListArgs) -> Result<()> {
    run(&args.common, LIST, scope(&args.kinds, args.tool.as_deref()))
}

pub fn grep(args: &GrepArgs) -> Result<()> {
    let mut arguments = scope(&args.kinds, args.tool.as_deref());
    if args.pattern.is_none() && args.terms.is_none() {
        let text = "give a PATTERN (a regular expression), or --terms WORDS to rank entries by";
        return Err(Error::Usage(text.into()));
    }
    let optional = [
        ("pattern", args.pattern.clone().map(Value::from)),
        ("terms", args.terms.clone().map(Value::from)),
        ("before", args.before.map(Value::from)),
        ("after", args.after.map(Value::from)),
        ("maxMatches", args.max_matches.map(Value::from)),
        ("caseSensitive", args.case_sensitive.then(|| Value::from(true))),
    ];
    arguments
        .extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    run(&args.common, GREP, arguments)
}

pub fn show(args: &ShowArgs) -> Result<()> {
    let mut arguments = Map::new();
    arguments.insert("ids".into(), json!(args.ids));
    run(&args.common, SHOW, arguments)
}

fn scope(kinds: &[String], tool: Option<&str>) -> Map<String, Value> {
    let mut arguments = Map::new();
    if !kinds.is_empty() {
        arguments.insert("in".into(), json!(kinds));
    }
    if let Some(tool) = tool {
        arguments.insert("tool".into(), json!(tool));
    }
    arguments
}

fn run(args: &RecoverArgs, tool: &str, mut arguments: Map<String, Value>) -> Result<()> {
    if args.page == 0 {
        return Err(Error::Usage("--page counts from 1".into()));
    }
    arguments.insert("page".into(), json!(args.page));
    if let Some(entry) = &args.through_entry {
        arguments.insert("throughEntry".into(), json!(entry));
    }
    let answer = input::with_session(&args.session, Reading::Recover, |session| {
        let branch = session.branch(&args.leaf.as_deref().map_or(Leaf::Last, Leaf::Id))?;
        if let Some(entry) = args.through_entry.as_ref().filter(|id| branch.position(id).is_none())
        {
            return Err(Error::NoSuchEntry(entry.clone()));
        }
        recovery::answer(&branch, tool, &arguments, Caller::Shell)
    })?;
    let answer = answer.map_err(|bad| Error::Usage(bad.0.trim_end_matches('.').to_owned()))?;
    if args.json {
        let value = json!({
            "found": answer.found, "page": answer.page, "pages": answer.pages, "next": answer.next, "text": answer.text,
        });
        output::stdout(&format!("{value}\n"))?;
    } else if answer.found {
        output::stdout(&format!("{}\n", answer.text))?;
    }
    match (answer.found, answer.missing) {
        (true, 0) => Ok(()),
        (true, missing) => Err(Error::NotFound(format!(
            "{} not on this branch",
            counted(missing, "of the ids is", "of the ids are")
        ))),
        (false, _) => Err(Error::NotFound(answer.text.trim_end_matches('.').to_owned())),
    }
}
