//! Where the message stands in a request.

/// One message of a transcript, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// `time` is the message's own, in milliseconds.
    Assistant {
        time: Option<f64>,
    },
    /// One of our messages, whichever compaction it was for.
    Ours {
        compaction_id: Option<String>,
    },
    Other,
}

/// One message of the new transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// The old one's message at this index.
    Old(usize),
    /// Our message, which is not there yet.
    New,
}

/// Takes all our messages out and puts `current` directly before the first answer that followed the
/// compaction, at the end while there is none. So it is the last thing the model reads before its
/// first answer, also when that request is repeated, and never moves afterwards: what was sent stays
/// the beginning of what is sent. Directly before an answer never is between a call and its result.
pub fn place(transcript: &[Seen], current: Option<Item>, first_answer: Option<usize>) -> Vec<Item> {
    let is_ours = |index: &usize| matches!(transcript[*index], Seen::Ours { .. });
    let others = (0..transcript.len()).filter(|index| !is_ours(index));
    let mut items: Vec<Item> = others.map(Item::Old).collect();
    if let Some(current) = current {
        let at = first_answer
            .filter(|_| !asks_by_itself(transcript))
            .and_then(|answer| items.iter().position(|item| *item == Item::Old(answer)));
        items.insert(at.unwrap_or(items.len()), current);
    }
    items
}

/// Nothing but our messages follows the last answer, as when Pi delivers one of them late. Many
/// providers refuse a request that ends in an answer, so one of ours has to stay behind it.
fn asks_by_itself(transcript: &[Seen]) -> bool {
    let last_other = transcript.iter().rposition(|seen| !matches!(seen, Seen::Ours { .. }));
    last_other.is_some_and(|index| {
        index + 1 < transcript.len() && matches!(transcript[index], Seen::Assistant { .. })
    })
}
