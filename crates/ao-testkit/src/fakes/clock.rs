//! The wall clock, which jumps, and numbers that are fresh and yet the same for the same seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

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

/// A clock that stands still until it is told to go on, for the tests of adapters.
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    now: Arc<AtomicI64>,
    drawn: Arc<AtomicU64>,
}

impl ManualClock {
    pub fn at(now: Timestamp) -> ManualClock {
        ManualClock { now: Arc::new(AtomicI64::new(now.0)), drawn: Arc::default() }
    }

    /// Moves it, back as well as forth: a real one jumps too.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.0, Ordering::SeqCst);
    }

    pub fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn fresh(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::SeqCst) + 1
    }
}
