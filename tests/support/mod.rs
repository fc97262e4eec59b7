//! What the tests (and the benches) make sessions with and read checkpoints with. Nothing in here
//! uses the code under test to say what is expected of it.

pub mod author;
pub mod call;
pub mod checkpoint;
pub mod damage;
pub mod expect;
#[allow(dead_code, reason = "the bench plants and looks for them")]
pub mod facts;
pub mod generate;
pub mod lookup;
pub mod noted;
pub mod recover;
pub mod session;
pub mod steps;
pub mod text;
