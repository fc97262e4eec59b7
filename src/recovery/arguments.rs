//! The arguments of the search tools: read, checked, brought into range.

use serde_json::{Map, Value};

use super::transcript::{Scope, SectionKind};
use super::{GREP, LIST, SHOW};

/// What was wrong with a call and what would be right, for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadArguments(pub String);

#[derive(Debug, PartialEq)]
pub enum Query {
    List(ListQuery),
    Grep(GrepQuery),
    Show(ShowQuery),
}

#[derive(Debug, PartialEq)]
pub struct Paging {
    pub page: usize,
    pub through_entry: Option<String>,
}

#[derive(Debug, PartialEq)]
pub struct ListQuery {
    pub scope: Scope,
    pub paging: Paging,
}

#[derive(Debug, PartialEq)]
pub enum Search {
    Pattern(String),
    Terms(Vec<String>),
}

#[derive(Debug, PartialEq)]
pub struct GrepQuery {
    pub search: Search,
    /// Lines of context, where they were asked for.
    pub before: Option<usize>,
    pub after: Option<usize>,
    pub max_matches: Option<usize>,
    pub case_sensitive: bool,
    pub scope: Scope,
    pub paging: Paging,
}

#[derive(Debug, PartialEq)]
pub struct ShowQuery {
    pub ids: Vec<String>,
    pub paging: Paging,
}

/// Lines of context around a match at most.
const MAX_CONTEXT: usize = 200;
const MAX_IDS: usize = 8;
/// A longer pattern is no search.
const MAX_PATTERN: usize = 4_096;

impl GrepQuery {
    /// The ranked search for a text, with everything at its default.
    pub fn terms(text: &str) -> GrepQuery {
        GrepQuery {
            search: Search::Terms(vec![text.to_owned()]),
            before: None,
            after: None,
            max_matches: None,
            case_sensitive: false,
            scope: Scope::default(),
            paging: Paging { page: 1, through_entry: None },
        }
    }
}

impl Query {
    /// A call's arguments, checked: models write what a schema does not allow.
    ///
    /// Errors: an argument that is missing or not usable, or a tool that is none of these; the text
    /// is for the model.
    pub fn read(tool: &str, arguments: &Map<String, Value>) -> Result<Query, BadArguments> {
        let arguments = Arguments(arguments);
        match tool {
            LIST => Ok(Query::List(ListQuery {
                scope: arguments.scope()?,
                paging: arguments.paging()?,
            })),
            GREP => Ok(Query::Grep(GrepQuery {
                search: arguments.search()?,
                before: arguments.count("before", 0, MAX_CONTEXT)?,
                after: arguments.count("after", 0, MAX_CONTEXT)?,
                max_matches: arguments.count("maxMatches", 1, usize::MAX)?,
                case_sensitive: arguments.flag("caseSensitive")?,
                scope: arguments.scope()?,
                paging: arguments.paging()?,
            })),
            SHOW => {
                Ok(Query::Show(ShowQuery { ids: arguments.ids()?, paging: arguments.paging()? }))
            }
            _ => Err(BadArguments(format!("There is no tool {tool:?}."))),
        }
    }

    pub fn through_entry(&self) -> Option<&str> {
        let paging = match self {
            Query::List(query) => &query.paging,
            Query::Grep(query) => &query.paging,
            Query::Show(query) => &query.paging,
        };
        paging.through_entry.as_deref()
    }
}

struct Arguments<'a>(&'a Map<String, Value>);

impl Arguments<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, BadArguments> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(other) => Err(BadArguments(format!("`{key}` must be a text, not {other}."))),
        }
    }

    /// A whole number, brought into range; a number in a text is taken too.
    fn count(&self, key: &str, min: usize, max: usize) -> Result<Option<usize>, BadArguments> {
        let number = match self.get(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number {
            Some(number) if number.is_finite() => Ok(Some((number as usize).clamp(min, max))),
            _ => Err(BadArguments(format!("`{key}` must be a whole number."))),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, BadArguments> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(BadArguments(format!("`{key}` must be true or false."))),
        }
    }

    /// A text or a list of texts.
    fn texts(&self, key: &str) -> Result<Vec<String>, BadArguments> {
        let bad = || BadArguments(format!("`{key}` must be a text or a list of texts."));
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(texts)) => {
                texts.iter().map(|text| text.as_str().map(str::to_owned).ok_or_else(bad)).collect()
            }
            Some(_) => Err(bad()),
        }
    }

    fn paging(&self) -> Result<Paging, BadArguments> {
        Ok(Paging {
            page: self.count("page", 1, usize::MAX)?.unwrap_or(1),
            through_entry: self.text("throughEntry")?,
        })
    }

    fn scope(&self) -> Result<Scope, BadArguments> {
        let names = self.texts("in")?;
        let kinds: Result<Vec<_>, _> = names
            .iter()
            .map(|name| {
                SectionKind::of_name(name).ok_or_else(|| {
                    let known: Vec<_> = SectionKind::ALL.iter().map(|(_, name)| *name).collect();
                    BadArguments(format!("`in` has {name:?}; it takes {}.", known.join(", ")))
                })
            })
            .collect();
        Ok(Scope {
            kinds: Some(kinds?).filter(|kinds| !kinds.is_empty()),
            tool: self.text("tool")?,
        })
    }

    fn search(&self) -> Result<Search, BadArguments> {
        let terms = self.texts("terms")?;
        let has_terms = terms.iter().any(|term| !term.trim().is_empty());
        match (self.text("pattern")?, has_terms) {
            (Some(_), true) => Err(BadArguments("Give `pattern` or `terms`, not both.".to_owned())),
            (None, false) => Err(BadArguments(
                "Give `pattern` (a regular expression) or `terms` (words to rank entries by)."
                    .to_owned(),
            )),
            (Some(pattern), false) if pattern.len() > MAX_PATTERN => Err(BadArguments(format!(
                "`pattern` is longer than {MAX_PATTERN} bytes; search for a part of it."
            ))),
            (Some(pattern), false) => Ok(Search::Pattern(pattern)),
            (None, true) => Ok(Search::Terms(terms)),
        }
    }

    fn ids(&self) -> Result<Vec<String>, BadArguments> {
        let mut ids = self.texts("ids")?;
        // Models write the singular too.
        ids.extend(self.texts("id")?);
        match ids.len() {
            0 => Err(BadArguments("`ids` must name one to eight entries.".to_owned())),
            n if n > MAX_IDS => {
                Err(BadArguments(format!("`ids` names {n} entries; eight at most in one call.")))
            }
            _ => Ok(ids),
        }
    }
}
