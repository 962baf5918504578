//! A fake that runs users' commands. All other jobs are run by the daemon's own parts.

use ao_core::errand::{Errand, ErrandOutcome, JobOrder};
use ao_ports::{ErrandError, JobRunner};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;

#[async_trait]
impl JobRunner for FakePort {
    async fn run(&self, errand: &Errand) -> Result<ErrandOutcome, ErrandError> {
        let passed = self.universe.before(self.life, PortCall::Command).await.map_err(ErrandError::Later)?;
        let fails = {
            let mut inner = self.universe.lock();
            matches!(errand.order, JobOrder::Run { .. }) && inner.faults.are_random() && inner.rng.bool()
        };
        self.universe.after(passed).await.map_err(ErrandError::Later)?;
        Ok(match fails {
            true => ErrandOutcome::Refused { why: "it does not go".into() },
            false => ErrandOutcome::Done { said: String::new() },
        })
    }
}
