//! Any program as an agent.
//!
//! ```text
//!  deliver ──► message ──► the program's stdin, or its terminal          (through the runtime)
//!  follow  ◄── lines, or what the screen shows ◄── the program's output
//!     └──► Report: signals, texts taken, what was spent
//! ```
//!
//! A follower does nothing while the program prints nothing: the runtime wakes it, and it ends with the program.

mod agent;
mod answering;
mod follower;
mod launch;
mod lines;
mod memory;
mod options;
mod output;
mod patterns;
mod places;
mod typing;
mod watching;

pub use agent::{CommandAgent, Ground, OptionsError};
pub use options::{Keys, Options, OutputOptions, Prompt, ScreenOptions, Welcome};
pub use patterns::PatternError;
pub use places::AgentPlaces;

/// Write numbers of answers have this bit, so that none equals that of a delivery.
const ANSWERS: u64 = 1 << 63;
/// The same for answers to a first launch.
const WELCOMES: u64 = 1 << 62;
