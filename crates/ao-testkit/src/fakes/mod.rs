//! Fakes for every port, stricter than the real adapters: they detect when the engine breaks a contract.

mod agent;
mod agent_bench;
mod clock;
mod errands;
mod notifier;
mod port_bench;
mod records;
mod reports;
mod runtime;
mod scm;
mod store;
mod workspace;

use std::sync::Arc;

use ao_core::ProjectId;
use ao_engine::AdapterSet;
use ao_ports::{Runtime, Runtimes};

pub use agent_bench::SimAgentBench;
pub(crate) use clock::SimClock;
pub use clock::{ManualClock, WallClock};
pub use port_bench::SimPortBench;
pub use records::{MemoryRecords, ProbedRecords};
pub use reports::ReportLog;
pub(crate) use store::MemoryStore;

use crate::universe::SimUniverse;

/// A fake port, in one life of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct FakePort {
    pub(crate) universe: Arc<SimUniverse>,
    /// A call that outlives its daemon has no effect.
    pub(crate) life: u32,
}

/// Returns all slots of a daemon, filled with fakes.
pub(crate) fn slots(fake: &FakePort, projects: &[ProjectId]) -> AdapterSet {
    let one = || Arc::new(fake.clone());
    AdapterSet {
        errands: Some(one() as _),
        runtimes: Runtimes::from_iter([one() as Arc<dyn Runtime>]),
        agents: [("fake".to_owned(), one() as _)].into(),
        workspaces: [("worktree".to_owned(), one() as _)].into(),
        notifiers: [("desktop".to_owned(), one() as _)].into(),
        scms: projects.iter().map(|project| (project.clone(), one() as _)).collect(),
    }
}
