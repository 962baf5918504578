//! Time and fresh numbers, the two things the core must be given.

use ao_core::Timestamp;

/// Tells the time and draws numbers. The only way either reaches the engine, so a simulation can own both.
pub trait Clock: Send + Sync {
    /// The wall clock. It may jump; the engine sees to it that its own time never runs backwards.
    fn now(&self) -> Timestamp;

    /// A number that was never drawn before, from which ids are made.
    fn fresh(&self) -> u64;
}
