//! What a coding session is full of: test runs, logs, listings, code. Words of many files and
//! modules, so that every word of a fact has company.

use super::super::generate::Dice;

const VERBS: [&str; 24] = [
    "parse", "load", "fetch", "render", "merge", "split", "encode", "decode", "validate",
    "refresh", "resolve", "collect", "flush", "retry", "schedule", "publish", "commit", "rotate",
    "expand", "trim", "index", "query", "watch", "close",
];
const NOUNS: [&str; 32] = [
    "token", "session", "buffer", "header", "cache", "branch", "worker", "queue", "config",
    "schema", "record", "bucket", "stream", "socket", "packet", "ledger", "invoice", "account",
    "payload", "segment", "cursor", "replica", "shard", "digest", "region", "lease", "quota",
    "widget", "layout", "palette", "tariff", "sensor",
];
const FOLDERS: [&str; 10] =
    ["auth", "billing", "core", "storage", "network", "ui", "search", "reports", "jobs", "gateway"];
const ENDINGS: [&str; 4] = ["rs", "ts", "py", "go"];

pub fn verb(dice: &mut Dice) -> &'static str {
    dice.of(&VERBS)
}

pub fn noun(dice: &mut Dice) -> &'static str {
    dice.of(&NOUNS)
}

pub fn name(dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => format!("{}_{}_{}", verb(dice), noun(dice), noun(dice)),
        1 => format!("{}{}", verb(dice), title(noun(dice))),
        _ => format!("{}_{}", noun(dice), dice.below(400)),
    }
}

pub fn title(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

pub fn path(dice: &mut Dice) -> String {
    let (folder, ending) = (dice.of(&FOLDERS), dice.of(&ENDINGS));
    format!("src/{folder}/{}_{}.{ending}", noun(dice), dice.below(60))
}

pub fn hex(dice: &mut Dice, digits: usize) -> String {
    format!("{:016x}", dice.roll())[..digits].to_owned()
}

/// One line as a tool prints it.
pub fn line(dice: &mut Dice) -> String {
    match dice.below(12) {
        0 => format!("test {}::{} ... ok", noun(dice), name(dice)),
        1 => format!(
            "2026-01-05T09:{:02}:{:02}Z INFO {}: {} {} id={} took {}ms",
            dice.below(60),
            dice.below(60),
            noun(dice),
            verb(dice),
            noun(dice),
            hex(dice, 8),
            dice.below(900),
        ),
        2 => format!(
            "{}:{}: let {} = {}({});",
            path(dice),
            dice.below(900),
            noun(dice),
            name(dice),
            noun(dice)
        ),
        3 => format!(
            "    fn {}(&self, {}: &str) -> Result<{}> {{",
            name(dice),
            noun(dice),
            title(noun(dice))
        ),
        4 => format!(
            "-rw-r--r-- 1 dev dev {:>7} Jan  5 09:{:02} {}",
            dice.below(900_000),
            dice.below(60),
            path(dice)
        ),
        5 => format!(
            "warning: unused variable: `{}` in {}:{}",
            name(dice),
            path(dice),
            dice.below(900)
        ),
        6 => format!(
            "   Compiling {}-{} v0.{}.{}",
            noun(dice),
            noun(dice),
            dice.below(20),
            dice.below(20)
        ),
        7 => format!(
            "        self.{}.{}(\"{}\", {})?;",
            noun(dice),
            verb(dice),
            noun(dice),
            dice.below(5000)
        ),
        8 => format!(
            "  \"{}\": {{ \"{}\": {}, \"{}\": \"{}\" }},",
            noun(dice),
            noun(dice),
            dice.below(9999),
            noun(dice),
            hex(dice, 12)
        ),
        9 => format!(
            "WARN {} {} is slow: {} ms, limit {} ms",
            noun(dice),
            name(dice),
            dice.below(5000),
            dice.below(3000)
        ),
        10 => format!(
            "// The {} must {} every {} before the {} does",
            noun(dice),
            verb(dice),
            noun(dice),
            noun(dice)
        ),
        _ => String::new(),
    }
}

pub fn lines(dice: &mut Dice, count: u64) -> Vec<String> {
    (0..count).map(|_| line(dice)).collect()
}

/// What a person or a model says.
pub fn prose(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => format!(
            "The {} in {} has to {} the {} first.",
            noun(dice),
            path(dice),
            verb(dice),
            noun(dice)
        ),
        1 => format!(
            "I look at `{}` and at what the {} does with its {}.",
            name(dice),
            noun(dice),
            noun(dice)
        ),
        2 => format!("Now the {} {}s; next comes the {}.", noun(dice), verb(dice), noun(dice)),
        3 => {
            format!("Please make `{}` {} without a second {}.", name(dice), verb(dice), noun(dice))
        }
        4 => format!(
            "That failed because the {} was not {} yet; I try the {} instead.",
            noun(dice),
            noun(dice),
            noun(dice)
        ),
        _ => format!("Done: {} of {} {}s pass.", dice.below(90), 90 + dice.below(9), noun(dice)),
    }
}
