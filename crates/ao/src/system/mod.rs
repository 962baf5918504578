//! The machine that the program runs on: paths, the desktop, and the daemon's log.

pub(crate) mod daemon_log;
pub mod desktop;
#[cfg(feature = "otlp")]
pub(crate) mod otlp;
pub(crate) mod paths;
