//! The fake desktop of a person.

use ao_core::notice::Notice;
use ao_ports::{Notifier, NotifyError};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::watch::Invariant;

#[async_trait]
impl Notifier for FakePort {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        let passed = self.universe.before(self.life, PortCall::Notify).await.map_err(NotifyError::Failed)?;
        {
            let mut inner = self.universe.lock();
            let raised = inner.log.ledger.was_raised(&notice.key);
            inner.must(raised, Invariant::CommitFirst, || {
                format!("`{}` reached a person before it was in the log", notice.key)
            });
            for _ in 0..passed.times() {
                *inner.outside.notified.entry(notice.key.clone()).or_default() += 1;
            }
        }
        self.universe.after(passed).await.map_err(NotifyError::Failed)
    }
}
