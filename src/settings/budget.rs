//! The size guard's settings: when a checkpoint is trimmed, and to what.

use serde_json::{Value, json};

use crate::json::Fields;
use crate::text::quarter_tokens;

/// When the budget is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapMode {
    /// Ask the person each time; without one, apply it and say so.
    #[default]
    Warn,
    On,
    Off,
}

impl CapMode {
    pub const NAMES: [&str; 3] = ["warn", "on", "off"];

    pub fn name(self) -> &'static str {
        match self {
            CapMode::Warn => "warn",
            CapMode::On => "on",
            CapMode::Off => "off",
        }
    }

    pub fn of_name(name: &str) -> Option<CapMode> {
        match name {
            "warn" => Some(CapMode::Warn),
            "on" => Some(CapMode::On),
            "off" => Some(CapMode::Off),
            _ => None,
        }
    }
}

/// How much a checkpoint's conversation may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Characters: Unicode scalar values.
    Chars(u64),
    /// Estimated tokens.
    Tokens(u64),
    /// Per cent of the model's context window, in estimated tokens.
    Percent(f64),
}

/// The largest number that JavaScript counts exactly; settings pass through it.
const MAX_SAFE: u64 = (1 << 53) - 1;
const MAX_TOKENS: u64 = MAX_SAFE / 4;

impl Budget {
    pub const DEFAULT: Budget = Budget::Percent(25.0);
    /// What a budget looks like, for usage texts.
    pub const SYNTAX: &str = "80000c (characters), 20000t (tokens), 25% (of the context window)";

    /// Reads `80000c`, `20000t` or `25%`.
    pub fn parse(text: &str) -> Option<Budget> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let mut parts = number.split('.');
        let digits = |part: Option<&str>| {
            part.is_none_or(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        if !(digits(parts.next()) && digits(parts.next()) && parts.next().is_none()) {
            return None;
        }
        match unit {
            "c" => Budget::chars(number.parse().ok()?),
            "t" => Budget::tokens(number.parse().ok()?),
            "%" => Budget::percent(number.parse().ok()?),
            _ => None,
        }
    }

    pub fn chars(value: u64) -> Option<Budget> {
        (1..=MAX_SAFE).contains(&value).then_some(Budget::Chars(value))
    }

    pub fn tokens(value: u64) -> Option<Budget> {
        (1..=MAX_TOKENS).contains(&value).then_some(Budget::Tokens(value))
    }

    pub fn percent(value: f64) -> Option<Budget> {
        (value > 0.0 && value <= 100.0).then_some(Budget::Percent(value))
    }

    /// The limit in its own measure; `None` for a share of a window that is not known.
    pub fn limit(self, context_window: Option<f64>) -> Option<Limit> {
        let of_tokens =
            |tokens: u64| Limit { size: tokens.saturating_mul(4), measure: Measure::QuarterTokens };
        match self {
            Budget::Chars(size) => Some(Limit { size, measure: Measure::Chars }),
            Budget::Tokens(tokens) => Some(of_tokens(tokens)),
            Budget::Percent(percent) => {
                let window = context_window.filter(|w| *w >= 1.0 && *w <= MAX_TOKENS as f64)?;
                Some(of_tokens(((window * percent / 100.0).floor() as u64).max(1)))
            }
        }
    }

    pub fn to_json(self) -> Value {
        let (unit, value) = match self {
            Budget::Chars(value) => ("chars", json!(value)),
            Budget::Tokens(value) => ("tokens", json!(value)),
            Budget::Percent(value) => ("percent", json!(value)),
        };
        json!({ "unit": unit, "value": value })
    }

    fn of_json(fields: &Fields) -> Option<Budget> {
        let value = fields.number("value")?;
        let whole = || (value.fract() == 0.0 && value >= 0.0).then_some(value as u64);
        match fields.string("unit")?.as_str() {
            "chars" => Budget::chars(whole()?),
            "tokens" => Budget::tokens(whole()?),
            "percent" => Budget::percent(value),
            _ => None,
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Budget::Chars(value) => write!(f, "{value}c"),
            Budget::Tokens(value) => write!(f, "{value}t"),
            Budget::Percent(value) => write!(f, "{value}%"),
        }
    }
}

/// What sizes are counted in. For ASCII text both measures are the number of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Chars,
    QuarterTokens,
}

impl Measure {
    pub fn of(self, text: &str) -> u64 {
        match self {
            Measure::Chars => text.chars().count() as u64,
            // What most of a conversation is, and much faster to see than to count.
            Measure::QuarterTokens if text.is_ascii() => text.len() as u64,
            Measure::QuarterTokens => quarter_tokens(text),
        }
    }
}

/// A budget that was resolved for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub size: u64,
    pub measure: Measure,
}

/// Mode and budget together, as one session entry holds them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    pub mode: CapMode,
    pub budget: Budget,
}

impl Default for Cap {
    fn default() -> Cap {
        Cap { mode: CapMode::Warn, budget: Budget::DEFAULT }
    }
}

impl Cap {
    pub fn to_json(self) -> Value {
        json!({ "mode": self.mode.name(), "budget": self.budget.to_json() })
    }

    /// Reads an entry's data or an envelope's setting; `None` where either part is not valid.
    pub fn of_json(text: &str) -> Option<Cap> {
        let fields = Fields::parse(text)?;
        let mode = CapMode::of_name(&fields.string("mode")?)?;
        let budget = Budget::of_json(&fields.object("budget")?)?;
        Some(Cap { mode, budget })
    }
}

impl std::fmt::Display for Cap {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} {}", self.mode.name(), self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_strictly() {
        for (text, budget) in [
            ("80000c", Budget::Chars(80_000)),
            ("20000t", Budget::Tokens(20_000)),
            ("25%", Budget::Percent(25.0)),
            ("12.5%", Budget::Percent(12.5)),
            ("100%", Budget::Percent(100.0)),
            ("9007199254740991c", Budget::Chars(MAX_SAFE)),
        ] {
            assert_eq!(Budget::parse(text), Some(budget), "{text}");
            assert_eq!(budget.to_string(), text);
        }
        for text in [
            "",
            "c",
            "%",
            "0c",
            "-1t",
            "+1t",
            "1.5t",
            "0%",
            "101%",
            "Infinity%",
            "NaNc",
            "25",
            "1e5c",
            " 1c",
            "1 c",
            "1..5%",
            ".5%",
            "5.%",
            "9007199254740992c",
            "9007199254740991t",
            "１c",
            "5é",
        ] {
            assert_eq!(Budget::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_share_of_the_window_needs_a_window_and_is_rounded_down() {
        assert_eq!(Budget::DEFAULT.limit(None), None);
        assert_eq!(Budget::DEFAULT.limit(Some(0.0)), None);
        assert_eq!(Budget::DEFAULT.limit(Some(192_000.0)).map(|l| l.size), Some(192_000));
        assert_eq!(Budget::Percent(0.001).limit(Some(1000.0)).map(|l| l.size), Some(4));
        assert_eq!(Budget::Percent(33.0).limit(Some(10.0)).map(|l| l.size), Some(12));
    }

    #[test]
    fn a_cap_survives_its_entry() {
        for cap in [Cap::default(), Cap { mode: CapMode::On, budget: Budget::Chars(8000) }] {
            assert_eq!(Cap::of_json(&cap.to_json().to_string()), Some(cap));
        }
        assert_eq!(Cap::of_json(r#"{"mode":"on","budget":{"unit":"chars","value":0}}"#), None);
        assert_eq!(Cap::of_json(r#"{"mode":"maybe","budget":{"unit":"chars","value":5}}"#), None);
    }
}
