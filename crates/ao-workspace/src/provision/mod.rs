//! Making a workspace ready for work, and putting things in order before it goes.
//!
//! ```text
//!  set_up:    postCreate commands
//!  teardown:  teardown commands ──► whatever they left running is ended
//!                                            │
//!                                            └──► redactor ──► setup.log, teardown.log (live, bounded, 0600)
//! ```
//!
//! For every kind of workspace: all that is asked of one is that `git` works in it. Nothing is remembered in memory.

mod command;
mod end;
mod error;
mod log;
mod options;
mod redact;
mod setup;
mod tail;

pub use options::Options;
pub use setup::{set_up, teardown};
