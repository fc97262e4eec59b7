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
    /// Empty once something came behind it: arguments may be large.
    call: ToolCall,
    signature: String,
    numbers: Vec<CallNo>,
}

impl Builder {
    fn piece(&mut self, id: &str, piece: Piece) {
        let span = &mut self.span;
        span.entries += 1;
        span.tokens += piece.tokens;
        if self.ends.is_none() {
            span.from.clone_from(&piece.timestamp);
        }
        self.ends = Some((self.ends.map_or(piece.entry, |(first, _)| first), piece.entry));
        span.to = piece.timestamp.or(span.to.take());
        // A message of nothing but one call, the same as before it: only its outcome is new.
        let single = match piece.parts.as_slice() {
            [Part::Calls(calls)] | [Part::Calls(calls), Part::Text(ItemKind::Ended, _)] => {
                calls.len() == 1
            }
            _ => false,
        };
        for part in piece.parts {
            match part {
                Part::Text(kind, text) => {
                    self.add(Draft::Done(Item { kind, entry: id.to_owned(), text }));
                }
                Part::Calls(calls) => self.calls(id, calls, single),
                Part::Result { call_id, tool_name, is_error } => {
                    self.pairing.result(&call_id, &tool_name, is_error, id.to_owned());
                }
                Part::Nested(operation, path, failed) => {
                    self.operation(operation, path, id, failed, None);
                }
            }
        }
    }

    fn calls(&mut self, id: &str, calls: Vec<Repeated>, single: bool) {
        let mut made = Vec::with_capacity(calls.len());
        for Repeated { call, signature, operation, ids } in calls {
            let mut numbers = Vec::with_capacity(ids.len());
            for call_id in ids {
                let number = self.pairing.call(&call_id, &call.name);
                numbers.push(number);
                if let Some((operation, path)) = &operation {
                    self.operation(*operation, path.clone(), id, false, Some(number));
                }
            }
            made.push(Made { call, signature, numbers });
        }
        if single
            && let Some(Draft::Calls { calls: last, .. }) = self.drafts.last_mut()
            && let ([last], [again]) = (last.as_mut_slice(), made.as_slice())
            && (&last.call.name, &last.call.arguments) == (&again.call.name, &again.call.arguments)
        {
            last.numbers.extend(&again.numbers);
            return;
        }
        self.add(Draft::Calls { entry: id.to_owned(), calls: made });
    }

    fn add(&mut self, draft: Draft) {
        if let Some(Draft::Calls { calls, .. }) = self.drafts.last_mut() {
            for made in calls {
                made.call = ToolCall::default();
            }
        }
        self.drafts.push(draft);
    }

    fn operation(
        &mut self,
        operation: Operation,
        path: String,
        entry: &str,
        failed: bool,
        call: Option<CallNo>,
    ) {
        let operation = FileOperation { operation, path, entry: entry.to_owned(), failed };
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
