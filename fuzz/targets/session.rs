//! Session files: any bytes after the header. Whole lines are never lost, and everything can be
//! read that was found.

use pi_stet::json::Fields;
use pi_stet::session::projection::Projection;
use pi_stet::session::{Detail, Leaf, Reading, Session, cut, ids};
use serde_json::Value;

const HEADER: &[u8] = b"{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n";

pub fn run(data: &[u8]) {
    let with_header = [HEADER, data].concat();
    let whole = whole_entries(&with_header);
    for reading in [Reading::AsPi, Reading::Recover] {
        let session = Session::from_jsonl(&with_header, reading).expect("the header is whole");
        let found: Vec<&str> = session.entries().map(|entry| session.id(entry)).collect();
        let mut rest = found.iter();
        for id in &whole {
            // Of twins that are chained by their place, the earlier one has a longer name.
            let is_it = |other: &&str| ids::is_name_of(other, id);
            assert!(rest.any(is_it), "{reading:?} lost {id:?}; it has {found:?}");
        }
        read_all(&session, reading);
    }
    // Any header at all.
    if let Ok(session) = Session::from_jsonl(data, Reading::Recover) {
        read_all(&session, Reading::Recover);
    }
}

fn read_all(session: &Session, reading: Reading) {
    for entry in session.entries() {
        for detail in [Detail::Kept, Detail::All] {
            match session.read(entry, detail) {
                Ok(_) => {}
                Err(error) => {
                    assert!(reading == Reading::AsPi && error.code() == "session-stale", "{error}")
                }
            }
        }
    }
    // A line that only looks like an entry ends in an error, as it must.
    let leaves: Vec<_> = session.entries().map(|entry| session.id(entry).to_owned()).collect();
    let ids = leaves.iter().map(|id| Leaf::Id(id));
    for leaf in [Leaf::Last, Leaf::Root].into_iter().chain(ids.take(8)) {
        let branch = session.branch(&leaf).expect("a leaf of this session");
        assert!(branch.len() <= session.len());
        let Ok(context) = Projection::of(&branch) else { continue };
        let _ = cut::find(&branch, 20);
        for position in 0..branch.len() {
            let _ = context.read(position, Detail::Kept);
        }
    }
    let _ = session.labels();
}

/// The ids of the lines that are one JSON object each, as `serde_json` reads them by itself.
fn whole_entries(file: &[u8]) -> Vec<String> {
    let entry = |line: &[u8]| -> Option<String> {
        let line = std::str::from_utf8(line).ok()?;
        let entry: Value = serde_json::from_str(line.trim_matches([' ', '\t', '\r'])).ok()?;
        let kind = entry.as_object()?.get("type")?.as_str()?;
        // Of a field that stands twice the head is read by the first, which Pi never writes.
        let fields = Fields::parse(line.trim())?;
        if ["type", "id"]
            .iter()
            .any(|key| fields.iter().filter(|(name, _)| name == key).count() > 1)
        {
            return None;
        }
        let id = entry["id"].as_str().filter(|id| !id.is_empty())?;
        (kind != "session").then(|| ids::plain(id).into_owned())
    };
    file.split(|byte| *byte == b'\n').filter_map(entry).collect()
}
