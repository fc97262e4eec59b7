//! What fills a context, by kind, in estimated tokens.

use serde::Serialize;

use crate::session::{Block, Body, Kind, Role, estimate};
use crate::text::estimate_tokens;

/// The kinds, in the order in which the page stacks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// The system prompt and the tools it declares.
    Prompt,
    /// What a compaction put in place of the conversation.
    Summary,
    User,
    /// The assistant's prose.
    Assistant,
    Calls,
    Thinking,
    /// What tools and the person's own commands printed.
    Output,
    /// Messages of extensions, branch summaries.
    Other,
}

/// Tokens of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sizes([u64; Sizes::KINDS]);

impl Sizes {
    pub const KINDS: usize = 8;

    /// What an entry takes. Read with `Detail::All`, it adds up to [`estimate::tokens`].
    pub fn of(body: &Body) -> Sizes {
        let kind = match body {
            Body::User(_) => Filling::User,
            Body::Assistant(message) => return Sizes::of_answer(&message.content),
            Body::ToolResult(_) | Body::Bash(_) => Filling::Output,
            Body::Custom { .. } | Body::BranchSummary { .. } => Filling::Other,
            Body::System { .. } => Filling::Prompt,
            Body::Compaction(compaction) => {
                let summary = estimate_tokens(&compaction.summary);
                let prompt = estimate::tokens(body).saturating_sub(summary);
                return Sizes::one(Filling::Summary, summary)
                    .and(&Sizes::one(Filling::Prompt, prompt));
            }
            _ => return Sizes::default(),
        };
        Sizes::one(kind, estimate::tokens(body))
    }

    /// What an edit puts in the place of an entry's content; `None` where it cannot replace it.
    pub fn of_replacement(content: &[Block], kind: Kind, role: Role) -> Option<Sizes> {
        let filling = match (kind, role) {
            (Kind::Message, Role::Assistant) => return Some(Sizes::of_answer(content)),
            (Kind::Message, Role::User) => Filling::User,
            (Kind::Message, Role::ToolResult) => Filling::Output,
            (Kind::Message, Role::Custom) | (Kind::CustomMessage, _) => Filling::Other,
            _ => return None,
        };
        let quarters: u64 = content.iter().map(estimate::quarters).sum();
        Some(Sizes::one(filling, quarters.div_ceil(4)))
    }

    fn of_answer(content: &[Block]) -> Sizes {
        let mut quarters = [0; Sizes::KINDS];
        for block in content {
            let kind = match block {
                Block::Text(_) | Block::Image { .. } => Filling::Assistant,
                Block::ToolCall(_) => Filling::Calls,
                Block::Thinking(_) => Filling::Thinking,
            };
            quarters[kind as usize] += estimate::quarters(block);
        }
        Sizes::of_quarters(&quarters)
    }

    /// Quarters of a token of each kind.
    pub fn of_quarters(quarters: &[u64; Sizes::KINDS]) -> Sizes {
        let mut rounding = Rounding::default();
        Sizes(quarters.map(|quarters| rounding.tokens(quarters)))
    }

    pub fn one(kind: Filling, tokens: u64) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.0[kind as usize] = tokens;
        sizes
    }

    pub fn get(&self, kind: Filling) -> u64 {
        self.0[kind as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn add(&mut self, more: &Sizes) {
        for (size, more) in self.0.iter_mut().zip(more.0) {
            *size += more;
        }
    }

    pub fn take(&mut self, less: &Sizes) {
        for (size, less) in self.0.iter_mut().zip(less.0) {
            *size = size.saturating_sub(less);
        }
    }

    fn and(mut self, more: &Sizes) -> Sizes {
        self.add(more);
        self
    }
}

/// Quarters of a token to tokens, so that the parts of a text add up to the whole of it.
#[derive(Debug, Default)]
pub struct Rounding {
    quarters: u64,
    given: u64,
}

impl Rounding {
    pub fn tokens(&mut self, quarters: u64) -> u64 {
        self.quarters += quarters;
        let tokens = self.quarters.div_ceil(4) - self.given;
        self.given += tokens;
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Assistant, ToolCall};

    #[test]
    fn the_parts_of_an_answer_add_up_to_the_whole() {
        let call = ToolCall { id: "c".into(), name: "ls".into(), arguments: "{}".into() };
        let message = Assistant {
            content: vec![
                Block::Thinking("x".into()),
                Block::Text("hello".into()),
                Block::ToolCall(call),
            ],
            stop_reason: None,
            usage_tokens: None,
            time: None,
        };
        let body = Body::Assistant(message);
        let sizes = Sizes::of(&body);
        // Prose of 5 quarters, a call of 4, a thought of 1: ten quarters are 2.5 tokens.
        assert_eq!(sizes.0, [0, 0, 0, 2, 1, 0, 0, 0]);
        assert_eq!(sizes.total(), estimate::tokens(&body));
    }
}
