//! The branches of a file: the one that the page is about, and what leaves it.

use super::data::Strand;
use super::sizes::Sizes;
use crate::session::Branch;

/// The branches, and for each entry the one it is on: 0 is the branch itself, `n` the n-th other.
pub struct Strands {
    pub others: Vec<Strand>,
    pub of: Vec<usize>,
}

pub fn strands(branch: &Branch, sizes: &[Sizes]) -> Strands {
    let session = branch.session;
    let mut of: Vec<Option<usize>> = vec![None; session.len()];
    for (_, entry) in branch.iter() {
        of[entry.index()] = Some(0);
    }
    let mut others: Vec<Strand> = Vec::new();
    for entry in session.entries() {
        let at = entry.index();
        if of[at].is_some() {
            continue;
        }
        let from = session.parent(entry).ok().flatten().map(|parent| parent.index());
        // The first child goes on; each further one is a branch of its own.
        let goes_on = from.and_then(|from| of[from]).filter(|strand: &usize| {
            strand.checked_sub(1).is_some_and(|other| Some(others[other].last) == from)
        });
        let number = goes_on.unwrap_or_else(|| {
            others.push(Strand { from, first: at, last: at, entries: 0, tokens: 0 });
            others.len()
        });
        let strand = &mut others[number - 1];
        strand.last = at;
        strand.entries += 1;
        strand.tokens += sizes[at].total();
        of[at] = Some(number);
    }
    Strands { others, of: of.into_iter().map(Option::unwrap_or_default).collect() }
}

impl Strands {
    /// The entries of each of the other branches.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.others.len()];
        for (number, strand) in self.of.iter().enumerate().filter(|(_, strand)| **strand > 0) {
            members[strand - 1].push(number);
        }
        members
    }
}

/// The entries of the branch as runs of neighbours in the file.
pub fn runs(branch: &Branch) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for (_, entry) in branch.iter() {
        match runs.last_mut() {
            Some([first, count]) if *first + *count == entry.index() => *count += 1,
            _ => runs.push([entry.index(), 1]),
        }
    }
    runs
}
