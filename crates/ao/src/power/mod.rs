//! Keeping the machine awake while agents work, and only then (`preventIdleSleep`).
//!
//! ```text
//!  daemon ── watch: does any session work? ──► keep_awake ──► PowerKeeper ──► logind, by D-Bus (Linux)
//!                                                                        └──► caffeinate (macOS)
//! ```
//!
//! A machine that cannot be kept awake, or a bus that is away, is no failure of anybody's work: it is told once, and tried
//! again as long as somebody works. Not here: who works, and whether the user wants this at all. Who starts
//! [`keep_awake`] knows both.

#[cfg(target_os = "macos")]
#[path = "caffeinate.rs"]
mod system;
#[cfg(all(target_os = "linux", feature = "logind"))]
#[path = "logind.rs"]
mod system;
#[cfg(not(any(target_os = "macos", all(target_os = "linux", feature = "logind"))))]
#[path = "nothing.rs"]
mod system;

mod keeper;

pub use keeper::{Bus, PowerKeeper, keep_awake};

/// The reason why the machine may sleep.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
struct PowerError {
    what: &'static str,
    why: String,
    /// No service can keep it awake, and none will appear.
    for_good: bool,
}
