//! Fakes for every port, stricter than the real adapters: they detect when the engine breaks a contract.

mod agent;
mod agent_bench;
mod clock;
mod jobs;
mod notifier;
mod port_bench;
mod protocol;
mod records;
mod reports;
mod runtime;
mod runtime_bench;
mod scm;
mod store;
mod tracker;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::ProjectId;
use ao_engine::AdapterSet;
use ao_ports::{HintReceiver, Runtime, Runtimes, Tracker, TrackerError};

pub use agent_bench::SimAgentBench;
pub(crate) use clock::SimClock;
pub use clock::{ManualClock, WallClock};
pub use port_bench::SimPortBench;
pub(crate) use protocol::CONVERSATION;
pub use protocol::{FakeProtocol, ProtocolFake};
pub use records::{MemoryRecords, ProbedRecords};
pub use reports::ReportLog;
pub use runtime_bench::SimRuntimeBench;
pub(crate) use store::MemoryStore;

use crate::faults::PortCall;
use crate::outside::HintWatcher;
use crate::universe::{CallPass, SimUniverse};

/// The time that a look takes. The world goes on meanwhile, so what was seen may be out of date when it is reported.
const LATENCY: Duration = Duration::from_millis(200);

/// Time for which a used-up quota lets nothing through.
const QUOTA: Duration = Duration::from_secs(600);

/// A fake port, in one life of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct FakePort {
    pub(crate) universe: Arc<SimUniverse>,
    /// A call that outlives its daemon has no effect.
    pub(crate) life: u32,
    /// The project whose forge or tracker it is.
    project: Option<ProjectId>,
}

/// Returns all slots of a daemon, filled with fakes.
pub(crate) fn slots(fake: &FakePort, projects: &[ProjectId]) -> AdapterSet {
    let one = || Arc::new(fake.clone());
    AdapterSet {
        jobs: Some(one() as _),
        runtimes: Runtimes::from_iter([one() as Arc<dyn Runtime>]),
        agents: [("fake".to_owned(), one() as _)].into(),
        workspaces: [("worktree".to_owned(), one() as _)].into(),
        notifiers: [("desktop".to_owned(), one() as _)].into(),
        scms: projects.iter().map(|project| (project.clone(), fake.of(project) as _)).collect(),
    }
}

/// Returns the trackers of a daemon.
pub(crate) fn trackers(fake: &FakePort, projects: &[ProjectId]) -> BTreeMap<ProjectId, Arc<dyn Tracker>> {
    projects.iter().map(|project| (project.clone(), fake.of(project) as _)).collect()
}

impl FakePort {
    pub(crate) fn new(universe: Arc<SimUniverse>, life: u32) -> FakePort {
        FakePort { universe, life, project: None }
    }

    fn of(&self, project: &ProjectId) -> Arc<FakePort> {
        Arc::new(FakePort { project: Some(project.clone()), ..self.clone() })
    }

    /// Lets a call to a forge or a tracker through, or makes it fail.
    async fn passes(&self, call: PortCall) -> Result<CallPass, TrackerError> {
        let hangs = {
            let mut inner = self.universe.lock();
            inner.outside.looks += u64::from(call == PortCall::Pulls);
            self.project.as_ref().is_some_and(|project| inner.outside.hanging.contains(project))
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        self.within_quota(call).await
    }

    /// Lets a call through, unless a fault makes it fail or the quota is used up.
    async fn within_quota(&self, call: PortCall) -> Result<CallPass, TrackerError> {
        let passed = self.universe.before(self.life, call).await.map_err(TrackerError::Failed)?;
        if passed.is_limited() { Err(TrackerError::Limited { after: QUOTA }) } else { Ok(passed) }
    }

    /// Takes the time of a look.
    async fn latency(&self, call: PortCall) {
        self.universe.lock().outside.looking.insert(call);
        tokio::time::sleep(LATENCY).await;
        self.universe.lock().outside.looking.remove(&call);
    }

    /// Sends hints for as long as it is polled, unless a fault ends it.
    async fn send_hints(&self, tasks: bool, hints: Arc<dyn HintReceiver>) {
        if self.passes(PortCall::Watch).await.is_ok() {
            let FakePort { universe, life, project } = self.clone();
            universe.lock().outside.watchers.push(HintWatcher { life, project, tasks, hints });
            std::future::pending::<()>().await;
        }
    }
}
