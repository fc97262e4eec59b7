//! Settings: the envelope's over the branch's entries over the environment over the default.

mod budget;

use serde_json::{Map, Value, json};

pub use budget::{Budget, Cap, CapMode, Limit, Measure};

use crate::error::Result;
use crate::json::Fields;
use crate::session::{Body, Branch, Detail};
use crate::text::clip;

/// Of a value that is not usable so much is shown.
const SHOWN_CHARS: usize = 80;

/// How a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Prose word for word, calls as signatures.
    #[default]
    Verbatim,
    /// The model's own note on its work, and a digest of what it does not cover.
    Checkpoint,
    /// Pi's own: a model writes a summary.
    Summary,
}

impl Method {
    pub const NAMES: [&str; 3] = ["verbatim", "checkpoint", "summary"];

    pub fn name(self) -> &'static str {
        match self {
            Method::Verbatim => "verbatim",
            Method::Checkpoint => "checkpoint",
            Method::Summary => "summary",
        }
    }

    pub fn of_name(name: &str) -> Option<Method> {
        match name {
            "verbatim" => Some(Method::Verbatim),
            "checkpoint" => Some(Method::Checkpoint),
            "summary" => Some(Method::Summary),
            _ => None,
        }
    }
}

/// Where a value comes from, for the person who wonders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    #[default]
    Default,
    Environment,
    Branch,
    Envelope,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::Environment => "environment",
            Origin::Branch => "this branch",
            Origin::Envelope => "envelope",
        }
    }
}

/// The custom types of the entries that hold settings.
pub const METHOD_ENTRY: &str = "stet.method";
pub const CAP_ENTRY: &str = "stet.cap";
pub const CHECKPOINT_ENTRY: &str = "stet.checkpoint";
/// What the older verbatim extension called the first two; their data is of the same form.
const OLDER_METHOD_ENTRY: &str = "verbatim-compact:compaction-method";
const OLDER_CAP_ENTRY: &str = "verbatim-compact:cap-compaction";

/// Our variables, and the older extension's names for the same things.
const PREFIX: &str = "PI_STET_";
const OLDER_PREFIX: &str = "MECH_COMPACT_";

#[derive(Debug, Clone)]
pub struct Settings {
    pub method: Method,
    pub method_origin: Origin,
    pub cap: Cap,
    pub cap_origin: Origin,
    /// In the verbatim method too the model keeps a checkpoint.
    pub checkpoint: bool,
    pub checkpoint_origin: Origin,
    /// A checkpoint file that names no entry counts for so long, measured against the session's
    /// last entry.
    pub checkpoint_max_age_seconds: u64,
    /// When the cap trims, it trims to this share of the budget, in per cent.
    pub trim_to: f64,
    /// How long a dialog waits for an answer.
    pub ask_seconds: u64,
    /// `provider/id` of the lookup's model; absent: the session's.
    pub lookup_model: Option<String>,
    /// Responses with a new search that one lookup may take.
    pub lookup_turns: u64,
    /// Lookups before other work is done; 0 is no limit.
    pub lookup_max_calls: u64,
    /// A session file that is searched in place of the current session.
    pub lookup_session_file: Option<String>,
    /// One sentence for each value that was not usable.
    pub problems: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            method: Method::default(),
            method_origin: Origin::Default,
            cap: Cap::default(),
            cap_origin: Origin::Default,
            checkpoint: false,
            checkpoint_origin: Origin::Default,
            checkpoint_max_age_seconds: 12 * 3600,
            trim_to: 100.0,
            ask_seconds: 60,
            lookup_model: None,
            lookup_turns: 10,
            lookup_max_calls: 1,
            lookup_session_file: None,
            problems: Vec::new(),
        }
    }
}

/// The sources besides the branch.
pub struct Sources<'s> {
    /// The envelope's `settings`.
    pub given: &'s Map<String, Value>,
    pub environment: &'s dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    /// A variable under our name, else under the older extension's; with the name it had.
    fn variable(&self, name: &str) -> Option<(String, String)> {
        [PREFIX, OLDER_PREFIX].iter().find_map(|prefix| {
            let name = format!("{prefix}{name}");
            let text = (self.environment)(&name).filter(|text| !text.is_empty())?;
            Some((name, text))
        })
    }
}

impl Settings {
    /// Errors: the session changed while it was read.
    pub fn resolve(sources: &Sources, branch: Option<&Branch>) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.take_environment(sources);
        if let Some(branch) = branch {
            settings.take_branch(branch)?;
        }
        settings.take_envelope(sources.given);
        Ok(settings)
    }

    fn take_environment(&mut self, sources: &Sources) {
        if let Some(method) =
            self.variable(sources, "METHOD", Method::of_name, "verbatim, checkpoint or summary")
        {
            (self.method, self.method_origin) = (method, Origin::Environment);
        }
        let percent = |text: &str| text.parse().ok().and_then(Budget::percent);
        if let Some(budget) =
            self.variable(sources, "MAX_SUMMARY_PERCENT", percent, "a number above 0, at most 100")
        {
            (self.cap.budget, self.cap_origin) = (budget, Origin::Environment);
        }
        let chars = |text: &str| digits(text).and_then(Budget::chars);
        if let Some(budget) =
            self.variable(sources, "MAX_SUMMARY_CHARS", chars, "a whole number of characters")
        {
            (self.cap.budget, self.cap_origin) = (budget, Origin::Environment);
        }
        let share = |text: &str| {
            let number: f64 = text.strip_suffix('%').unwrap_or(text).parse().ok()?;
            (number > 0.0 && number <= 100.0).then_some(number)
        };
        if let Some(share) = self.variable(sources, "TRIM_TO", share, "a share such as 80%") {
            self.trim_to = share;
        }
        if let Some(age) =
            self.variable(sources, "CHECKPOINT_MAX_AGE", duration, "a time such as 12h, 45m or 90s")
        {
            self.checkpoint_max_age_seconds = age;
        }
        let seconds = |text: &str| digits(text).filter(|n| (1..=3600).contains(n));
        if let Some(seconds) =
            self.variable(sources, "ASK_SECONDS", seconds, "seconds from 1 to 3600")
        {
            self.ask_seconds = seconds;
        }
        let model = |text: &str| text.contains('/').then(|| text.to_owned());
        self.lookup_model = self.variable(sources, "LOOKUP_MODEL", model, "provider/model");
        let turns = |text: &str| digits(text).filter(|n| (1..=100).contains(n));
        if let Some(turns) = self.variable(sources, "LOOKUP_TURNS", turns, "a number from 1 to 100")
        {
            self.lookup_turns = turns;
        }
        if let Some(calls) =
            self.variable(sources, "LOOKUP_MAX_CALLS", digits, "a whole number (0: no limit)")
        {
            self.lookup_max_calls = calls;
        }
        let file = |text: &str| Some(text.to_owned());
        self.lookup_session_file = self.variable(sources, "LOOKUP_SESSION_FILE", file, "a path");
    }

    fn variable<T>(
        &mut self,
        sources: &Sources,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> Option<T> {
        let (name, text) = sources.variable(name)?;
        let value = read(text.trim());
        if value.is_none() {
            let text = clip(&text, SHOWN_CHARS);
            self.problems.push(format!("{name} is {text:?}, not {expected}; it is ignored."));
        }
        value
    }

    fn take_branch(&mut self, branch: &Branch) -> Result<()> {
        let method =
            |data: &str| Fields::parse(data)?.string("method").and_then(|m| Method::of_name(&m));
        if let Some(method) = newest(branch, &[METHOD_ENTRY, OLDER_METHOD_ENTRY], method)? {
            (self.method, self.method_origin) = (method, Origin::Branch);
        }
        if let Some(cap) = newest(branch, &[CAP_ENTRY, OLDER_CAP_ENTRY], Cap::of_json)? {
            (self.cap, self.cap_origin) = (cap, Origin::Branch);
        }
        let on = |data: &str| Fields::parse(data)?.bool("on");
        if let Some(on) = newest(branch, &[CHECKPOINT_ENTRY], on)? {
            (self.checkpoint, self.checkpoint_origin) = (on, Origin::Branch);
        }
        Ok(())
    }

    fn take_envelope(&mut self, given: &Map<String, Value>) {
        let mut problem = |key: &str, value: &Value| {
            let value = value.to_string();
            let value = clip(&value, SHOWN_CHARS);
            self.problems
                .push(format!("settings.{key} is {value}, which is not usable; it is ignored."));
        };
        if let Some(value) = given.get("method") {
            match value.as_str().and_then(Method::of_name) {
                Some(method) => (self.method, self.method_origin) = (method, Origin::Envelope),
                None => problem("method", value),
            }
        }
        if let Some(value) = given.get("cap") {
            match Cap::of_json(&value.to_string()) {
                Some(cap) => (self.cap, self.cap_origin) = (cap, Origin::Envelope),
                None => problem("cap", value),
            }
        }
        if let Some(value) = given.get("checkpoint") {
            match value.as_bool() {
                Some(on) => (self.checkpoint, self.checkpoint_origin) = (on, Origin::Envelope),
                None => problem("checkpoint", value),
            }
        }
        let mut number = |key: &str, fits: &dyn Fn(f64) -> bool| {
            let value = given.get(key)?;
            let number = value.as_f64().filter(|number| fits(*number));
            if number.is_none() {
                problem(key, value);
            }
            number
        };
        let count = |number: f64| number >= 0.0 && number.fract() == 0.0;
        let trim_to = number("trimTo", &|share| share > 0.0 && share <= 100.0);
        let ask_seconds = number("askSeconds", &|n| count(n) && n > 0.0);
        let max_age = number("checkpointMaxAgeSeconds", &count);
        let turns = number("lookupTurns", &|n| count(n) && n > 0.0);
        let max_calls = number("lookupMaxCalls", &count);
        self.trim_to = trim_to.unwrap_or(self.trim_to);
        self.ask_seconds = ask_seconds.map_or(self.ask_seconds, |n| n as u64);
        self.checkpoint_max_age_seconds =
            max_age.map_or(self.checkpoint_max_age_seconds, |n| n as u64);
        self.lookup_turns = turns.map_or(self.lookup_turns, |n| n as u64);
        self.lookup_max_calls = max_calls.map_or(self.lookup_max_calls, |n| n as u64);
        let text = |key: &str, present: &Option<String>| match given.get(key) {
            Some(value) => value.as_str().map(str::to_owned),
            None => present.clone(),
        };
        self.lookup_model = text("lookupModel", &self.lookup_model);
        self.lookup_session_file = text("lookupSessionFile", &self.lookup_session_file);
    }

    /// Whether the model is to keep a checkpoint on this branch.
    pub fn keeps_checkpoint(&self) -> bool {
        match self.method {
            Method::Checkpoint => true,
            Method::Verbatim => self.checkpoint,
            Method::Summary => false,
        }
    }

    /// The values as an envelope's `settings` take them.
    pub fn to_json(&self) -> Map<String, Value> {
        let values = json!({
            "method": self.method.name(),
            "cap": self.cap.to_json(),
            "checkpoint": self.checkpoint,
            "checkpointMaxAgeSeconds": self.checkpoint_max_age_seconds,
            "trimTo": self.trim_to,
            "askSeconds": self.ask_seconds,
            "lookupModel": self.lookup_model,
            "lookupTurns": self.lookup_turns,
            "lookupMaxCalls": self.lookup_max_calls,
            "lookupSessionFile": self.lookup_session_file,
        });
        values.as_object().cloned().unwrap_or_default()
    }
}

/// Digits and nothing else.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A whole number with its unit, in seconds.
fn duration(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    digits(number)?.checked_mul(seconds).filter(|_| !number.is_empty())
}

/// The value of the newest entry of these custom types that has a valid one; malformed ones are
/// passed over.
fn newest<T>(
    branch: &Branch,
    custom_types: &[&str],
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    for (_, entry) in branch.iter().rev() {
        if !branch.session.is_setting(entry) {
            continue;
        }
        if let Body::State { custom_type: found, data: Some(data) } =
            branch.session.read(entry, Detail::Kept)?.body
            && custom_types.contains(&found.as_str())
            && let Some(value) = read(&data)
        {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
