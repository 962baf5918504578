//! Contracts of the ports: stories that are written once and run against each adapter.
//!
//! A story knows only the port. Each adapter's tests provide a bench with everything else.
//!
//! The simulation's fakes run them too (`tests/it/port_contracts.rs`), all but the stories of the runtime that need a real
//! program: its output, its input, its files or its children.

pub mod agent;
pub mod notifier;
pub mod records;
pub mod runtime;
pub mod scm;
pub mod tracker;
pub mod workspace;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_ports::{HintReceiver, LookHint};

/// Time limit of every wait.
const BOUND: Duration = Duration::from_secs(20);

/// The hints so far.
#[derive(Clone, Default)]
struct HintLog(Arc<Mutex<Vec<LookHint>>>);

impl HintReceiver for HintLog {
    fn hint(&self, hint: LookHint) {
        self.0.lock().expect("no panic while held").push(hint);
    }
}

impl HintLog {
    /// Returns true if this hint comes within a moment.
    async fn soon(&self, hint: LookHint) -> bool {
        for _ in 0..50 {
            if self.0.lock().expect("no panic while held").contains(&hint) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    fn forget(&self) {
        self.0.lock().expect("no panic while held").clear();
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(BOUND, async { while !holds().await {} }).await;
    assert!(waited.is_ok(), "not within {BOUND:?}: {what}");
}
