//! Time and fresh numbers, the two things the core must be given.

use ao_core::Timestamp;

/// Provides the time and fresh numbers. The only source of either for the engine, so a simulation can control both.
pub trait Clock: Send + Sync {
    /// Returns the wall-clock time. It may jump; the engine ensures that its own time never runs backwards.
    fn now(&self) -> Timestamp;

    /// Returns a number that was never returned before, from which ids are made.
    fn fresh(&self) -> u64;
}
