//! Any program as an agent.
//!
//! ```text
//!  deliver ──► message ──► the program's stdin          (through the runtime)
//!  follow  ◄── lines   ◄── the program's output, by offset
//!     └──► Report: signals, texts taken, what was spent
//! ```
//!
//! A runtime's output can only be read, not waited for, so a follower asks for it: often while there is some, and once a
//! second when there has been none for a while.

mod agent;
mod follower;

pub use agent::{CommandAgent, Follow, Options, Prompt};
