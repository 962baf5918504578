//! Making a workspace ready for work, and putting things in order before it goes.
//!
//! ```text
//!  set_up:    files of the main checkout ──► links to it ──► hidden from `git status` ──► postCreate commands
//!  teardown:  teardown commands ──► whatever they left running is ended
//!                                            │
//!                                            └──► redactor ──► setup.log, teardown.log (live, bounded, 0600)
//! ```
//!
//! For every kind of workspace: all that is asked of one is that `git` works in it. Nothing is remembered in memory; what
//! was put into a workspace is written down in its git directory, so that a set-up that was cut off can be repeated.

mod command;
mod error;
mod find;
mod hide;
mod log;
mod options;
mod put;
mod record;
mod setup;
mod tail;

pub use options::Options;
pub use setup::{end_programs, set_up, teardown};
