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

/// Our estimate of a message in tokens, which does not count East Asian text as a quarter. A `!!`
/// command never reaches a model: it takes nothing.
pub fn tokens(body: &Body) -> u64 {
    match body {
        Body::Bash(bash) if bash.excluded => 0,
        body => measure(body, &quarter_tokens).div_ceil(4),
    }
}

/// Our estimate of one block in quarters of a token.
pub fn quarters(block: &Block) -> u64 {
    measure_block(block, &quarter_tokens)
}

fn measure_block(block: &Block, text_len: &dyn Fn(&str) -> u64) -> u64 {
    match block {
        Block::Text(text) | Block::Thinking(text) => text_len(text),
        Block::Image { .. } => IMAGE_CHARS,
        Block::ToolCall(call) => text_len(&call.name) + text_len(&call.arguments),
    }
}

fn measure(body: &Body, text_len: &dyn Fn(&str) -> u64) -> u64 {
    let content =
        |content: &[Block]| content.iter().map(|block| measure_block(block, text_len)).sum::<u64>();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Bash;

    #[test]
    fn a_command_that_is_kept_from_the_model_takes_nothing() {
        let bash = |excluded| {
            let (command, output) = ("1234".to_owned(), "5678".to_owned());
            Body::Bash(Bash { command, output, exit_code: None, cancelled: false, excluded })
        };
        assert_eq!((tokens(&bash(false)), tokens(&bash(true))), (2, 0));
        // Pi does not make the difference, and our cut must fall where Pi's falls.
        assert_eq!(pi_tokens(&bash(true)), 2);
    }
}
