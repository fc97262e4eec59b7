//! The re-orientation: what its words say, and where it stands whatever happens in a conversation.

mod conversation;
mod message;
mod properties;
mod rules;
