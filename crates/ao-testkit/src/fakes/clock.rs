//! Clocks: of the simulation, which jumps; of tests, which is set by hand; and of the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ao_core::Timestamp;
use ao_ports::Clock;

use super::FakePort;

#[derive(Debug, Clone)]
pub(crate) struct SimClock(pub(crate) FakePort);

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.0.universe.lock().wall()
    }

    fn fresh(&self) -> u64 {
        self.0.universe.lock().fresh()
    }
}

/// A clock that stands still until a test moves it, or moves on by a millisecond with each look.
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    now: Arc<AtomicI64>,
    tick: i64,
    drawn: Arc<AtomicU64>,
}

impl ManualClock {
    pub fn at(now: Timestamp) -> ManualClock {
        ManualClock { now: Arc::new(AtomicI64::new(now.0)), ..ManualClock::default() }
    }

    /// Creates a clock that moves on by a millisecond with each look, so that no two times are equal.
    pub fn ticking() -> ManualClock {
        ManualClock { tick: 1, ..ManualClock::default() }
    }

    /// Sets the time, backwards as well: a real clock jumps too.
    pub fn set(&self, now: Timestamp) {
        self.now.store(now.0, Ordering::SeqCst);
    }

    pub fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.fetch_add(self.tick, Ordering::SeqCst))
    }

    fn fresh(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// The clock of the machine, or one that is behind it.
#[derive(Debug, Clone, Default)]
pub struct WallClock {
    behind: Arc<AtomicI64>,
    drawn: Arc<AtomicU64>,
}

impl WallClock {
    /// Creates a clock that is behind that of the machine.
    pub fn behind(by: Duration) -> WallClock {
        let behind = i64::try_from(by.as_millis()).expect("a test does not wait that long");
        WallClock { behind: Arc::new(AtomicI64::new(behind)), ..WallClock::default() }
    }

    /// Shows the time of the machine from now on.
    pub fn catch_up(&self) {
        self.behind.store(0, Ordering::Relaxed);
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Timestamp(now - self.behind.load(Ordering::Relaxed))
    }

    /// Returns a number that no concurrent test draws. The first ones of a clock are in order, and differ in their
    /// leading digits, so that short forms of ids are unique.
    fn fresh(&self) -> u64 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        (drawn.wrapping_mul(0x0101).wrapping_add(0x1000) << 48) | fastrand::u64(..1 << 48)
    }
}
