//! Where agents run.
//!
//! [`Processes`] runs them as plain processes on pipes, each in a process group of its own. They go on when the daemon
//! ends, and the next daemon finds them again. [`Tmux`](tmux::Tmux) runs them in terminals that a person can attach to.
//! Containers and pods have their own modules later.

mod host;
pub mod process;
mod runtimes;
pub mod tmux;

pub use process::{Options, Processes};
pub use runtimes::Runtimes;
