//! The branch: the chain of parents from a leaf to its root.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{EntryNo, Session, ids};
use crate::error::{Error, Result};

/// Which entry is the end of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf<'a> {
    /// The last entry of the file, as Pi takes it when it opens one.
    Last,
    /// The tree stands at its root: an empty branch.
    Root,
    Id(&'a str),
}

/// Entries from root to leaf.
pub struct Branch<'s, 'a> {
    pub session: &'s Session<'a>,
    path: Vec<EntryNo>,
    /// Why the chain ends before a root, if it does.
    pub broken: Option<String>,
    /// How often a position was asked for, and the positions in the order of their ids once that
    /// was often.
    asked: AtomicU32,
    by_id: OnceLock<Vec<u32>>,
}

/// Looking through the path costs less than to sort it until then.
const OFTEN: u32 = 16;

impl<'a> Session<'a> {
    /// Errors: the leaf's id is not in the session.
    pub fn branch<'s>(&'s self, leaf: &Leaf) -> Result<Branch<'s, 'a>> {
        let leaf = match leaf {
            Leaf::Root => None,
            Leaf::Last => self.index.last(),
            Leaf::Id(id) => {
                Some(self.find(id).ok_or_else(|| Error::NoSuchEntry((*id).to_owned()))?)
            }
        };
        let mut path = Vec::new();
        let mut broken = None;
        let mut next = leaf;
        while let Some(entry) = next {
            // Without a cycle a path is never longer than the file.
            if path.len() == self.len() {
                broken = Some("the parents of the branch form a circle".to_owned());
                path.clear();
                path.extend(cycle_free(self, leaf));
                break;
            }
            path.push(entry);
            next = self.parent(entry).unwrap_or_else(|why| {
                broken = Some(format!("the branch ends at entry {}: {why}", self.id(entry)));
                None
            });
        }
        path.reverse();
        let (asked, by_id) = (AtomicU32::new(0), OnceLock::new());
        Ok(Branch { session: self, path, broken, asked, by_id })
    }
}

/// The entries from the leaf back to the first one met twice.
fn cycle_free(session: &Session, leaf: Option<EntryNo>) -> Vec<EntryNo> {
    let mut seen = std::collections::HashSet::new();
    let step = |entry: &EntryNo| session.parent(*entry).ok().flatten();
    std::iter::successors(leaf, step).take_while(|entry| seen.insert(*entry)).collect()
}

impl Branch<'_, '_> {
    pub fn len(&self) -> usize {
        self.path.len()
    }

    /// The branch as it was when it had so many entries.
    pub fn until(&self, end: usize) -> Self {
        let path = self.path[..end.min(self.path.len())].to_vec();
        let (asked, by_id) = (AtomicU32::new(0), OnceLock::new());
        Branch { session: self.session, path, broken: self.broken.clone(), asked, by_id }
    }

    pub fn is_empty(&self) -> bool {
        self.path.is_empty()
    }

    /// The entry at a position of the branch, counted from the root.
    pub fn get(&self, position: usize) -> Option<EntryNo> {
        self.path.get(position).copied()
    }

    pub fn last(&self) -> Option<EntryNo> {
        self.path.last().copied()
    }

    /// Positions and entries, root to leaf.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (usize, EntryNo)> + ExactSizeIterator + '_ {
        self.path.iter().copied().enumerate()
    }

    /// The position of the entry with this id.
    pub fn position(&self, id: &str) -> Option<usize> {
        let id = ids::plain(id);
        let of = |position: &u32| self.session.id(self.path[*position as usize]);
        if let Some(sorted) = self.by_id.get() {
            let found = sorted.binary_search_by(|position| of(position).cmp(&id)).ok()?;
            return sorted.get(found).map(|position| *position as usize);
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN {
            let mut sorted: Vec<u32> = (0..u32::try_from(self.path.len()).ok()?).collect();
            sorted.sort_unstable_by(|a, b| of(a).cmp(of(b)));
            let _ = self.by_id.set(sorted);
            return self.position(&id);
        }
        self.path.iter().rposition(|entry| self.session.id(*entry) == id)
    }

    pub(crate) fn position_of(&self, entry: EntryNo) -> Option<usize> {
        self.path.iter().rposition(|other| *other == entry)
    }
}
