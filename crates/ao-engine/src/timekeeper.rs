//! The engine's own time: that of the wall clock, but never backwards.

use std::sync::Arc;
use std::time::Duration;

use ao_core::{Moment, Timestamp};
use ao_ports::Clock;
use tokio::time::Instant;

/// Provides moments. A wall clock that is set back would lengthen every delay, and let an old signal pass for a new
/// one. So time continues by the monotonic clock until the wall clock has caught up.
pub(crate) struct Timekeeper {
    clock: Arc<dyn Clock>,
    last: Timestamp,
    read: Instant,
}

impl Timekeeper {
    /// Begins at the wall clock's time, or at the last event's if that is later.
    pub(crate) fn new(clock: Arc<dyn Clock>, last: Timestamp) -> Timekeeper {
        Timekeeper { last: last.max(clock.now()), clock, read: Instant::now() }
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        let read = Instant::now();
        let steady = self.last + read.duration_since(self.read);
        let now = steady.max(self.clock.now());
        // A read within the same millisecond must not drop the fraction, or a busy engine's time would stand still.
        if now > self.last {
            self.last = now;
            self.read = read;
        }
        now
    }

    pub(crate) fn moment(&mut self) -> Moment {
        Moment { at: self.now(), seed: self.clock.fresh() }
    }

    /// Returns the time to sleep until `due`.
    pub(crate) fn until(&mut self, due: Timestamp) -> Duration {
        due.since(self.now())
    }
}
