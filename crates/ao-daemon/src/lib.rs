//! The daemon without its API: the engine with the adapters in its slots, the configuration in force, and everything that
//! is done beside the engine.
//!
//! ```text
//!  ao-server (routes) ──► config · terminals · channels · cleanup
//!            │                ▲
//!            └──► spawn ──────┘   jobs ◄──RunJob── engine
//!                   │              │                    ▲
//!                   └──► looks ◄───┘   policy · forecast│
//!                          └──► trackers and forges ──► Input
//! ```

mod adapters;
mod asks;
pub mod channels;
pub mod chores;
pub mod cleanup;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod error;
pub mod forecast;
pub mod git_url;
pub mod jobs;
pub mod looks;
pub mod orchestrator;
pub mod policy;
pub mod power;
pub mod program;
pub mod registry;
pub mod repository;
pub mod secrets;
pub mod spawn;
pub mod terminals;

pub use crate::adapters::{AgentDeps, DaemonAdapters};
pub use crate::asks::AskDetails;
pub use crate::daemon::Daemon;
pub use crate::error::{DaemonError, ErrorKind};
pub use crate::orchestrator::Orchestrator;

/// Runs what waits for the disk on a thread where nothing else waits for it.
pub(crate) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DaemonError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|err| DaemonError::new(ErrorKind::Failed, format!("the work was not done: {err}")))
}
