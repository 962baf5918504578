//! Any program as an agent.
//!
//! ```text
//!  deliver ──► message ──► the program's stdin          (through the runtime)
//!  follow  ◄── lines   ◄── the program's output, by offset
//!     └──► Report: signals, texts taken, what was spent
//! ```
//!
//! A follower does nothing while the program says nothing: the runtime wakes it, and it ends with the program.

mod agent;
mod follower;

pub use agent::{CommandAgent, Follow, Options, Prompt};
