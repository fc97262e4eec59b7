//! The entries of a session in file order: what they are, where they lie, whose child they are.
//! About 60 bytes an entry, so that a session of any size fits.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::head::{Head, Kind, Parent, Role};
use super::ids;
use crate::error::{Error, Result};

/// Where an entry's JSON lies in its source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub len: u64,
}

/// The number of an entry in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNo(u32);

impl EntryNo {
    /// Counted from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Root,
    To(EntryNo),
    /// The line before: files of other tools leave the field out.
    Above,
    /// The parent's id is not in the file.
    Missing,
    /// Not looked up yet: the parent is not the entry before. Its id is in `Index::far_parents`.
    Far,
}

struct Slot {
    place: Place,
    id_start: u32,
    id_len: u16,
    kind: Kind,
    role: Role,
    is_setting: bool,
    parent: Link,
}

#[derive(Default)]
pub struct Index {
    slots: Vec<Slot>,
    ids: String,
    far_parents: Vec<(EntryNo, String)>,
    /// For format v1: `firstKeptEntryIndex` counts parsed lines, the header and strangers included.
    position_of_line: Vec<Option<EntryNo>>,
    /// Entries came without ids and are chained in file order.
    made_up_ids: bool,
    /// The first entry means the line before it, which this index does not have.
    begins_without_parent: bool,
}

impl Index {
    pub fn note_header(&mut self) {
        self.position_of_line.push(None);
    }

    pub fn note_stranger(&mut self) {
        self.position_of_line.push(None);
    }

    /// Adds the entry of a line. One without an id gets a name from its position, as a file of Pi's
    /// format 1 has none.
    ///
    /// Errors: there are more entries than an index holds (2^32).
    pub fn push(&mut self, place: Place, head: &Head) -> Result<()> {
        let number = u32::try_from(self.slots.len()).map_err(|_| too_many())?;
        let number = EntryNo(number);
        let previous = number.0.checked_sub(1).map(EntryNo);
        let id = if head.id.is_empty() {
            self.made_up_ids = true;
            made_up_id(self.slots.len())
        } else {
            ids::plain(&head.id)
        };
        let parent = match &head.parent {
            Parent::Root => Link::Root,
            Parent::Absent => {
                self.begins_without_parent |= previous.is_none();
                previous.map_or(Link::Root, |_| Link::Above)
            }
            Parent::Id(id) => {
                let id = ids::plain(id);
                match previous.filter(|p| self.id(*p) == id) {
                    Some(previous) => Link::To(previous),
                    None => {
                        self.far_parents.push((number, id.into_owned()));
                        Link::Far
                    }
                }
            }
        };
        let id_len = u16::try_from(id.len()).map_err(|_| too_many())?;
        let id_start = u32::try_from(self.ids.len()).map_err(|_| too_many())?;
        self.ids.push_str(&id);
        self.slots.push(Slot {
            place,
            id_start,
            id_len,
            kind: head.kind,
            role: head.role,
            is_setting: head.is_setting,
            parent,
        });
        self.position_of_line.push(Some(number));
        Ok(())
    }

    /// Adds the entries of the lines that follow. `false` if they cannot be added as they are: some
    /// depend on the entries before them (format v1, or a first entry that names no parent).
    pub fn append(&mut self, rest: Index) -> bool {
        if !rest.stands_alone() || self.made_up_ids {
            return false;
        }
        let (Ok(base), Ok(id_base)) =
            (u32::try_from(self.slots.len()), u32::try_from(self.ids.len()))
        else {
            return false;
        };
        let last = self.last();
        let moved = |entry: EntryNo| EntryNo(entry.0 + base);
        self.ids.push_str(&rest.ids);
        self.slots.extend(rest.slots.into_iter().map(|slot| Slot {
            id_start: slot.id_start + id_base,
            parent: match slot.parent {
                Link::To(parent) => Link::To(moved(parent)),
                other => other,
            },
            ..slot
        }));
        for (child, parent) in rest.far_parents {
            match last.filter(|last| child.0 == 0 && self.id(*last) == parent) {
                Some(last) => self.slots[moved(child).0 as usize].parent = Link::To(last),
                None => self.far_parents.push((moved(child), parent)),
            }
        }
        self.position_of_line
            .extend(rest.position_of_line.into_iter().map(|number| number.map(moved)));
        true
    }

    /// What it says does not depend on lines before its first one.
    pub fn stands_alone(&self) -> bool {
        !self.made_up_ids && !self.begins_without_parent
    }

    /// Looks up the parents that were not the entry before; call once, after the pass. Of entries
    /// with one id the last is meant, by all their children, as in Pi.
    pub fn link(&mut self) {
        let has_twins = self.twin().is_some();
        if self.far_parents.is_empty() && !has_twins {
            return;
        }
        let far = std::mem::take(&mut self.far_parents);
        let adjacent = self.numbers().filter_map(|child| match self.slot(child).parent {
            Link::To(parent) if has_twins => Some((child, self.id(parent))),
            _ => None,
        });
        let asked: Vec<(EntryNo, &str)> =
            far.iter().map(|(child, id)| (*child, id.as_str())).chain(adjacent).collect();
        // Mostly few ids are asked for: a table of all of them would cost more.
        let mut found: HashMap<&str, Option<EntryNo>> =
            asked.iter().map(|(_, id)| (*id, None)).collect();
        for number in self.numbers() {
            if let Some(last) = found.get_mut(self.id(number)) {
                *last = Some(number);
            }
        }
        let links: Vec<_> =
            asked.iter().map(|(child, id)| (*child, found.get(id).copied().flatten())).collect();
        for (child, parent) in links {
            self.slots[child.0 as usize].parent = parent.map_or(Link::Missing, Link::To);
        }
        if has_twins && self.slots.iter().any(|slot| slot.parent == Link::Above) {
            self.rename_twins();
        }
    }

    /// The id of two entries, if there are any.
    pub fn twin(&self) -> Option<&str> {
        // Eight bytes an entry; a digest that stands twice need not be a twin.
        let mut digests: Vec<u64> = self.numbers().map(|number| self.digest(number)).collect();
        digests.sort_unstable();
        if digests.windows(2).all(|pair| pair[0] != pair[1]) {
            return None;
        }
        let mut ids = HashSet::with_capacity(self.slots.len());
        self.numbers().map(|number| self.id(number)).find(|id| !ids.insert(*id))
    }

    /// Entries that are chained have to have different ids: of twins the last one keeps it.
    fn rename_twins(&mut self) {
        let mut taken: HashSet<String> = HashSet::new();
        for number in self.numbers().rev() {
            let id = self.id(number).to_owned();
            if taken.insert(id.clone()) {
                continue;
            }
            let mut name = ids::of_twin(&id, number.0);
            while !taken.insert(name.clone()) {
                name.push('~');
            }
            let (Ok(start), Ok(len)) = (u32::try_from(self.ids.len()), u16::try_from(name.len()))
            else {
                return;
            };
            self.ids.push_str(&name);
            let slot = &mut self.slots[number.0 as usize];
            (slot.id_start, slot.id_len) = (start, len);
        }
    }

    fn digest(&self, number: EntryNo) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.id(number).hash(&mut hasher);
        hasher.finish()
    }

    /// Chains all entries in file order, as Pi does when it migrates format v1.
    pub fn chain(&mut self) {
        self.far_parents.clear();
        if self.twin().is_some() {
            self.rename_twins();
        }
        for number in 0..self.slots.len() {
            let parent = number.checked_sub(1).and_then(|p| u32::try_from(p).ok());
            self.slots[number].parent = parent.map_or(Link::Root, |p| Link::To(EntryNo(p)));
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = EntryNo> + use<> {
        (0..u32::try_from(self.slots.len()).unwrap_or(u32::MAX)).map(EntryNo)
    }

    pub fn last(&self) -> Option<EntryNo> {
        self.numbers().next_back()
    }

    /// The newest entry with this id (Pi, too, lets a later line replace an earlier one).
    pub fn find(&self, id: &str) -> Option<EntryNo> {
        self.numbers().rev().find(|n| self.id(*n) == id)
    }

    pub fn id(&self, number: EntryNo) -> &str {
        let slot = self.slot(number);
        &self.ids[slot.id_start as usize..slot.id_start as usize + usize::from(slot.id_len)]
    }

    pub fn kind(&self, number: EntryNo) -> Kind {
        self.slot(number).kind
    }

    pub fn role(&self, number: EntryNo) -> Role {
        self.slot(number).role
    }

    pub fn is_setting(&self, number: EntryNo) -> bool {
        self.slot(number).is_setting
    }

    pub fn place(&self, number: EntryNo) -> Place {
        self.slot(number).place
    }

    /// The parent, `None` at a root; `Err` with the reason where the chain is broken.
    pub fn parent(&self, number: EntryNo) -> std::result::Result<Option<EntryNo>, &'static str> {
        match self.slot(number).parent {
            Link::Root => Ok(None),
            Link::To(parent) => Ok(Some(parent)),
            Link::Above => Ok(number.0.checked_sub(1).map(EntryNo)),
            Link::Missing | Link::Far => Err("its parent is not in the file"),
        }
    }

    /// The entry of the n-th parsed line, for `firstKeptEntryIndex` of format v1.
    pub fn at_line(&self, line: usize) -> Option<EntryNo> {
        self.position_of_line.get(line).copied().flatten()
    }

    fn slot(&self, number: EntryNo) -> &Slot {
        // An EntryNo is only made by `push` and `numbers`, and slots are never removed.
        &self.slots[number.0 as usize]
    }
}

fn too_many() -> Error {
    Error::NotASession {
        path: "the session".into(),
        why: "more entries than can be counted".into(),
    }
}

/// The ids that entries of format v1 get: their position, as Pi's ids look.
fn made_up_id(position: usize) -> Cow<'static, str> {
    Cow::Owned(format!("{position:08x}"))
}
