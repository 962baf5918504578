//! How each AI agent is started, read and spoken to.
//!
//! [`CommandAgent`] is any program: one that speaks the [line protocol](line), or one that takes its task as an argument
//! and ends when it is done. Agents with hooks, transcripts and screens of their own come beside it.

pub mod command;
pub mod line;

pub use command::{CommandAgent, Follow, Options, Prompt};
