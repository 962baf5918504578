//! The real clock, and real chance.

use std::time::{SystemTime, UNIX_EPOCH};

use ao_core::Timestamp;
use ao_ports::Clock;

/// The time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn fresh(&self) -> u64 {
        // Seeded by the system for each thread. 64 bits, of which no two will meet in the life of a log.
        fastrand::u64(..)
    }
}
