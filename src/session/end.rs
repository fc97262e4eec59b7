//! The end of a session file: what is asked before every request is mostly told by the newest
//! entries, and need not cost a look at all of them.

use std::path::Path;
use std::sync::Mutex;

use super::source::Source;
use super::{Branch, CHAINED_VERSION, Leaf, NEWEST_VERSION, Reading, Session, scan};
use crate::error::{Error, Result};

/// Bytes of the end that are tried one after the other; beyond, the whole file is read.
const PARTS: [u64; 3] = [2 << 20, 8 << 20, 32 << 20];

impl<'a> Session<'a> {
    /// Opens so much of a session file's end that `reaches` is content with the branch of the leaf,
    /// else the whole file. The branch begins where the part does, if it is one; what it has is what
    /// the whole one ends with.
    ///
    /// Errors: unreadable, not a session, or of a format that is not known; those of `reaches`.
    pub fn open_end(
        path: &Path,
        leaf: &Leaf,
        reaches: impl Fn(&Branch) -> Result<bool>,
    ) -> Result<Session<'a>> {
        let mut source = Source::open(path)?;
        for part in PARTS {
            match Session::end_of(source, part, leaf, &reaches)? {
                Part::Enough(session) => return Ok(*session),
                Part::TooLittle(whole) => source = whole,
            }
        }
        Session::from_source(source, Reading::AsPi)
    }

    fn end_of(
        source: Source<'a>,
        bytes: u64,
        leaf: &Leaf,
        reaches: &impl Fn(&Branch) -> Result<bool>,
    ) -> Result<Part<'a>> {
        // Of most of a file the whole costs hardly more.
        let Some(from) = source.len().checked_sub(bytes).filter(|from| *from > bytes) else {
            return Ok(Part::TooLittle(source));
        };
        let header = scan::header(&source)?
            .filter(|header| (CHAINED_VERSION..=NEWEST_VERSION).contains(&header.version));
        let index = scan::scan_end(&source, from)?.filter(|index| index.stands_alone());
        let (Some(header), Some(mut index)) = (header, index) else {
            return Ok(Part::TooLittle(source));
        };
        index.link();
        let session = Session {
            source,
            index,
            reading: Reading::AsPi,
            window: Mutex::default(),
            header,
            given_labels: None,
            malformed_lines: 0,
            is_end: true,
        };
        let is_enough = match session.branch(leaf) {
            Ok(branch) => reaches(&branch)?,
            Err(Error::NoSuchEntry(_)) => false,
            Err(error) => return Err(error),
        };
        Ok(match is_enough {
            true => Part::Enough(Box::new(session)),
            false => Part::TooLittle(session.source),
        })
    }
}

enum Part<'a> {
    Enough(Box<Session<'a>>),
    TooLittle(Source<'a>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#;

    fn ids(branch: &Branch) -> Vec<String> {
        branch.iter().map(|(_, entry)| branch.session.id(entry).to_owned()).collect()
    }

    proptest! {
        /// Parents anywhere before, ids that stand twice, lines of any length.
        #[test]
        fn the_branch_of_an_end_is_the_end_of_the_branch(
            entries in prop::collection::vec((0usize..12, 0usize..4, 0usize..120), 1..40),
            leaf in any::<prop::sample::Index>(),
            bytes in 60u64..1500,
            wanted in 1usize..6,
        ) {
            let mut lines = vec![HEADER.to_owned()];
            let mut names: Vec<String> = Vec::new();
            for (number, (name, back, text)) in entries.iter().enumerate() {
                // Of a few entries one has the id of another one.
                let id = if *name == 0 && number > 3 { format!("e{}", number - 3) } else { format!("e{number}") };
                let parent = names.len().checked_sub(1 + back).map(|at| names[at].clone());
                lines.push(json!({ "type": "custom", "customType": "x", "data": "x".repeat(*text), "id": id, "parentId": parent, "timestamp": "T" }).to_string());
                names.push(id);
            }
            let file = lines.join("\n") + "\n";
            let whole = Session::from_jsonl(file.as_bytes(), Reading::AsPi).unwrap();
            let leaf = Leaf::Id(&names[leaf.index(names.len())]);
            let expected = ids(&whole.branch(&leaf).unwrap());
            let reaches = |branch: &Branch| Ok(branch.len() >= wanted);
            let part = Session::end_of(Source::Memory(file.as_bytes()), bytes, &leaf, &reaches);
            if let Part::Enough(session) = part.unwrap() {
                let branch = session.branch(&leaf).unwrap();
                let found = ids(&branch);
                prop_assert!(found.len() >= wanted && expected.ends_with(&found), "{found:?} of {expected:?}");
            }
        }
    }

    #[test]
    fn it_is_read_when_it_is_enough() {
        let line = |n: usize| {
            json!({ "type": "custom", "customType": "x", "id": format!("e{n}"), "parentId": n.checked_sub(1).map(|n| format!("e{n}")), "timestamp": "T" }).to_string()
        };
        let file = [HEADER.to_owned()]
            .into_iter()
            .chain((0..100).map(line))
            .collect::<Vec<_>>()
            .join("\n");
        let end_of = |bytes, wanted, leaf: &str| {
            let reaches = |branch: &Branch| Ok(branch.len() >= wanted);
            let source = Source::Memory(file.as_bytes());
            matches!(Session::end_of(source, bytes, &Leaf::Id(leaf), &reaches), Ok(Part::Enough(_)))
        };
        assert!(end_of(2_000, 10, "e99"));
        assert!(!end_of(2_000, 90, "e99"), "the branch goes on");
        assert!(!end_of(2_000, 1, "e5"), "the leaf lies before");
        assert!(!end_of(7_000, 1, "e99"), "it is most of the file");
    }
}
