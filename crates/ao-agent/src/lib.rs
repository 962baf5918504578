//! How each AI agent is started, read and spoken to.
//!
//! [`CommandAgent`] is any program: one that speaks the [line protocol](line), one that takes its task with its start and
//! ends when it is done, or one with a screen that is typed at. [Hooks](hook) tell what it does, if it can run them.

pub mod command;
pub mod hook;
mod known;
pub mod line;
mod schema;
mod text;
pub mod turn;

/// What is typed went through it before: the engine's texts are clean from the start.
pub use ao_core::text::sanitise;
pub use command::{
    AgentPlaces, CommandAgent, Ground, Keys, Options, OptionsError, OutputOptions, Prompt, ScreenOptions,
};
pub use known::known;
pub use schema::{generated, manifest_schema};
