//! Reports events that no caller asked for.

use std::sync::{Arc, RwLock};

use ao_core::Timestamp;
use ao_core::evidence::{Reading, Signal, SignalSource};
use ao_ports::{Report, Reporter};

use super::AttemptKey;

/// The receiver of reports. There is none at first; the census shows what happened before.
#[derive(Default)]
pub(crate) struct ReportSender {
    to: RwLock<Option<Arc<dyn Reporter>>>,
}

impl ReportSender {
    pub(crate) fn set_reporter(&self, reporter: Arc<dyn Reporter>) {
        *self.to.write().expect("no thread panics while setting it") = Some(reporter);
    }

    pub(crate) async fn exited(&self, key: AttemptKey, at: Timestamp, code: Option<i32>) {
        self.send(key, at, SignalSource::Process, Reading::Exited { code }).await;
    }

    pub(crate) async fn unheld(&self, key: AttemptKey, at: Timestamp) {
        self.send(key, at, SignalSource::Process, Reading::Unheld).await;
    }

    pub(crate) async fn typed(&self, key: AttemptKey, at: Timestamp) {
        self.send(key, at, SignalSource::Terminal, Reading::HumanTyped).await;
    }

    async fn send(
        &self,
        (session, attempt): AttemptKey,
        at: Timestamp,
        source: SignalSource,
        reading: Reading,
    ) {
        let reporter = self.to.read().expect("no thread panics while setting it").clone();
        if let Some(reporter) = reporter {
            let signal = Signal::certain(attempt, source, at, reading);
            reporter.report(Report::Signal { session, signal }).await;
        }
    }
}
