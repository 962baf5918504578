//! Watches the engine, and checks its invariants.
//!
//! ```text
//!  every step ─────► WatchedRules  time moves, the trace
//!  every commit ───► LogLedger     invariants of the log, event by event
//!  every `wants` ──► WatchedRules  the engine's state is the log's, and has reasons
//!  every port call ► fakes         nothing is done before it is in the log
//!  the end ────────► ending        everything has settled
//! ```

mod alarms;
mod asks;
mod ending;
mod events;
mod invariant;
mod jobs;
mod ledger;
mod queue;
mod rules;
mod seen;

pub(crate) use ending::{agrees, at_rest, replays};
pub(crate) use events::{commit_over, committed};
pub use invariant::{Invariant, Violation};
pub(crate) use ledger::LogLedger;
pub(crate) use rules::WatchedRules;
pub(crate) use seen::{PROMPT, all_seen};
