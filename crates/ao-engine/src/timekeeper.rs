//! The engine's own time: the wall clock's, but never backwards.

use std::sync::Arc;
use std::time::Duration;

use ao_core::{Moment, Timestamp};
use ao_ports::Clock;
use tokio::time::Instant;

/// Hands out moments. A wall clock that is set back would make every delay longer by as much, and let an old signal pass
/// for a new one; so time goes on by the steady clock until the wall clock has caught up.
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
        // A read within the same millisecond must not swallow the fraction, or a busy engine's time would stand still.
        if now > self.last {
            self.last = now;
            self.read = read;
        }
        now
    }

    pub(crate) fn moment(&mut self) -> Moment {
        Moment { at: self.now(), seed: self.clock.fresh() }
    }

    /// How long to sleep until a time comes.
    pub(crate) fn until(&mut self, due: Timestamp) -> Duration {
        due.since(self.now())
    }
}
