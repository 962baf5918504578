//! What every slot needs that runs commands of the user's: ending all that a command has started, also what has left its
//! group, and keeping secrets out of what it says.
//!
//! Nothing here starts a process or knows what one is for; that is the business of the slots. An agent's process is held
//! by its runtime, which has its own ways.

mod end;
mod redact;

pub use end::{Guard, Mark};
pub use redact::{Redactor, Secrets};
