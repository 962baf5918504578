//! Starts AI agents, reads their output and sends them messages.
//!
//! [`CommandAgent`] is any program: one that speaks the [line protocol](line), one that gets its task at its start and
//! ends when it is done, or one with a screen that is typed at. [Hooks](hook) report what it does, if it can run them.

pub mod command;
mod details;
pub mod hook;
mod known;
pub mod line;
mod schema;
mod text;
pub mod turn;

/// Typed texts are sanitised again, although the engine's texts are clean from the start.
pub use ao_core::text::sanitise;
pub use command::{
    AgentPlaces, AgentSettings, CommandAgent, Ground, Keys, Options, OptionsError, OutputOptions, Prompt,
    ScreenOptions,
};
pub use known::known;
pub use schema::{generated, manifest_schema};
