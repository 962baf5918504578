//! Sets up a workspace for work, and cleans up before it is removed.
//!
//! ```text
//!  set_up:    files of the main checkout ──► links to it ──► hidden from `git status` ──► postCreate commands
//!  teardown:  teardown commands ──► whatever they left running is ended
//!                                            │
//!                                            └──► redactor ──► setup.log, teardown.log (live, bounded, 0600)
//! ```
//!
//! For every kind of workspace: all that is needed is that `git` works in it. Nothing is kept in memory; the included
//! files are recorded in the git directory, so that an interrupted set-up can be repeated.

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
