//! What every slot needs that runs commands of the user's: ending all that a command has started, also what has left its
//! group, keeping secrets out of what it says, giving it no files of others, and letting it not look into ourselves.
//!
//! Nothing here knows what a command is for; that is the business of the slots. An agent's process is held by its runtime,
//! which has its own ways.

mod closed;
pub mod descriptors;
mod end;
mod keep;
#[cfg(target_os = "linux")]
pub mod procfs;
mod redact;

pub use closed::close_to_others;
pub use end::{Guard, Mark};
#[cfg(target_os = "linux")]
pub use keep::run as keep;
pub use keep::{Keeper, Kept, Order};
pub use redact::known as secrets;
pub use redact::{Redactor, Secrets};
