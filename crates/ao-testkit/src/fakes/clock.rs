//! The wall clock, which jumps, and numbers that are fresh and yet the same for the same seed.

use ao_core::Timestamp;
use ao_ports::Clock;

use super::Fake;

#[derive(Debug, Clone)]
pub(crate) struct SimClock(pub(crate) Fake);

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.0.universe.lock().wall()
    }

    fn fresh(&self) -> u64 {
        self.0.universe.lock().fresh()
    }
}
