//! A span derived from the raw entries: which items it has, which files its calls touched.

use super::item::{Item, ItemKind};
pub use super::piece::MANAGED_PREFIX;
use super::piece::{Part, Piece, Repeated, label};
use crate::error::Result;
use crate::session::files::{FileOperation, Operation};
use crate::session::pairing::{CallNo, Outcome, Pairing};
use crate::session::projection::Projection;
use crate::session::{Detail, EntryNo, ToolCall};

/// What one compaction takes out of the context.
#[derive(Debug, Default)]
pub struct Span {
    pub items: Vec<Item>,
    /// Ids of the first and last message entry, absent for an empty span.
    pub first: Option<String>,
    pub last: Option<String>,
    /// Their times, as the session has them.
    pub from: Option<String>,
    pub to: Option<String>,
    /// Message entries of the span.
    pub entries: usize,
    pub operations: Vec<FileOperation>,
    /// Estimated tokens of what the span took in the context.
    pub tokens: u64,
}

/// Derives the span of the positions `range` of the branch, as the model saw them in `context`.
///
/// Errors: the session changed while it was read.
pub fn derive(context: &Projection, range: std::ops::Range<usize>, cwd: &str) -> Result<Span> {
    let session = context.branch.session;
    let mut builder = Builder::default();
    let digest =
        |entry, read| Piece::of(entry, session.id(entry), session.line_bytes(entry), read, cwd);
    context.map(range, Detail::Kept, digest, |piece| {
        builder.piece(session.id(piece.entry), piece);
    })?;
    let ends = builder.ends;
    let mut span = builder.finish();
    span.first = ends.map(|(first, _)| session.id(first).to_owned());
    span.last = ends.map(|(_, last)| session.id(last).to_owned());
    Ok(span)
}

#[derive(Default)]
struct Builder {
    span: Span,
    ends: Option<(EntryNo, EntryNo)>,
    drafts: Vec<Draft>,
    /// The last draft is this call alone.
    last_call: Option<ToolCall>,
    pairing: Pairing<String>,
    operations: Vec<(FileOperation, Option<CallNo>)>,
}

/// An item whose outcomes are not known until its results were met.
enum Draft {
    Done(Item),
    Calls { entry: String, calls: Vec<Made> },
}

/// A call that was made, and the same again.
struct Made {
    signature: String,
    numbers: Vec<CallNo>,
}

impl Builder {
    /// Takes texts and signatures out of the piece; the rest goes back to the thread that made it.
    fn piece(&mut self, id: &str, piece: &mut Piece) {
        let span = &mut self.span;
        span.entries += 1;
        span.tokens += piece.tokens;
        if self.ends.is_none() {
            span.from.clone_from(&piece.timestamp);
        }
        self.ends = Some((self.ends.map_or(piece.entry, |(first, _)| first), piece.entry));
        if let Some(time) = &piece.timestamp {
            let to = span.to.get_or_insert_default();
            to.clear();
            to.push_str(time);
        }
        // A message of nothing but one call, the same as before it: only its outcome is new.
        let single = match piece.parts.as_slice() {
            [Part::Calls(calls)] | [Part::Calls(calls), Part::Text(ItemKind::Ended, _)] => {
                calls.len() == 1
            }
            _ => false,
        };
        for part in &mut piece.parts {
            match part {
                Part::Text(kind, text) => {
                    let text = std::mem::take(text);
                    self.add(Draft::Done(Item { kind: *kind, entry: id.to_owned(), text }));
                }
                Part::Calls(calls) => self.calls(id, calls, single),
                Part::Result { call_id, tool_name, is_error } => {
                    self.pairing.result(call_id, tool_name, *is_error, id.to_owned());
                }
                Part::Nested(operation, path, failed) => {
                    self.operation(*operation, path, id, *failed, None);
                }
            }
        }
    }

    fn calls(&mut self, id: &str, calls: &mut [Repeated], single: bool) {
        let mut made = Vec::with_capacity(calls.len());
        for Repeated { call, signature, operation, ids } in calls.iter_mut() {
            let mut numbers = Vec::with_capacity(ids.len());
            for call_id in ids {
                let number = self.pairing.call(call_id, &call.name);
                numbers.push(number);
                if let Some((operation, path)) = operation {
                    self.operation(*operation, path, id, false, Some(number));
                }
            }
            made.push(Made { signature: std::mem::take(signature), numbers });
        }
        let only = if let [only] = &*calls { Some(&only.call) } else { None };
        if single
            && let (Some(last), Some(again)) = (&self.last_call, only)
            && (&last.name, &last.arguments) == (&again.name, &again.arguments)
            && let (Some(Draft::Calls { calls: last, .. }), [again]) =
                (self.drafts.last_mut(), made.as_slice())
        {
            last.iter_mut().for_each(|last| last.numbers.extend(&again.numbers));
            return;
        }
        self.add(Draft::Calls { entry: id.to_owned(), calls: made });
        self.last_call = only.cloned();
    }

    fn add(&mut self, draft: Draft) {
        self.last_call = None;
        self.drafts.push(draft);
    }

    fn operation(
        &mut self,
        operation: Operation,
        path: &str,
        entry: &str,
        failed: bool,
        call: Option<CallNo>,
    ) {
        let operation =
            FileOperation { operation, path: path.to_owned(), entry: entry.to_owned(), failed };
        self.operations.push((operation, call));
    }

    fn finish(self) -> Span {
        let Builder { mut span, drafts, pairing, operations, .. } = self;
        span.items = drafts.into_iter().map(|draft| finished(draft, &pairing)).collect();
        span.operations = operations
            .into_iter()
            .map(|(operation, call)| {
                let failed =
                    call.map_or(operation.failed, |c| pairing.outcome(c) == Outcome::Error);
                FileOperation { failed, ..operation }
            })
            .collect();
        span
    }
}

fn finished(draft: Draft, pairing: &Pairing<String>) -> Item {
    let (entry, calls) = match draft {
        Draft::Done(item) => return item,
        Draft::Calls { entry, calls } => (entry, calls),
    };
    let signatures: usize = calls.iter().map(|made| made.signature.len() + 24).sum();
    let mut text = String::with_capacity(24 + signatures);
    text.push_str("[Assistant tool calls]: ");
    for (at, made) in calls.into_iter().enumerate() {
        if at > 0 {
            text.push_str("; ");
        }
        text.push_str(&made.signature);
        for number in made.numbers {
            text.push(' ');
            text.push_str(&match pairing.pair(number) {
                Some((Outcome::Unknown, _)) | None => label(Outcome::Unknown, None),
                Some((outcome, result)) => label(*outcome, Some(result)),
            });
        }
    }
    Item { kind: ItemKind::Calls, entry, text }
}
