//! The limit on open connections, divided so that no caller can take all of them.
//!
//! Callers are distinguished by [`Identity`]: our own user, each agent, each other user of this machine, each network.
//! Our own user may have all connections. Each of the others may have a quarter, and all of them together three
//! quarters. If there is no room, the connection that has been idle for longest is closed: one of the same caller, or,
//! if our own user connects, that of any caller.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::auth::Identity;

/// The connections of one listener.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    /// Held for a few instructions, or while a connection to close is searched.
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// By the order in which they were accepted.
    all: BTreeMap<u64, Connection>,
    by: HashMap<Identity, usize>,
}

#[derive(Debug)]
struct Connection {
    of: Identity,
    activity: Arc<Activity>,
}

/// The activity on a connection.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    requests: AtomicUsize,
    /// It has become a WebSocket.
    upgraded: AtomicBool,
    /// Cancelled if another connection needs its place.
    pub(crate) close: CancellationToken,
}

/// A place among the connections, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    pub(crate) activity: Arc<Activity>,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Places> {
        Arc::new(Places { most, taken: Mutex::default() })
    }

    /// Takes a place, or that of an idle connection; `None` if there is no room.
    pub(crate) fn take(self: &Arc<Self>, of: Identity) -> Option<Place> {
        let mut taken = self.taken();
        // Our own user does not have to wait for others.
        let may_close = |connection: &Connection| of == Identity::Us || connection.of == of;
        if !self.has_room(&taken, of) && !taken.close_one(of, may_close) {
            return None;
        }
        let number = taken.next;
        taken.next += 1;
        let activity = Arc::new(Activity::default());
        taken.all.insert(number, Connection { of, activity: activity.clone() });
        *taken.by.entry(of).or_default() += 1;
        drop(taken);
        Some(Place { places: self.clone(), number, activity })
    }

    fn has_room(&self, taken: &Taken, of: Identity) -> bool {
        let count = |of: &Identity| taken.by.get(of).copied().unwrap_or_default();
        let all = taken.all.len();
        if of == Identity::Us {
            return all < self.most;
        }
        let quarter = (self.most / 4).max(1);
        all < self.most
            && count(&of) < quarter
            && all - count(&Identity::Us) < self.most.saturating_sub(quarter)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Closes the oldest idle connection, of others before its own.
    fn close_one(&mut self, by: Identity, may: impl Fn(&Connection) -> bool) -> bool {
        let idle = self.all.iter().filter(|(_, connection)| may(connection) && connection.activity.is_idle());
        let Some(number) =
            idle.min_by_key(|(number, connection)| (connection.of == by, **number)).map(|(n, _)| *n)
        else {
            return false;
        };
        if let Some(closed) = self.remove(number) {
            closed.activity.close.cancel();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let connection = self.all.remove(&number)?;
        if let Some(count) = self.by.get_mut(&connection.of) {
            *count -= 1;
            if *count == 0 {
                self.by.remove(&connection.of);
            }
        }
        Some(connection)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().remove(self.number);
    }
}

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    pub(crate) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0 && !self.upgraded.load(Ordering::Relaxed)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: Identity = Identity::User(12345);
    const SECOND: Identity = Identity::User(12346);

    /// Takes as many places as possible, each with a request.
    fn busy(places: &Arc<Places>, of: Identity) -> Vec<(Place, Busy)> {
        let take = || places.take(of).map(|place| (place.activity.begin(), place));
        std::iter::from_fn(take).map(|(busy, place)| (place, busy)).collect()
    }

    #[test]
    fn strangers_leave_room_for_us_and_for_each_other() {
        let places = Places::new(16);
        let first = busy(&places, STRANGER);
        assert_eq!(first.len(), 4);
        let second = busy(&places, SECOND);
        assert_eq!(second.len(), 4);
        let third = busy(&places, Identity::User(3));
        assert_eq!(third.len(), 4);
        assert_eq!(busy(&places, Identity::User(4)).len(), 0, "all strangers together have three quarters");
        assert_eq!(busy(&places, Identity::Us).len(), 4);
        drop(second);
        assert_eq!(busy(&places, Identity::Us).len(), 8, "what nobody else has is ours");
        assert_eq!(busy(&places, SECOND).len(), 4);
    }

    #[test]
    fn one_that_waits_gives_way_and_one_that_is_at_work_does_not() {
        let places = Places::new(8);
        let one = places.take(STRANGER).unwrap();
        let two = places.take(STRANGER).unwrap();
        let asked = one.activity.begin();
        let three = places.take(STRANGER).unwrap();
        assert!(!one.activity.close.is_cancelled() && two.activity.close.is_cancelled());
        three.activity.upgrade();
        assert!(places.take(STRANGER).is_none(), "one is asked something, and the other is a WebSocket");
        drop(asked);
        assert!(places.take(STRANGER).is_some());
        assert!(one.activity.close.is_cancelled());
    }

    #[test]
    fn we_get_a_place_of_others_before_one_of_our_own() {
        let places = Places::new(4);
        let ours = places.take(Identity::Us).unwrap();
        let stranger = places.take(STRANGER).unwrap();
        let more: Vec<_> = (0..2).map(|_| places.take(Identity::Us).unwrap()).collect();
        let last = places.take(Identity::Us).unwrap();
        assert!(stranger.activity.close.is_cancelled() && !ours.activity.close.is_cancelled());
        let again = places.take(Identity::Us).unwrap();
        assert!(ours.activity.close.is_cancelled(), "then the oldest of our own");
        assert_eq!(places.taken().all.len(), 4);
        drop((ours, stranger, more, last, again));
        assert_eq!(places.taken().all.len(), 0);
        assert_eq!(places.taken().by.len(), 0);
    }
}
