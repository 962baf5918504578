//! The HTTP API of the daemon: requests become inputs of the engine, events become streams.
//!
//! ```text
//!  unix socket ┐
//!              ├─► limits ─► door (who, may they) ─► route ─► Handle::ask │ view │ Daemon
//!  TCP ────────┘                                        └──── hub ─► server-sent events
//! ```
//!
//! It also serves the dashboard, which is a client like any other.
//!
//! It knows no rules of its own: what an input means is the core's to say, and what the disk, the terminals and the
//! configuration hold is the [`Daemon`](ao_daemon::Daemon)'s.

mod app;
mod auth;
mod extract;
mod forge;
mod hub;
mod limits;
mod listen;
mod log;
mod metrics;
mod page;
mod places;
mod problem;
mod resolve;
mod routes;
mod serve;
mod stall;
mod to_api;

pub use app::{App, Parts, app};
pub use auth::{Auth, AuthError, Peer};
pub use limits::Limits;
pub use listen::Listener;
pub use listen::is_private;
pub use serve::{Bind, Options, Running, ServerError, serve};

/// Returns the description of the API, as in `docs/openapi.json`.
pub fn openapi() -> String {
    routes::document()
}

/// Returns the files that are generated from this crate, by their path in the repository.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![("docs/openapi.json", openapi())]
}
