//! The parts of the daemon beside the engine: a world starts and kills them with it.
//!
//! Adapters test themselves against this crate, so it cannot depend on the daemon. The simulation hands the parts in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ao_core::ProjectId;
use ao_core::job::{Job, JobOutcome};
use ao_engine::{AdapterSet, Handle};
use ao_ports::{Clock, JobError, JobRunner, Tracker};
use async_trait::async_trait;
use tokio::task::JoinSet;

use crate::fakes::FakePort;
use crate::universe::FakeBug;
use crate::watch::Invariant;

/// Starts the parts of the daemon beside the engine, once for each of its lives.
pub trait DaemonParts: Send + Sync {
    /// Starts them. They may do no real I/O, and are dropped when the daemon dies.
    fn start(&self, ports: DaemonPorts) -> RunningParts;
}

/// The ports that the parts work on, all of them fakes.
pub struct DaemonPorts {
    pub handle: Handle,
    pub clock: Arc<dyn Clock>,
    /// The engine's own slots. Its runner of jobs runs users' commands only.
    pub slots: AdapterSet,
    pub trackers: BTreeMap<ProjectId, Arc<dyn Tracker>>,
}

/// The running parts.
pub struct RunningParts {
    pub jobs: Arc<dyn JobRunner>,
    /// Tasks that run for as long as the daemon does.
    pub tasks: JoinSet<()>,
}

/// Runs jobs, and checks that each was in the log before.
pub(crate) struct WatchedJobs {
    pub(crate) fake: FakePort,
    pub(crate) jobs: Arc<dyn JobRunner>,
}

#[async_trait]
impl JobRunner for WatchedJobs {
    async fn run(&self, job: &Job) -> Result<JobOutcome, JobError> {
        let skipped = {
            let mut inner = self.fake.universe.lock();
            let wanted = inner.log.ledger.was_ordered(job.id);
            inner.must(wanted, Invariant::CommitFirst, || {
                format!("{} is run before it was in the log: {:?}", job.id, job.order)
            });
            inner.fake_bug == FakeBug::Jobs
        };
        match skipped {
            true => Ok(JobOutcome::Done { said: String::new() }),
            false => self.jobs.run(job).await,
        }
    }
}

impl fmt::Debug for DaemonPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonPorts").finish_non_exhaustive()
    }
}

impl fmt::Debug for RunningParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningParts").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}
