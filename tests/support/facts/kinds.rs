//! The facts: lines that stand once in a session, and how lines look that are like them.

use super::super::generate::Dice;
use super::noise::{hex, line, name, noun, path, title, verb};

/// Where a fact stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    User,
    Assistant,
    Thought,
    /// In the output of a tool.
    Output,
    /// In the content that `write` is called with.
    Written,
    /// In an `edit` as its new text.
    Edited,
    /// In the output of the user's own command.
    Bash,
    /// In the middle of one very long line of output.
    LongLine,
}

pub struct Kind {
    pub name: &'static str,
    pub place: Place,
    pub line: fn(&mut Dice) -> String,
}

const fn kind(name: &'static str, place: Place, line: fn(&mut Dice) -> String) -> Kind {
    Kind { name, place, line }
}

pub const KINDS: [Kind; 19] = [
    kind("an error seen once", Place::Output, |d| {
        format!(
            "error[E0{}]: cannot find function `{}` in module `{}` at {}:{}:{}",
            200 + d.below(500),
            name(d),
            noun(d),
            path(d),
            d.below(900),
            d.below(80)
        )
    }),
    kind("an exception seen once", Place::Output, |d| {
        format!(
            "panicked at {}:{}: called `Result::unwrap()` on an `Err` value: {}Error({})",
            path(d),
            d.below(900),
            title(noun(d)),
            d.below(90_000)
        )
    }),
    kind("a request", Place::Output, |d| {
        format!("request {} of {} queued on worker {}", hex(d, 12), name(d), d.below(64))
    }),
    kind("a failed test", Place::Output, |d| format!("test {}::{} ... FAILED", noun(d), name(d))),
    kind("a measured value", Place::Output, |d| {
        format!(
            "total: {},{:03} {}s in {}.{} s, p99 {} ms",
            1 + d.below(90),
            d.below(1000),
            noun(d),
            d.below(60),
            d.below(10),
            d.below(3000)
        )
    }),
    kind("a commit", Place::Output, |d| {
        format!("[main {}] {} the {} when {} is empty", hex(d, 7), title(verb(d)), noun(d), name(d))
    }),
    kind("an address", Place::Output, |d| {
        format!(
            "listening on 10.{}.{}.{}:{} for {}",
            d.below(255),
            d.below(255),
            d.below(255),
            1024 + d.below(60_000),
            noun(d)
        )
    }),
    kind("a coloured line", Place::Output, |d| {
        format!(
            "\u{1b}[31m✗\u{1b}[0m {} \u{1b}[1m{}\u{1b}[0m expected {} got {}",
            noun(d),
            name(d),
            d.below(9000),
            d.below(9000)
        )
    }),
    kind("a setting", Place::Edited, |d| {
        format!(
            "pub const {}_{}_LIMIT: usize = {};",
            verb(d).to_uppercase(),
            noun(d).to_uppercase(),
            d.below(90_000)
        )
    }),
    kind("a long argument", Place::Written, |d| {
        format!(
            "const {}Timeout = {}; // chosen after the {} incident of {}",
            noun(d),
            d.below(90_000),
            noun(d),
            name(d)
        )
    }),
    kind("a quoted argument", Place::Written, |d| {
        format!("    print(\"{} {} is ready\", end=\"{}\")", verb(d), noun(d), hex(d, 6))
    }),
    kind("a thought", Place::Thought, |d| {
        format!(
            "I suspect that the {} keeps a stale {} because {} never calls {}.",
            noun(d),
            noun(d),
            path(d),
            name(d)
        )
    }),
    kind("a decision", Place::Assistant, |d| {
        format!("Decision: we keep {} in {} and drop the {} for now.", name(d), path(d), noun(d))
    }),
    kind("a constraint", Place::User, |d| {
        format!(
            "Never {} the {} on host {}-{} before {}:{:02}.",
            verb(d),
            noun(d),
            noun(d),
            d.below(90),
            d.below(24),
            d.below(60)
        )
    }),
    kind("output of the user's command", Place::Bash, |d| {
        format!("{} {} {}% /mnt/{}", name(d), d.below(900_000), d.below(100), hex(d, 5))
    }),
    kind("a value in a long line", Place::LongLine, |d| {
        format!("\"{}Id\":\"{}\",\"{}\":{}", noun(d), hex(d, 10), name(d), d.below(90_000))
    }),
    kind("Japanese", Place::Output, |d| {
        format!(
            "警告: 設定ファイル {} の値 {} は {} に対して無効です",
            path(d),
            d.below(90_000),
            noun(d)
        )
    }),
    kind("German", Place::Output, |d| {
        format!("Größe überschritten: {} Zeichen für „{}“ in {}", d.below(90_000), noun(d), path(d))
    }),
    kind("Russian", Place::Output, |d| {
        format!("Ошибка: модуль {} не найден в каталоге {}", name(d), path(d))
    }),
];

/// The line among others, as the place holds it.
pub fn among(dice: &mut Dice, fact: &str, before: u64, after: u64) -> String {
    let mut lines = super::noise::lines(dice, before);
    lines.push(fact.to_owned());
    lines.extend(super::noise::lines(dice, after));
    lines.join("\n")
}

/// The fact in a line of that many characters.
pub fn in_long_line(dice: &mut Dice, fact: &str, characters: usize) -> String {
    let mut side = |characters: usize| {
        let mut text = String::new();
        while text.len() < characters {
            text.push_str(line(dice).trim());
            text.push(',');
        }
        text
    };
    format!("{{{}{fact},{}}}", side(characters / 2), side(characters / 2))
}
