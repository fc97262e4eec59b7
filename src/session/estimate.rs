//! How large a message is, in Pi's measure (so that our cut falls where Pi's falls) and in ours.

use super::Detail;
use super::entry::{Block, Body, utf16_len};
use super::projection::Projection;
use crate::error::Result;
use crate::text::quarter_tokens;

/// What Pi reckons for an image, in characters.
const IMAGE_CHARS: u64 = 4800;

/// Pi's estimate of a message in tokens (`estimateTokens` of its compaction.js): four UTF-16 units
/// are one. The entry must be read with `Detail::All`.
pub fn pi_tokens(body: &Body) -> u64 {
    measure(body, &utf16_len).div_ceil(4)
}

/// Our estimate of a message in tokens, which does not count East Asian text as a quarter.
pub fn tokens(body: &Body) -> u64 {
    measure(body, &quarter_tokens).div_ceil(4)
}

fn measure(body: &Body, text_len: &dyn Fn(&str) -> u64) -> u64 {
    let block = |block: &Block| match block {
        Block::Text(text) | Block::Thinking(text) => text_len(text),
        Block::Image { .. } => IMAGE_CHARS,
        Block::ToolCall(call) => text_len(&call.name) + text_len(&call.arguments),
    };
    let content = |content: &[Block]| content.iter().map(block).sum::<u64>();
    match body {
        Body::User(blocks) | Body::Custom { content: blocks, .. } => content(blocks),
        Body::ToolResult(result) => content(&result.content),
        Body::Assistant(message) => content(&message.content),
        Body::Bash(bash) => text_len(&bash.command) + text_len(&bash.output),
        Body::BranchSummary { summary } => text_len(summary),
        Body::Compaction(compaction) => {
            let system = compaction.system.as_deref().map_or(0, |system| measure(system, text_len));
            text_len(&compaction.summary) + system
        }
        Body::System { sections, content: blocks, tools } => {
            let sections: u64 = sections.iter().map(|(_, text)| text_len(text)).sum();
            content(blocks) + sections + text_len(tools)
        }
        Body::ContextEdit(_)
        | Body::Label { .. }
        | Body::State { .. }
        | Body::Damaged
        | Body::Other => 0,
    }
}

/// Our estimate of all that a model sees of a branch, in tokens.
///
/// Errors: the session changed while it was read.
pub fn context_tokens(context: &Projection) -> Result<u64> {
    let mut total = 0;
    if let Some(entry) = context.compaction.and_then(|position| context.branch.get(position)) {
        total += tokens(&context.branch.session.read(entry, Detail::All)?.body);
    }
    for position in context.start..context.end {
        if let Some(entry) = context.read(position, Detail::All)? {
            total += tokens(&entry.body);
        }
    }
    Ok(total)
}
