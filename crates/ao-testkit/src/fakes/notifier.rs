//! The person's desktop.

use ao_core::notice::Notice;
use ao_ports::{Notifier, NotifierAbilities, NotifyError};
use async_trait::async_trait;

use super::Fake;
use crate::faults::Call;
use crate::watch::Invariant;

#[async_trait]
impl Notifier for Fake {
    fn abilities(&self) -> NotifierAbilities {
        NotifierAbilities::default()
    }

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        let passed = self.universe.before(self.life, Call::Notify).await.map_err(NotifyError::Failed)?;
        {
            let mut inner = self.universe.lock();
            let raised = inner.log.ledger.was_raised(&notice.key);
            inner.must(raised, Invariant::CommitFirst, || {
                format!("`{}` was told to a person before it was in the log", notice.key)
            });
            for _ in 0..passed.times() {
                *inner.outside.told.entry(notice.key.clone()).or_default() += 1;
            }
        }
        self.universe.after(passed).await.map_err(NotifyError::Failed)
    }
}
