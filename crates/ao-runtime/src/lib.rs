//! Where agents run.
//!
//! [`Processes`] runs them as plain processes on pipes, each in a process group of its own. They go on when the daemon
//! ends, and the next daemon finds them again. Terminals, tmux, containers and pods have their own modules later.

mod host;
pub mod process;
mod runtimes;

pub use process::{Options, Processes};
pub use runtimes::Runtimes;
