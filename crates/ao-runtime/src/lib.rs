//! Where agents run.
//!
//! [`Processes`] runs them on this host, on terminals, on pipes or without input, each held by a shim of its own.
//! They go on when the daemon ends, and the next daemon finds them again. [`Tmux`](tmux::Tmux) runs them in the panes of a tmux server.
//! Containers and pods have their own modules later.

mod host;
mod kept;
mod lineage;
pub mod process;
mod runtimes;
pub mod tmux;

pub use kept::Keep;
pub use lineage::{Families, OfTheUser};
pub use process::{AttachOptions, Attachment, Frame, Options, Processes, Shim};
pub use runtimes::Runtimes;
