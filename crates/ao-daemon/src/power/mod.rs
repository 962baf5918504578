//! Keeping the machine awake while agents work, and only then (`preventIdleSleep`).
//!
//! ```text
//!  daemon ── watch: does any session work? ──► keep_awake ──► PowerKeeper ──► logind, by D-Bus (Linux)
//!                                                                        └──► caffeinate (macOS)
//! ```
//!
//! A machine that cannot be kept awake, or a missing bus, fails no session: it is logged once, and retried while sessions
//! work. The caller of [`keep_awake`] decides whether sessions work, and whether the user wants this at all.

#[cfg(target_os = "macos")]
mod caffeinate;
mod keeper;
#[cfg(all(target_os = "linux", feature = "logind"))]
mod logind;
#[cfg(not(any(target_os = "macos", all(target_os = "linux", feature = "logind"))))]
mod unsupported;

#[cfg(target_os = "macos")]
use caffeinate::{self as system, CaffeinateInhibitor as Inhibitor};
pub use keeper::{PowerBus, PowerKeeper, keep_awake};
#[cfg(all(target_os = "linux", feature = "logind"))]
use logind::{self as system, LogindInhibitor as Inhibitor};
#[cfg(not(any(target_os = "macos", all(target_os = "linux", feature = "logind"))))]
use unsupported::{self as system, NoInhibitor as Inhibitor};

/// The reason why the machine may sleep.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
struct PowerError {
    what: &'static str,
    why: String,
    /// No service can keep it awake, and none will appear.
    for_good: bool,
}
