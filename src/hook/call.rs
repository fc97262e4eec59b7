//! What every handler may ask of an envelope: the session it names, the settings, the time.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::json;
use crate::protocol::envelope::{ContextFile, Envelope, File, SessionField};
use crate::session::{Branch, Header, Leaf, Reading, Session};
use crate::settings::{Settings, Sources};
use crate::status::Surroundings;
use crate::text::iso_time;
use crate::verbatim::Instructions;
use crate::verbatim::startup::of_prompt;

pub struct Call<'e> {
    pub envelope: Envelope<'e>,
    /// The files that were read, for a recording.
    files: RefCell<Vec<File>>,
}

impl<'e> Call<'e> {
    pub fn new(envelope: Envelope<'e>) -> Call<'e> {
        Call { envelope, files: RefCell::default() }
    }

    /// The payload in the form of its event; an absent one has every field at its default.
    pub fn payload<T: Deserialize<'e> + Default>(&self) -> Result<T> {
        let Some(raw) = self.envelope.payload else {
            return Ok(T::default());
        };
        // An array would pass: serde reads it as the fields in their order.
        if !raw.get().starts_with('{') {
            return Err(Error::Envelope("payload: expected an object".into()));
        }
        json::read(raw.get(), "payload").map_err(Error::Envelope)
    }

    /// Now, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        self.envelope.now.unwrap_or(clock)
    }

    /// Now, ISO 8601.
    pub fn now(&self) -> String {
        iso_time(self.now_ms()).unwrap_or_default()
    }

    /// One id for all completions of a tool call, in the form of a UUID. It is made from what every
    /// step has, so that nothing has to be kept for it.
    pub fn completion_session(&self, tool_call_id: &str) -> String {
        let session = self.session_field().map_or("", |session| session.id.as_str());
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, session, tool_call_id).hash(&mut hasher);
            hasher.finish()
        };
        let (high, low) = (half(0), half(1));
        format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff
        )
    }

    pub fn cwd(&self) -> &str {
        self.session_field().map_or("", |session| session.cwd.as_str())
    }

    pub fn session_id(&self) -> &str {
        self.session_field().map_or("", |session| session.id.as_str())
    }

    /// The session is a file's; else it may live in memory only.
    pub fn is_by_reference(&self) -> bool {
        self.session_field().is_some_and(|s| s.file.is_some() && s.branch.is_none())
    }

    pub fn note_file(&self, file: File) {
        self.files.borrow_mut().push(file);
    }

    pub fn files(&self) -> Vec<File> {
        self.files.take()
    }

    /// The session of the envelope, read as Pi reads it.
    ///
    /// Errors: there is none, it cannot be read, or the file is not the one the host means.
    pub fn session(&self) -> Result<Session<'e>> {
        self.session_for(Reading::AsPi)
    }

    /// The same, but of a file only so much of the end as tells what `reaches` asks.
    ///
    /// Errors: those of [`Call::session`], and of `reaches`.
    pub fn session_end(&self, reaches: impl Fn(&Branch) -> Result<bool>) -> Result<Session<'e>> {
        match self.session_field() {
            Some(SessionField { file: Some(file), id, branch: None, .. }) => {
                let leaf_id = self.leaf_id();
                let leaf = self.leaf(leaf_id.as_deref())?;
                by_reference(file, id, |path| Session::open_end(path, &leaf, &reaches))
            }
            _ => self.session(),
        }
    }

    /// The same, read for another purpose than compaction.
    pub fn session_for(&self, reading: Reading) -> Result<Session<'e>> {
        let field = self
            .session_field()
            .ok_or_else(|| Error::Envelope("this event needs a `session`".into()))?;
        match (&field.file, field.branch) {
            (_, Some(branch)) if !branch.get().starts_with('[') => {
                Err(Error::Envelope("`session.branch` is not an array".into()))
            }
            (_, Some(branch)) => Session::from_branch(
                branch,
                Header {
                    id: field.id.clone(),
                    cwd: field.cwd.clone(),
                    version: 3.0,
                    parent_session: None,
                },
                field.labels.clone(),
                reading,
            ),
            (Some(file), None) => {
                by_reference(file, &field.id, |path| Session::open(path, reading))
            }
            (None, None) => {
                Err(Error::Envelope("`session` has neither `file` nor `branch`".into()))
            }
        }
    }

    /// The branch that the envelope means.
    pub fn branch<'s>(&self, session: &'s Session<'e>) -> Result<Branch<'s, 'e>> {
        let leaf_id = self.leaf_id();
        let leaf = self.leaf(leaf_id.as_deref())?;
        let branch = session.branch(&leaf).map_err(|error| match error {
            Error::NoSuchEntry(id) => Error::SessionStale(format!("it has no entry {id:?}")),
            other => other,
        })?;
        // The host may have in memory what a damaged line of the file has lost. If it has no more
        // than the file, its branch ends at the same entry, and the inline form shows that.
        let can_ask = self.is_by_reference() && self.envelope.host.can_inline;
        match branch.broken.clone().filter(|_| can_ask) {
            Some(why) => Err(Error::SessionStale(why)),
            None => Ok(branch),
        }
    }

    fn raw_leaf_id(&self) -> Option<&'e RawValue> {
        self.session_field().filter(|session| session.branch.is_none())?.leaf_id
    }

    fn leaf_id(&self) -> Option<String> {
        self.raw_leaf_id().and_then(|raw| json::string(raw.into()))
    }

    fn leaf<'l>(&self, id: Option<&'l str>) -> Result<Leaf<'l>> {
        Ok(match (self.raw_leaf_id(), id) {
            (None, _) => Leaf::Last,
            (Some(_), Some(id)) => Leaf::Id(id),
            (Some(raw), None) if raw.get() == "null" => Leaf::Root,
            (Some(_), None) => {
                let text = "`session.leafId` is neither a text nor null";
                return Err(Error::Envelope(text.into()));
            }
        })
    }

    /// The project's instructions as the host has them: structured, or in the rendered prompt.
    pub fn instructions(&self) -> Vec<Instructions> {
        let files = &self.envelope.context_files;
        if !files.is_empty() {
            let file = |file: &ContextFile| Instructions {
                path: file.path.clone(),
                text: file.content.clone(),
            };
            return files.iter().map(file).collect();
        }
        self.envelope.system_prompt.as_deref().map_or_else(Vec::new, of_prompt)
    }

    /// What a status needs besides the session. Without Pi's word on it, its default is taken.
    pub fn surroundings<'c>(
        &'c self,
        now: &'c str,
        instructions: &'c [Instructions],
    ) -> Surroundings<'c> {
        let compaction = self.envelope.host.compaction;
        Surroundings {
            cwd: self.cwd(),
            instructions,
            context_window: self.envelope.model.as_ref().and_then(|model| model.context_window),
            is_shell: false,
            keep_recent_tokens: compaction.map_or(20_000, |c| c.keep_recent_tokens.max(0.0) as u64),
            now,
        }
    }

    pub fn settings(&self, branch: Option<&Branch>) -> Result<Settings> {
        let environment = |name: &str| std::env::var(name).ok();
        Settings::resolve(
            &Sources { given: &self.envelope.settings, environment: &environment },
            branch,
        )
    }

    /// The settings for a recording; what cannot be read resolves to the defaults, as it did.
    pub fn resolved_settings(&self) -> Map<String, Value> {
        let session = self.session().ok();
        let branch = session.as_ref().and_then(|session| self.branch(session).ok());
        self.settings(branch.as_ref()).unwrap_or_default().to_json()
    }

    fn session_field(&self) -> Option<&SessionField<'e>> {
        self.envelope.session.as_ref()
    }
}

fn by_reference<'e>(
    file: &str,
    id: &str,
    open: impl FnOnce(&Path) -> Result<Session<'e>>,
) -> Result<Session<'e>> {
    let path = Path::new(file);
    if !path.exists() {
        return Err(Error::SessionStale(format!("{file} does not exist")));
    }
    let session = open(path)?;
    if session.header.id != id {
        return Err(Error::SessionStale(format!(
            "{file} holds session {:?}, not {id:?}",
            session.header.id
        )));
    }
    Ok(session)
}
