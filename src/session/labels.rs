//! Labels: a person's marks on entries. They are file-wide, whatever branch set them; the last one
//! of an entry counts.

use std::collections::HashMap;

use super::{Body, Detail, Kind, Session};
use crate::error::Result;

impl Session<'_> {
    /// The label of each labelled entry, by entry id.
    ///
    /// Errors: the session changed while it was read.
    pub fn labels(&self) -> Result<HashMap<String, String>> {
        if let Some(given) = &self.given_labels {
            return Ok(given.clone());
        }
        let mut labels = HashMap::new();
        for entry in self.entries().filter(|entry| self.kind(*entry) == Kind::Label) {
            match self.read(entry, Detail::Kept)?.body {
                Body::Label { target, label: Some(label) } => labels.insert(target, label),
                Body::Label { target, label: None } => labels.remove(&target),
                _ => None,
            };
        }
        Ok(labels)
    }
}
