//! Limits per caller: far above normal use, and low enough that a faulty client does not hurt others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_api::Problem;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::Limited;
use tokio::time::Instant;

use crate::app::App;
use crate::auth::{Identity, Peer};
use crate::problem::Failure;

/// The limits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of imported issues.
    pub import_body: usize,
    /// Requests per second over TCP of each caller: our user, an agent, another user, a network. The socket has no such
    /// limit.
    pub requests_per_second: u32,
    /// Connections at a time, streams included, over TCP; and as many over the socket.
    pub connections: usize,
    /// The time for the head of a request to arrive.
    pub head: Duration,
    /// The time for a request.
    pub request: Duration,
    /// The time for which a connection may accept none of the bytes we send.
    pub stall: Duration,
    /// The time for requests to end when the daemon stops.
    pub drain: Duration,
    /// The interval of heartbeats on streams.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 1024 * 1024,
            import_body: 25 * 1024 * 1024,
            requests_per_second: 200,
            connections: 4096,
            head: Duration::from_secs(10),
            request: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            drain: Duration::from_secs(3),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// Routes with longer time limits, because they wait or do work on disk that must not be interrupted.
const LONG: &[(&str, Duration)] = &[
    ("/api/sessions/{id}/message", Duration::from_secs(330)),
    ("/api/issues/import", Duration::from_secs(600)),
    // Checks run before it lands.
    ("/api/pulls/{id}/merge", Duration::from_secs(2 * 3600)),
    ("/api/workspaces", Duration::from_secs(600)),
    ("/api/workspaces/cleanup", Duration::from_secs(3600)),
];

/// Enforces the limits of one request.
pub(crate) async fn limit(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let peer = request.extensions().get::<Peer>().filter(|peer| !peer.is_socket()).cloned();
    if let Some(peer) = peer
        && !app.rates.take(peer.identity(&app.sockets, &app.lineage).await, Instant::now())
    {
        return Err(Problem::new(429, "too-many-requests", "there are too many requests at a time").into());
    }
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let most = if path == "/api/issues/import" { app.limits.import_body } else { app.limits.body };
    let time = LONG.iter().find(|(long, _)| *long == path).map_or(app.limits.request, |(_, time)| *time);
    let declared =
        request.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > most as u64) {
        return Err(too_large(most).into());
    }
    let request = request.map(|body| Body::new(Limited::new(body, most)));
    tokio::time::timeout(time, next.run(request)).await.map_err(|_| {
        Problem::new(504, "timed-out", format!("the request took longer than {} s", time.as_secs())).into()
    })
}

pub(crate) fn too_large(most: usize) -> Problem {
    Problem::new(413, "too-large", format!("the body of the request has more than {most} bytes"))
}

/// The remaining requests of each caller, replenished over time.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: f64,
    /// Held for a few instructions only.
    left: Mutex<HashMap<Identity, (f64, Instant)>>,
}

/// The maximum number of callers that are remembered; the least recent are dropped first.
const CALLERS: usize = 4096;

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Rates {
        Rates { per_second: f64::from(limits.requests_per_second), left: Mutex::default() }
    }

    fn take(&self, who: Identity, now: Instant) -> bool {
        let mut all = self.left.lock().expect("nobody panics with the rates");
        if all.len() >= CALLERS && !all.contains_key(&who) && who != Identity::Us {
            let rested = |since: Instant| now.duration_since(since) < Duration::from_secs(2);
            all.retain(|_, (_, since)| rested(*since));
            if all.len() >= CALLERS {
                return false;
            }
        }
        // At most two seconds' worth of requests is saved up.
        let most = self.per_second * 2.0;
        let (left, since) = all.entry(who).or_insert((most, now));
        *left = (*left + now.duration_since(*since).as_secs_f64() * self.per_second).min(most);
        *since = now;
        let may = *left >= 1.0;
        if may {
            *left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_and_a_flood_is_not() {
        let rates = Rates::new(&Limits { requests_per_second: 10, ..Limits::default() });
        let (one, other) = (Identity::User(1), Identity::Us);
        let start = Instant::now();
        assert_eq!((0..100).filter(|_| rates.take(one, start)).count(), 20);
        assert!(rates.take(other, start), "one caller's flood is not another's");
        let later = start + Duration::from_secs(1);
        assert_eq!((0..100).filter(|_| rates.take(one, later)).count(), 10);
    }

    #[test]
    fn what_is_remembered_of_callers_is_bounded() {
        let rates = Rates::new(&Limits::default());
        let start = Instant::now();
        for n in 0..CALLERS as u32 {
            assert!(rates.take(Identity::User(n), start));
        }
        let late = Identity::User(u32::MAX);
        assert!(!rates.take(late, start));
        assert!(rates.take(Identity::Us, start), "the crowd does not keep us out");
        assert!(rates.take(late, start + Duration::from_secs(3)));
    }
}
