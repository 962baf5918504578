//! The API of the daemon: requests become inputs of the engine, events become streams.

pub mod host;

pub use host::{Frame, Host, Look, View};
