//! The feed of events: from any point of the past, without gaps, into the present.

use std::collections::VecDeque;
use std::sync::Arc;

use ao_core::{Event, StampedEvent, Timestamp};
use ao_ports::{EventStore, Seq};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};

use crate::error::EngineError;
use crate::load::decode;

/// The distance by which a subscriber may fall behind before it reads from disk again. Limits memory, not what can be
/// read.
const BEHIND: usize = 1024;
const PAGE: usize = 256;

/// An event with its position in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedEvent {
    pub seq: Seq,
    pub at: Timestamp,
    pub event: Event,
}

#[derive(Clone)]
pub(crate) struct Feed {
    live: Sender<Arc<PublishedEvent>>,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed { live: broadcast::channel(BEHIND).0 }
    }

    pub(crate) fn publish(&self, first: Seq, events: &[StampedEvent]) {
        if self.live.receiver_count() == 0 {
            return;
        }
        for (seq, stamped) in (first..).zip(events) {
            let published = PublishedEvent { seq, at: stamped.at, event: stamped.event.clone() };
            // There may be no subscriber left.
            let _ = self.live.send(Arc::new(published));
        }
    }

    pub(crate) fn subscribe(&self, store: Arc<dyn EventStore>, after: Seq) -> Subscription {
        Subscription {
            live: self.live.subscribe(),
            store,
            last: after,
            page: VecDeque::new(),
            caught_up: false,
        }
    }
}

/// A subscriber's position in the feed.
pub struct Subscription {
    live: Receiver<Arc<PublishedEvent>>,
    store: Arc<dyn EventStore>,
    last: Seq,
    page: VecDeque<Arc<PublishedEvent>>,
    caught_up: bool,
}

impl Subscription {
    /// Returns the next event, in order and without gaps; `None` once the engine has stopped. A subscriber that falls
    /// behind reads from disk until it has caught up, and delays no other.
    ///
    /// Fails with [`ao_ports::StoreError::Pruned`] if its position has been removed by retention.
    pub async fn next(&mut self) -> Result<Option<Arc<PublishedEvent>>, EngineError> {
        loop {
            if let Some(event) = self.page.pop_front() {
                self.last = event.seq;
                return Ok(Some(event));
            }
            if !self.caught_up {
                for record in self.store.read(self.last, PAGE).await? {
                    let stamped = decode(&record)?;
                    let published = PublishedEvent { seq: record.seq, at: stamped.at, event: stamped.event };
                    self.page.push_back(Arc::new(published));
                }
                self.caught_up = self.page.is_empty();
                continue;
            }
            match self.live.recv().await {
                Ok(event) if event.seq <= self.last => {}
                Ok(event) if event.seq == self.last + 1 => {
                    self.last = event.seq;
                    return Ok(Some(event));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => self.caught_up = false,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("last", &self.last).finish_non_exhaustive()
    }
}
