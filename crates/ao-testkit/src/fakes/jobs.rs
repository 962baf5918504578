//! A fake that runs users' commands. All other jobs are run by the daemon's own parts.

use ao_core::job::{Job, JobOrder, JobOutcome};
use ao_ports::{JobError, JobRunner};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;

#[async_trait]
impl JobRunner for FakePort {
    async fn run(&self, job: &Job) -> Result<JobOutcome, JobError> {
        let passed = self.universe.before(self.life, PortCall::Command).await.map_err(JobError::Later)?;
        let fails = {
            let mut inner = self.universe.lock();
            inner.outside.commands += passed.times();
            matches!(job.order, JobOrder::Run { .. }) && inner.faults.are_random() && inner.rng.bool()
        };
        self.universe.after(passed).await.map_err(JobError::Later)?;
        Ok(match fails {
            true => JobOutcome::Refused { why: "it does not go".into() },
            false => JobOutcome::Done { said: String::new() },
        })
    }
}
