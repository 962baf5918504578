//! Process control shared by the adapters that run the user's commands: ends everything that a command has started,
//! including processes that left its group; masks secrets in its output; keeps our descriptors from it; and closes this
//! process to others.
//!
//! Nothing here knows what a command is for; the adapters do. Agents are not run through this crate: their runtime
//! holds them.

mod closed;
pub mod descriptors;
mod end;
mod keep;
mod piped;
#[cfg(target_os = "linux")]
pub mod procfs;
mod redact;

pub use closed::close_to_others;
pub use end::{CommandGuard, Mark};
#[cfg(target_os = "linux")]
pub use keep::run as keep;
pub use keep::{Keeper, Kept, Order};
pub use piped::{PipedCommand, ended_how};
pub use redact::known as secrets;
pub use redact::{Redactor, Secrets};
