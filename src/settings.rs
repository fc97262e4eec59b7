//! Settings: the envelope's over the branch's entries over the environment over the default.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::json::Fields;
use crate::session::{Body, Branch, Detail};

/// How a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Prose word for word, calls as signatures.
    #[default]
    Verbatim,
    /// Pi's own: a model writes a summary.
    Summary,
}

impl Method {
    pub const NAMES: [&str; 2] = ["verbatim", "summary"];

    pub fn name(self) -> &'static str {
        match self {
            Method::Verbatim => "verbatim",
            Method::Summary => "summary",
        }
    }

    pub fn of_name(name: &str) -> Option<Method> {
        match name {
            "verbatim" => Some(Method::Verbatim),
            "summary" => Some(Method::Summary),
            _ => None,
        }
    }
}

/// The custom type of the entries that hold the method.
pub const METHOD_ENTRY: &str = "stet.method";
const METHOD_VARIABLE: &str = "PI_STET_METHOD";

#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub method: Method,
    /// One sentence for each value that was not usable.
    pub problems: Vec<String>,
}

/// The sources besides the branch.
pub struct Sources<'s> {
    /// The envelope's `settings`.
    pub given: &'s Map<String, Value>,
    pub environment: &'s dyn Fn(&str) -> Option<String>,
}

impl Settings {
    /// Errors: the session changed while it was read.
    pub fn resolve(sources: &Sources, branch: Option<&Branch>) -> Result<Settings> {
        let mut settings = Settings::default();
        if let Some(text) = (sources.environment)(METHOD_VARIABLE).filter(|text| !text.is_empty()) {
            settings.method = settings
                .method_named(METHOD_VARIABLE, &text)
                .unwrap_or_default();
        }
        if let Some(branch) = branch
            && let Some(method) = newest_method(branch)?
        {
            settings.method = method;
        }
        if let Some(value) = sources.given.get("method") {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if let Some(method) = settings.method_named("settings.method", &text) {
                settings.method = method;
            }
        }
        Ok(settings)
    }

    fn method_named(&mut self, source: &str, text: &str) -> Option<Method> {
        let method = Method::of_name(text.trim());
        if method.is_none() {
            let names = Method::NAMES.join(", ");
            self.problems.push(format!(
                "{source} is {text:?}, which is none of: {names}. It is ignored."
            ));
        }
        method
    }

    /// The values as an envelope's `settings` take them.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("method".into(), json!(self.method.name()));
        map
    }
}

/// The newest valid entry of the branch counts; malformed ones are passed over.
fn newest_method(branch: &Branch) -> Result<Option<Method>> {
    for (_, entry) in branch.iter().rev() {
        if !branch.session.is_setting(entry) {
            continue;
        }
        if let Body::State {
            custom_type,
            data: Some(data),
        } = branch.session.read(entry, Detail::Kept)?.body
            && custom_type == METHOD_ENTRY
            && let Some(name) = Fields::parse(&data).and_then(|data| data.string("method"))
            && let Some(method) = Method::of_name(&name)
        {
            return Ok(Some(method));
        }
    }
    Ok(None)
}
