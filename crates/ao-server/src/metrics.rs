//! Metrics of the daemon, in the OpenMetrics format.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ao_core::session::{Phase, Session};
use ao_core::{State, Timestamp};
use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::to_api::state_of;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    method: String,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Word {
    state: String,
}

type Level = Gauge<u64, AtomicU64>;

/// The counters.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Call, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
    sessions: Family<Word, Level>,
    live: Level,
    queued: Level,
    messages: Family<Word, Level>,
    seq: Level,
    pub(crate) viewers: Open,
    pub(crate) terminals: Open,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("ao");
        let buckets: fn() -> Histogram = || Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0]);
        let r = &mut registry;
        Metrics {
            requests: added(r, "http_requests", "Requests that were answered", Family::default()),
            seconds: added(
                r,
                "http_request_seconds",
                "How long they took",
                Family::new_with_constructor(buckets),
            ),
            sessions: added(r, "sessions", "Sessions in memory by their state", Family::default()),
            live: added(r, "live_sessions", "Sessions that have not ended", Level::default()),
            queued: added(r, "queued_sessions", "Sessions that wait for a slot", Level::default()),
            messages: added(r, "messages", "Messages of the sessions in memory", Family::default()),
            seq: added(r, "event_seq", "The place of the last event in the log", Level::default()),
            viewers: Open(added(r, "event_viewers", "Streams of events that are open", Gauge::default())),
            terminals: Open(added(r, "terminal_viewers", "Open views of terminals", Gauge::default())),
            registry,
        }
    }
}

/// Registers a metric, and returns it.
fn added<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    pub(crate) fn request(&self, method: &Method, route: &str, status: u16, took: Duration) {
        // A request can have any method; only known ones become a row.
        let known = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::HEAD].contains(method);
        let method = if known { method.to_string() } else { "other".into() };
        let call = Call { method, route: route.to_owned(), status };
        self.requests.get_or_create(&call).inc();
        // An open stream is not a slow response: the time to its head is measured.
        self.seconds.get_or_create(&Route { route: route.to_owned() }).observe(took.as_secs_f64());
    }

    /// Formats all metrics.
    pub(crate) fn text(&self, levels: Levels) -> Result<String, fmt::Error> {
        self.sessions.clear();
        for (state, many) in levels.sessions {
            self.sessions.get_or_create(&Word { state }).set(many);
        }
        for (outcome, many) in levels.messages {
            self.messages.get_or_create(&Word { state: outcome.into() }).set(many);
        }
        self.live.set(levels.live);
        self.queued.set(levels.queued);
        self.seq.set(levels.seq);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Values that are read when metrics are requested.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    sessions: std::collections::BTreeMap<String, u64>,
    messages: Vec<(&'static str, u64)>,
    live: u64,
    queued: u64,
    seq: u64,
}

impl Levels {
    pub(crate) fn of(state: &State, seq: u64, now: Timestamp) -> Levels {
        let mut levels = Levels { seq, ..Levels::default() };
        let (mut waiting, mut accepted, mut failed) = (0, 0, 0);
        for session in state.sessions.values() {
            *levels.sessions.entry(state_of(session.status(now).word).to_string()).or_default() += 1;
            levels.live += u64::from(session.is_live());
            levels.queued += u64::from(is_queued(session));
            waiting += session.outbox.waiting.len() as u64 + session.outbox.under_way().count() as u64;
            accepted += u64::from(session.outbox.accepted);
            failed += session.outbox.failed.len() as u64;
        }
        levels.messages = vec![("waiting", waiting), ("accepted", accepted), ("failed", failed)];
        levels
    }
}

pub(crate) fn is_queued(session: &Session) -> bool {
    matches!(session.phase, Phase::Queued { .. })
}

/// A gauge of open items.
#[derive(Debug)]
pub(crate) struct Open(Gauge);

impl Open {
    /// Counts one until it is dropped.
    pub(crate) fn one(&self) -> OneOpen {
        self.0.inc();
        OneOpen(self.0.clone())
    }
}

#[derive(Debug)]
pub(crate) struct OneOpen(Gauge);

impl Drop for OneOpen {
    fn drop(&mut self) {
        self.0.dec();
    }
}
