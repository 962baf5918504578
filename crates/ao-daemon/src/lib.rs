//! The daemon without its API: the engine with the adapters in its slots, the configuration in force, and everything that
//! is done beside the engine.
//!
//! ```text
//!  ao-server (routes) ──► host ──► config · spawn · terminals · channels · cleanup
//!                                    │         │
//!                                    ▼         ▼
//!  engine ──RunErrand──► jobs ──► looks (trackers, forges) · policy · forecast ──► Input ──► engine
//! ```

pub mod channels;
pub mod chores;
mod cleanup;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod error;
mod forecast;
pub mod git_url;
pub mod host;
mod host_trait;
mod jobs;
mod looks;
pub mod orchestrator;
pub mod policy;
pub mod power;
mod problem;
pub mod program;
pub mod registry;
pub mod repository;
pub mod secrets;
mod spawn;
pub mod terminals;

pub use crate::daemon::Daemon;
pub use crate::error::{DaemonError, ErrorKind};
pub use crate::host_trait::Host;
pub use crate::orchestrator::Orchestrator;
pub use crate::problem::{engine_problem, forge_problem, of_refusal};
