//! Waiting for ends, without asking again and again: each process has its waiter, and the kernel wakes it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_ports::Report;
use tokio::process::Child;

use super::place::{Exit, Place};
use super::processes::Shared;
use crate::host::wait::gone;

/// Waits for a child of this daemon.
pub(super) async fn child(shared: Arc<Shared>, place: Place, mut child: Child) {
    match child.wait().await {
        Ok(status) => ended(&shared, &place, Exit { code: status.code() }).await,
        Err(err) => tracing::warn!(%err, session = %place.key.0, "cannot wait for a child"),
    }
}

/// Waits for a process that an earlier daemon has started. Its code is for its parent only.
pub(super) async fn stranger(shared: Arc<Shared>, place: Place, pidfd: OwnedFd) {
    match gone(pidfd).await {
        Ok(()) => ended(&shared, &place, Exit { code: None }).await,
        Err(err) => {
            tracing::warn!(%err, session = %place.key.0, "cannot wait for a process");
            shared.waited_for.lock().expect("nobody panics while counting").remove(&place.key);
        }
    }
}

/// Writes the end down first and tells of it afterwards, so that whoever looks because of the report finds it.
async fn ended(shared: &Shared, place: &Place, exit: Exit) {
    if let Err(err) = place.keep_exit(exit) {
        tracing::warn!(%err, session = %place.key.0, "an exit code could not be kept");
    }
    shared.waited_for.lock().expect("nobody panics while counting").remove(&place.key);
    let reporter = shared.reporter.read().expect("nobody panics while setting it").clone();
    if let Some(reporter) = reporter {
        let (session, attempt) = place.key;
        let signal = Signal {
            attempt,
            source: Source::Process,
            at: shared.clock.now(),
            confidence: Confidence::High,
            reading: Reading::Exited { code: exit.code },
        };
        reporter.report(Report::Signal { session, signal }).await;
    }
}
