//! The feed of events to clients: each event is encoded once and shared by all of them.
//!
//! ```text
//!  engine ─► one subscription ─► encoded once ─► ring ─┬─► viewer
//!                                                      ├─► viewer
//!  log ──── catch-up, at the viewer's own pace ────────┴─► viewer that comes from the past
//! ```
//!
//! Nothing is stored per viewer. One that reads from the past reads from disk; one that has fallen out of the ring is
//! disconnected, and resumes from where it was.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::{SessionId, codec};
use ao_engine::{AskError, EngineError, Handle, PublishedEvent, Subscription};
use ao_ports::{Seq, StoreError};
use axum::body::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::to_api::time;

/// The number of events that a viewer may fall behind. A turn of the engine may produce several hundred at once.
const RING: usize = 1024;

/// The pause after the log could not be read.
const PAUSE: Duration = Duration::from_millis(500);

/// An encoded event.
#[derive(Debug, Clone)]
pub(crate) struct Worded {
    pub(crate) seq: Seq,
    pub(crate) session: Option<SessionId>,
    /// The whole server-sent event, with its id and its empty line.
    pub(crate) bytes: Bytes,
}

pub(crate) struct Hub {
    handle: Handle,
    /// The last event in the ring, and its sender. Held together, so that a new viewer knows which event comes next.
    ring: Mutex<Ring>,
}

struct Ring {
    last: Seq,
    /// Absent once the engine has stopped.
    sender: Option<Sender<Arc<Worded>>>,
}

impl Hub {
    pub(crate) async fn start(
        handle: &Handle,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Hub>, AskError> {
        // Reads the position first, then subscribes from there: events in between are read from the log.
        let last = handle.view_at(|_, seq| seq).await?;
        let ring = Ring { last, sender: Some(broadcast::channel(RING).0) };
        let hub = Arc::new(Hub { handle: handle.clone(), ring: Mutex::new(ring) });
        let feeding = hub.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = feeding.feed() => {}
            }
            feeding.ring().sender = None;
        });
        Ok(hub)
    }

    /// Returns the position of the last event that was sent.
    pub(crate) fn last(&self) -> Seq {
        self.ring().last
    }

    /// Watches from a position on; by default from now. A position that the log has not reached counts as now.
    pub(crate) fn watch(&self, after: Option<Seq>) -> Watch {
        let last = self.last();
        Watch { last: after.map_or(last, |after| after.min(last)), from: From::Nowhere }
    }

    /// Passes events on until the engine has stopped. If the log cannot be read, it is read again from the same
    /// position after a pause; viewers wait meanwhile and miss nothing.
    async fn feed(&self) {
        while let Err(err) = self.pass_on(self.handle.subscribe(self.last())).await {
            tracing::error!(%err, ?PAUSE, "events cannot be watched at present; it is tried again");
            if let EngineError::Store(StoreError::Pruned { first_kept }) = err {
                self.skip_to(first_kept);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn pass_on(&self, mut events: Subscription) -> Result<(), EngineError> {
        while let Some(event) = events.next().await? {
            self.publish(worded(&event));
        }
        Ok(())
    }

    /// Continues after a gap. Viewers must not overlook it, so they are disconnected and resume.
    fn skip_to(&self, first_kept: Seq) {
        let mut ring = self.ring();
        ring.last = first_kept.saturating_sub(1);
        ring.sender = Some(broadcast::channel(RING).0);
    }

    fn publish(&self, event: Worded) {
        let mut ring = self.ring();
        ring.last = event.seq;
        if let Some(sender) = &ring.sender {
            // There may be no viewers.
            let _ = sender.send(Arc::new(event));
        }
    }

    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().expect("nobody panics with the ring")
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("last", &self.last()).finish_non_exhaustive()
    }
}

/// The position of a viewer.
pub(crate) struct Watch {
    last: Seq,
    from: From,
}

enum From {
    Nowhere,
    Log(Box<Subscription>),
    Ring(Receiver<Arc<Worded>>),
}

/// The next item for a viewer.
pub(crate) enum Next {
    Event(Arc<Worded>),
    /// The viewer has fallen too far behind, or there are no more events.
    Over,
}

impl Watch {
    /// Returns the next event, in order, without gaps and duplicates. Cancel safe.
    pub(crate) async fn next(&mut self, hub: &Hub) -> Result<Next, EngineError> {
        loop {
            match &mut self.from {
                From::Nowhere => self.from = self.join(hub),
                From::Log(log) => {
                    // Only existing events are read here, so this never waits for future ones.
                    match log.next().await? {
                        Some(event) => {
                            self.last = event.seq;
                            if self.last >= hub.last() {
                                self.from = From::Nowhere;
                            }
                            return Ok(Next::Event(Arc::new(worded(&event))));
                        }
                        None => return Ok(Next::Over),
                    }
                }
                From::Ring(ring) => match ring.recv().await {
                    Ok(event) if event.seq <= self.last => {}
                    Ok(event) => {
                        self.last = event.seq;
                        return Ok(Next::Event(event));
                    }
                    Err(_) => return Ok(Next::Over),
                },
            }
        }
    }

    /// Continues from the ring if it starts right after our position, otherwise from the log.
    fn join(&self, hub: &Hub) -> From {
        let ring = hub.ring();
        match &ring.sender {
            Some(sender) if ring.last <= self.last => From::Ring(sender.subscribe()),
            Some(_) => From::Log(Box::new(hub.handle.subscribe(self.last))),
            None => From::Ring(broadcast::channel(1).1),
        }
    }
}

/// The same as [`ao_api::Event`], with a body that is already JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    seq: Seq,
    at: ao_api::Timestamp,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    concerns: &'a str,
    data: &'a RawValue,
}

fn worded(published: &PublishedEvent) -> Worded {
    let encoded = codec::encode(&published.event);
    let session = published.event.session();
    let body = RawValue::from_string(encoded.body).expect("the body of an event is JSON");
    let line = Line {
        seq: published.seq,
        at: time(published.at),
        kind: &encoded.kind,
        session_id: session.map(|session| session.to_string()),
        concerns: &encoded.scope,
        data: &body,
    };
    let json = serde_json::to_string(&line).expect("an event is plain data");
    let bytes = format!("id: {}\ndata: {json}\n\n", published.seq).into();
    Worded { seq: published.seq, session, bytes }
}
