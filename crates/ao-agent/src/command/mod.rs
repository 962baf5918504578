//! Any program as an agent.
//!
//! ```text
//!  deliver, answer, cancel ──► driver ──► the program's stdin, or its terminal     (through the runtime)
//!  follow ◄── driver: lines, or what the screen shows ◄── the program's output
//!     └──► Report: signals, turns, replies, tool calls, asks, usage
//! ```
//!
//! A follower does nothing while the program prints nothing: the runtime wakes it, and it ends with the program.

mod agent;
mod base;
mod drivers;
mod launch;
mod memory;
mod options;
mod places;

pub use agent::{CommandAgent, Ground, OptionsError};
pub use drivers::protocol::ProtocolKind;
pub use drivers::terminal::patterns::PatternError;
pub use options::{
    AgentSettings, Keys, ModeOptions, ModeTable, Options, OutputOptions, Prompt, ScreenOptions, Welcome,
};
pub use places::AgentPlaces;

/// Write numbers of answers have this bit, so that none equals that of a delivery.
const ANSWERS: u64 = 1 << 63;
/// The same for answers to a first launch.
const WELCOMES: u64 = 1 << 62;
/// The same for cancelled turns.
const CANCELS: u64 = 1 << 61;
