//! Stand-ins for every port, stricter than the real ones: they notice when the engine breaks a contract.

mod agent;
mod clock;
mod errands;
mod notifier;
mod records;
mod runtime;
mod scm;
mod store;
mod workspace;

use std::sync::Arc;

use ao_core::ProjectId;
use ao_engine::Slots;
use ao_ports::{Runtime, Runtimes};

pub use clock::ManualClock;
pub(crate) use clock::SimClock;
pub use records::MemoryRecords;
pub(crate) use store::MemoryStore;

use crate::universe::Universe;

/// A fake port in one of the daemon's lives.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub(crate) universe: Arc<Universe>,
    /// A call that outlives its daemon comes to nothing.
    pub(crate) life: u32,
}

/// All slots of a daemon, filled with fakes.
pub(crate) fn slots(fake: &Fake, projects: &[ProjectId]) -> Slots {
    let one = || Arc::new(fake.clone());
    Slots {
        errands: Some(one() as _),
        runtimes: Runtimes::from_iter([one() as Arc<dyn Runtime>]),
        agents: [("fake".to_owned(), one() as _)].into(),
        workspaces: [("worktree".to_owned(), one() as _)].into(),
        notifiers: [("desktop".to_owned(), one() as _)].into(),
        scms: projects.iter().map(|project| (project.clone(), one() as _)).collect(),
    }
}
