//! Who watches the engine, and for what.
//!
//! ```text
//!  every step ─────► Watched   time moves, the trace
//!  every commit ───► Ledger    what the log says must hold, event by event
//!  every wish ─────► Watched   the engine's state is the log's, and can be understood
//!  every port call ► fakes     nothing is done that is not in the log
//!  the end ────────► ending    everything has come to rest somewhere
//! ```

mod alarm;
mod committed;
mod ending;
mod invariant;
mod ledger;
mod queue;
mod watched;

pub(crate) use committed::{commit_over, committed};
pub(crate) use ending::{agrees, at_rest, replays};
pub use invariant::{Invariant, Violation};
pub(crate) use ledger::Ledger;
pub(crate) use watched::Watched;
