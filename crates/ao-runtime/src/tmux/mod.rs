//! Runs agents in tmux, each as the only process of its own pane, to which a person can attach with plain tmux.
//!
//! ```text
//!  daemon ══ control client, one for all ══► tmux server (private socket and config)
//!    │                                         └ session `<name>-<session>-<attempt>`: one pane, its process is the agent
//!    │ reads                                        │ pipe-pane            ┊ hook `pane-died`
//!    ▼                                              ▼                      ▼
//!  <state>/agents/<session>/<attempt>/   ◄─── helper `log`  ◄──────── helper `died`
//!     record       pid and start time of the agent and of the server
//!     launched     the agent's program has been handed over
//!     output/      what it has put out, by offset
//!     modes        what the program has asked of its terminal
//!     exit         its code; written when all that it has put out is
//!     ended        it is to be, or has been, ended for good
//! ```
//!
//! The server, the panes and the helpers run on without a daemon, so no output and no exit code is lost. The
//! environment, which may contain secrets, goes from the daemon over a socket to the helper `launch`, which becomes the
//! agent by `exec`; it is never in an argument, in tmux, or on disk.
//!
//! Control mode carries commands and their answers and reports when a person types. Output does not pass through it: a
//! flood would delay commands.

mod attempt_dir;
mod control;
mod end;
pub mod helper;
mod life;
mod names;
mod noted_writes;
mod output;
mod past_view;
mod pty;
mod runtime;
mod screen;
mod server;
mod start;
mod typing;
mod view;
mod watch;
mod write;

pub use runtime::{Options, Tmux};
