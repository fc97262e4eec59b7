//! Which lines of what happened fit a budget. What the user asked comes first and is never lost:
//! it is there whole, or by its id. Then errors, then what the assistant said, then calls.

use super::line::{Kind, Line};
use crate::text::{counted, grouped};

/// Characters that the lines around a digest take at most: counts and the split-turn heading.
const FRAME: usize = 360;
/// Whatever the asks take, an error and a few words of the assistant have room beside them.
const FEWEST: usize = 600;
/// The label before asks that go by their ids, or by their range.
const BY_ID: usize = 70;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Whole,
    Id,
    /// One of the oldest asks, of which only the range is told.
    Range,
    Gone,
}

/// Lines with the decision which of them are shown.
#[derive(Debug)]
pub struct Digest<'l> {
    lines: &'l [Line],
    shows: Vec<Show>,
}

/// A budget in characters.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    total: usize,
    /// What everything but asks may take.
    others: usize,
    /// What is kept free for the lines around the digest.
    frame: usize,
}

impl Budget {
    /// So many characters, for lines without counts around them.
    pub fn bare(total: usize) -> Budget {
        Budget { total, others: total, frame: 0 }
    }

    /// So many characters, counts included.
    pub fn of(total: usize) -> Budget {
        Budget { frame: FRAME, ..Budget::bare(total) }
    }

    /// A digest of so much text: under half of it, at most 6,000 characters.
    pub fn for_text(chars: usize) -> Budget {
        let others = (chars / 2).saturating_sub(300).clamp(FEWEST, super::DIGEST_CHARS);
        Budget { others, ..Budget::of(super::DIGEST_CHARS) }
    }
}

impl<'l> Digest<'l> {
    pub fn of(lines: &'l [Line], budget: Budget) -> Digest<'l> {
        let mut chooser = Chooser {
            lines,
            shows: vec![Show::Gone; lines.len()],
            left: budget.total.saturating_sub(budget.frame),
        };
        let before = chooser.left;
        chooser.asks();
        let taken = before - chooser.left;
        let others = budget.others.saturating_sub(taken).max(FEWEST).min(chooser.left);
        chooser.others(others);
        Digest { lines, shows: chooser.shows }
    }

    pub fn is_empty(&self) -> bool {
        self.shows.iter().all(|show| *show == Show::Gone)
    }

    /// The digest as text. Lines from `split_turn` on belong to a turn that goes on below.
    pub fn render(&self, split_turn: Option<usize>) -> String {
        let mut out = String::new();
        if let Some((first, last, count)) = self.range() {
            out.push_str(&format!(
                "[USER] {} known by their range only, entries {first} to {last}\n",
                counted(count, "request", "requests")
            ));
        }
        let ids: Vec<&str> = self.shown(Show::Id).map(|line| line.entry.as_str()).collect();
        if !ids.is_empty() {
            out.push_str(&format!("[USER] by id, whole in the session: {}\n", ids.join(", ")));
        }
        let mut below = false;
        for line in self.shown(Show::Whole) {
            let of_split_turn = split_turn.zip(line.position).is_some_and(|(from, at)| at >= from);
            if of_split_turn && !below {
                out.push_str(SPLIT_TURN);
                below = true;
            }
            out.push_str(&line.render());
            out.push('\n');
        }
        out
    }

    /// What there was, and what of it is not shown.
    pub fn counts(&self) -> String {
        let mut all = Counts::default();
        let mut gone = Counts::default();
        for (line, show) in self.lines.iter().zip(&self.shows) {
            all.add(line);
            if *show == Show::Gone {
                gone.add(line);
            }
        }
        let by_id: usize = self
            .lines
            .iter()
            .zip(&self.shows)
            .filter(|(_, show)| matches!(show, Show::Id | Show::Range))
            .map(|(line, _)| line.asks())
            .sum();
        let mut left_out = gone.parts();
        if by_id > 0 {
            let text = format!("{} by id only", counted(by_id, "request", "requests"));
            left_out.insert(0, text);
        }
        let mut text = format!("Happened: {}.", all.parts().join(", "));
        if !left_out.is_empty() {
            text.push_str(&format!(" Left out here: {}.", left_out.join(", ")));
        }
        text
    }

    /// What of the lines a later digest can be made of.
    pub fn carried(&self) -> Vec<Line> {
        let mut carried = Vec::new();
        if let Some((first, last, count)) = self.range() {
            let mut line = Line::new(Kind::Ask, first, String::new());
            line.until = Some((last.to_owned(), count));
            carried.push(line);
        }
        for (line, show) in self.lines.iter().zip(&self.shows) {
            match show {
                Show::Whole => carried.push(Line { position: None, ..line.clone() }),
                Show::Id => carried.push(Line::new(Kind::Ask, &line.entry, String::new())),
                Show::Range | Show::Gone => {}
            }
        }
        carried
    }

    fn shown(&self, wanted: Show) -> impl Iterator<Item = &'l Line> + '_ {
        let pairs = self.lines.iter().zip(&self.shows);
        pairs.filter(move |(_, show)| **show == wanted).map(|(line, _)| line)
    }

    /// The asks of which only the range is told.
    fn range(&self) -> Option<(&str, &str, usize)> {
        let first = self.shown(Show::Range).next()?;
        let last = self.shown(Show::Range).last()?;
        let last = last.until.as_ref().map_or(last.entry.as_str(), |(last, _)| last);
        Some((&first.entry, last, self.shown(Show::Range).map(Line::asks).sum()))
    }
}

/// The heading that Pi gives to the beginning of a turn whose end is kept.
pub const SPLIT_TURN: &str = "**Turn Context (split turn):**\n";

struct Chooser<'l> {
    lines: &'l [Line],
    shows: Vec<Show>,
    left: usize,
}

impl Chooser<'_> {
    fn asks(&mut self) {
        // What another method left can be named by nothing shorter.
        let states = self.newest(&[Kind::State], 0, self.left / 2);
        self.left -= states;
        let asks: Vec<usize> =
            (0..self.lines.len()).filter(|at| self.lines[*at].kind == Kind::Ask).collect();
        // Every ask by its id first, newest first: so none is lost to the text of another.
        let mut room = self.left.saturating_sub(2 * BY_ID);
        let mut first_by_id = asks.len();
        for (nth, at) in asks.iter().enumerate().rev() {
            let cost = id_cost(&self.lines[*at]);
            if self.lines[*at].until.is_some() || cost > room {
                break;
            }
            room -= cost;
            first_by_id = nth;
        }
        let (ranged, by_id) = asks.split_at(first_by_id);
        ranged.iter().for_each(|at| self.shows[*at] = Show::Range);
        by_id.iter().for_each(|at| self.shows[*at] = Show::Id);
        if !asks.is_empty() {
            self.left = room;
        }
        // Then as many whole as fit: the newest says what is wanted now, the first what for.
        let newest = by_id.last().copied();
        let first = by_id.first().copied().filter(|at| Some(*at) != newest);
        let between = by_id.iter().rev().copied().filter(|at| Some(*at) != newest);
        let order: Vec<usize> = newest.into_iter().chain(first).chain(between).collect();
        for at in order {
            let line = &self.lines[at];
            if self.shows[at] == Show::Whole || line.text.is_empty() {
                continue;
            }
            let room = self.left + id_cost(line);
            if line.size() <= room {
                self.left = room - line.size();
                self.shows[at] = Show::Whole;
            }
        }
    }

    /// Newest first of each class; errors cannot take it all, nor what was said.
    fn others(&mut self, allowance: usize) {
        let classes: [(&[Kind], usize); 3] = [
            (&[Kind::Failed], allowance / 2),
            (&[Kind::Said, Kind::BranchSummary], allowance * 4 / 5),
            (&[Kind::Call, Kind::Command, Kind::Custom], allowance),
        ];
        let mut taken = 0;
        for (kinds, limit) in classes {
            taken = self.newest(kinds, taken, limit);
        }
        for (kinds, _) in classes {
            taken = self.newest(kinds, taken, allowance);
        }
    }

    fn newest(&mut self, kinds: &[Kind], mut taken: usize, limit: usize) -> usize {
        for at in (0..self.lines.len()).rev() {
            if !kinds.contains(&self.lines[at].kind) || self.shows[at] == Show::Whole {
                continue;
            }
            let size = self.lines[at].size();
            if taken + size > limit {
                break;
            }
            taken += size;
            self.shows[at] = Show::Whole;
        }
        taken
    }
}

fn id_cost(line: &Line) -> usize {
    line.entry.chars().count() + 2
}

/// How much of each there is.
#[derive(Debug, Default)]
struct Counts {
    asks: usize,
    said: usize,
    calls: usize,
    failed: usize,
    commands: usize,
    custom: usize,
    branch_summaries: usize,
    injected: usize,
    states: usize,
}

impl Counts {
    fn add(&mut self, line: &Line) {
        self.asks += line.asks();
        self.calls += usize::from(line.is_call());
        match line.kind {
            Kind::Said => self.said += 1,
            Kind::Failed => self.failed += 1,
            Kind::Command => self.commands += 1,
            Kind::Custom => self.custom += 1,
            Kind::BranchSummary => self.branch_summaries += 1,
            Kind::Injected => self.injected += 1,
            Kind::State => self.states += 1,
            Kind::Ask | Kind::Call => {}
        }
    }

    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let mut add = |n: usize, one: &str, many: &str| {
            if n > 0 {
                parts.push(counted(n, one, many));
            }
        };
        add(self.asks, "request", "requests");
        add(self.said, "assistant step", "assistant steps");
        add(self.calls, "tool call", "tool calls");
        if self.failed > 0
            && let Some(calls) = parts.last_mut()
        {
            calls.push_str(&format!(" ({} failed)", grouped(self.failed as u64)));
        }
        let mut add = |n: usize, one: &str, many: &str| {
            if n > 0 {
                parts.push(counted(n, one, many));
            }
        };
        add(self.commands, "command by the user", "commands by the user");
        add(self.custom, "extension message", "extension messages");
        add(self.branch_summaries, "branch summary", "branch summaries");
        add(self.injected, "injected context message", "injected context messages");
        add(self.states, "carried summary", "carried summaries");
        parts
    }
}
