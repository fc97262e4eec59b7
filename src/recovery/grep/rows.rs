//! Matching lines in their short form: which of them come first, and on which page.

use std::collections::HashMap;

use crate::recovery::SEARCH_PAGE;
use crate::recovery::telling::{self, Telling, Words};

/// Lines that can be listed; of more, the newest.
pub const MAX_ROWS: usize = 20_000;

/// A matching line in its short form.
pub struct Row {
    pub text: String,
    /// Where the line itself begins in it.
    line: usize,
    words: Words,
    /// The match begins and ends where words do.
    whole: bool,
    /// Its place among all, newest first.
    order: usize,
}

impl Row {
    pub fn new((text, line): (String, usize), whole: bool) -> Row {
        let words = telling::words(&text[line..]);
        Row { text, line, words, whole, order: 0 }
    }

    fn itself(&self) -> &str {
        &self.text[self.line..]
    }
}

/// The rows, which come newest first, as they are shown, and how to say it.
pub fn arranged(mut rows: Vec<Row>, most: usize) -> (&'static str, Vec<Row>) {
    rows.iter_mut().enumerate().for_each(|(order, row)| row.order = order);
    let all: usize = rows.iter().map(|row| row.text.chars().count() + 1).sum();
    if all <= SEARCH_PAGE && rows.len() <= most {
        return ("newest first", rows);
    }
    let mut telling = Telling::default();
    rows.iter().for_each(|row| telling.add(&row.words));
    let mut copies: HashMap<&str, u32> = HashMap::new();
    let tells = |row| {
        let row: &Row = row;
        // One of several equal lines stands for all of them.
        let copy = copies.entry(row.itself()).or_default();
        // Who searches `for` hardly means `before`.
        let part = if row.whole { 0.0 } else { 0.5 };
        let tells = telling.of(&row.words) - part - f64::from(*copy);
        *copy += 1;
        tells
    };
    let tells: Vec<f64> = rows.iter().map(tells).collect();
    let mut ranked: Vec<(f64, Row)> = tells.into_iter().zip(rows).collect();
    // Stable: of equal ones the newer first.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rows = ranked.into_iter().map(|(_, row)| row).take(most).collect();
    ("the most unusual lines first, newest first on a page", rows)
}

/// The rows of one page, newest first, and the number of pages.
pub fn page_of(rows: &[Row], wanted: usize) -> (String, usize) {
    let (mut page, mut filled) = (1, 0);
    let mut shown: Vec<&Row> = Vec::new();
    for row in rows {
        let len = row.text.chars().count() + 1;
        if filled > 0 && filled + len > SEARCH_PAGE {
            page += 1;
            filled = 0;
        }
        filled += len;
        if page == wanted {
            shown.push(row);
        }
    }
    shown.sort_by_key(|row| row.order);
    let text = shown.into_iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join("\n");
    (text, page)
}
