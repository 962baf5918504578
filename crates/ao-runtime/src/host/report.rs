//! Telling of what happens without being asked for.

use std::sync::{Arc, RwLock};

use ao_core::Timestamp;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_ports::{Report, Reporter};

use super::Key;

/// Whom to tell. Nobody at first; what happens before there is somebody is told by the census.
#[derive(Default)]
pub(crate) struct Reports {
    to: RwLock<Option<Arc<dyn Reporter>>>,
}

impl Reports {
    pub(crate) fn tell_to(&self, reporter: Arc<dyn Reporter>) {
        *self.to.write().expect("nobody panics while setting it") = Some(reporter);
    }

    pub(crate) async fn exited(&self, key: Key, at: Timestamp, code: Option<i32>) {
        self.tell(key, at, Source::Process, Reading::Exited { code }).await;
    }

    pub(crate) async fn unheld(&self, key: Key, at: Timestamp) {
        self.tell(key, at, Source::Process, Reading::Unheld).await;
    }

    pub(crate) async fn typed(&self, key: Key, at: Timestamp) {
        self.tell(key, at, Source::Terminal, Reading::HumanTyped).await;
    }

    async fn tell(&self, (session, attempt): Key, at: Timestamp, source: Source, reading: Reading) {
        let reporter = self.to.read().expect("nobody panics while setting it").clone();
        if let Some(reporter) = reporter {
            let signal = Signal { attempt, source, at, confidence: Confidence::High, reading };
            reporter.report(Report::Signal { session, signal }).await;
        }
    }
}
