//! The places where agents run.
//!
//! [`Processes`] runs them on this host, on terminals, on pipes or without input, each held by its own shim. They
//! outlive the daemon, and the next daemon finds them again. [`Tmux`](tmux::Tmux) runs them in the panes of a tmux
//! server. Containers and pods will have their own modules.

mod host;
mod lineage;
pub mod process;
mod recording;
pub mod tmux;

pub use lineage::{Families, UserCommandGuard};
pub use process::{Attachment, Options, Processes, Shim};
pub use recording::OutputLimits;
