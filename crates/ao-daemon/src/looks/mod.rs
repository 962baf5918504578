//! The forges and trackers of the projects: made as configured, watched, and looked at whenever something is worth asking.
//!
//! ```text
//!  configuration ──► Looks ──► a Scm and a Tracker for each project ──► slots of the engine, routes of the API
//!                                  │ watch                     ▲ one look at a time for each project
//!                                  ▼ hints                     │
//!                               PendingLooks (a set, so that a burst is one question) ──► look ──► Input ──► engine
//! ```
//!
//! Which forge it is matters in the registry alone.

mod import;
mod look;
mod make;
mod masked;
mod pending;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ao_core::ProjectId;
use ao_engine::Handle;
use ao_git::Queues;
use ao_ports::{Clock, HintReceiver, LookHint, Records, Scm, Tracker, Workspace};
use ao_scm::checks::Runner;
use futures::FutureExt as _;
use tokio::task::{AbortHandle, JoinSet};

pub use self::import::{ImportFormat, ImportResult, Outcome};
pub use self::look::{LookError, TaskReceiver};
pub use self::make::ForgeConfig;
use self::masked::MaskedPort;
use self::pending::PendingLooks;
use crate::registry::Registry;
use crate::{chores, policy};

/// The forges and trackers of all projects.
pub struct ProjectLooks {
    pub(crate) handle: Handle,
    pub(crate) clock: Arc<dyn Clock>,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    registry: Arc<Registry>,
    pub(crate) asked: Arc<PendingLooks>,
    /// Adapters of the embedding program. They come before what is configured. Those of a project without a configuration
    /// are not looked at by themselves.
    own: OwnAdapters,
    /// Both are held for a few instructions only.
    projects: Mutex<BTreeMap<ProjectId, ProjectAdapters>>,
    watching: Mutex<JoinSet<()>>,
    /// One look at a time for each project: of two, the earlier one could arrive last and be believed.
    looking: Mutex<BTreeMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>,
    /// The same for reading the policies.
    pub(crate) reading: Mutex<BTreeMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>,
    /// The policies as they were last read.
    policies: Mutex<BTreeMap<ProjectId, policy::ReadPolicy>>,
}

/// Forges and trackers that the embedding program has made.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "ports have no such form")]
pub struct OwnAdapters {
    pub scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
    pub trackers: BTreeMap<ProjectId, Arc<dyn Tracker>>,
}

/// The parts that every forge is made with.
#[derive(Clone)]
pub struct ForgeDeps {
    pub records: Arc<dyn Records>,
    pub runner: Runner,
    pub queues: Arc<Queues>,
    pub clock: Arc<dyn Clock>,
}

/// The adapters of one project.
pub(crate) struct ProjectAdapters {
    pub(crate) wanted: ForgeConfig,
    scm: Result<Arc<dyn Scm>, String>,
    tracker: Result<Arc<dyn Tracker>, String>,
    watches: Vec<AbortHandle>,
}

impl ProjectLooks {
    pub fn new(
        handle: Handle,
        clock: Arc<dyn Clock>,
        workspaces: BTreeMap<String, Arc<dyn Workspace>>,
        registry: Arc<Registry>,
        own: OwnAdapters,
    ) -> ProjectLooks {
        let OwnAdapters { scms, trackers } = own;
        let own = OwnAdapters {
            scms: scms.into_iter().map(|(id, scm)| (id, masked_scm(scm))).collect(),
            trackers: trackers.into_iter().map(|(id, tracker)| (id, masked_tracker(tracker))).collect(),
        };
        ProjectLooks {
            handle,
            clock,
            workspaces,
            registry,
            own,
            asked: Arc::default(),
            projects: Mutex::default(),
            watching: Mutex::default(),
            looking: Mutex::default(),
            reading: Mutex::default(),
            policies: Mutex::default(),
        }
    }

    /// Makes the configured forges and trackers. Unchanged ones stay as they are. One that cannot be made returns the
    /// reason to its callers until it is made by a later call, and stops nothing else.
    pub(crate) async fn configure(&self, wanted: BTreeMap<ProjectId, ForgeConfig>, deps: &ForgeDeps) {
        let gone: Vec<ProjectId> = {
            let projects = self.projects();
            projects.keys().filter(|id| !wanted.contains_key(id)).cloned().collect()
        };
        for id in gone {
            self.forget(&id);
        }
        for (id, wanted) in wanted {
            // One that could not be made is made again: the reason may be gone.
            let (scm, tracker) = match self.projects().get(&id) {
                Some(known) if known.wanted == wanted => (known.scm.clone().ok(), known.tracker.clone().ok()),
                _ => (None, None),
            };
            if scm.is_some() && tracker.is_some() {
                continue;
            }
            // The previous one stays until its successor is made, so that callers always find a forge.
            let scm = match scm.or_else(|| self.own.scms.get(&id).cloned()) {
                Some(scm) => Ok(scm),
                None => self.make_scm(&id, &wanted, deps).await.map(masked_scm),
            };
            let tracker = match tracker.or_else(|| self.own.trackers.get(&id).cloned()) {
                Some(tracker) => Ok(tracker),
                None => self.make_tracker(&id, &wanted, deps).await.map(masked_tracker),
            };
            self.replace(id, wanted, scm, tracker);
        }
    }

    /// Takes a forge and a tracker that were made elsewhere.
    pub fn adopt(
        &self,
        id: ProjectId,
        wanted: ForgeConfig,
        scm: Result<Arc<dyn Scm>, String>,
        tracker: Result<Arc<dyn Tracker>, String>,
    ) {
        self.replace(id, wanted, scm.map(masked_scm), tracker.map(masked_tracker));
    }

    /// Takes the forge and the tracker of a project in the place of earlier ones, watches them, and has everything of the
    /// project looked at.
    fn replace(
        &self,
        id: ProjectId,
        wanted: ForgeConfig,
        scm: Result<Arc<dyn Scm>, String>,
        tracker: Result<Arc<dyn Tracker>, String>,
    ) {
        // Watches of earlier ones have ended by now.
        while self.watching().try_join_next().is_some() {}
        let mut watches = Vec::new();
        if let Ok(scm) = &scm {
            let tidies =
                chores::tidy_merged(self.handle.clone(), id.clone(), scm.clone(), self.clock.clone());
            watches.push(self.watching().spawn(tidies));
            let (scm, hints) = (scm.clone(), self.hints());
            watches.push(self.watching().spawn(keep(async move || scm.watch(hints.clone()).await)));
        }
        if let Ok(tracker) = &tracker {
            let (tracker, hints) = (tracker.clone(), self.hints());
            watches.push(self.watching().spawn(keep(async move || tracker.watch(hints.clone()).await)));
        }
        let before = self.projects().insert(id.clone(), ProjectAdapters { wanted, scm, tracker, watches });
        if let Some(before) = before {
            before.watches.iter().for_each(AbortHandle::abort);
        }
        // Changes from before the watch began.
        self.asked.hint(LookHint::Project(id));
    }

    /// Returns the forge of a project.
    pub fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, LookError> {
        match (self.own.scms.get(project), self.projects().get(project)) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(known)) => known.scm.clone().map_err(LookError::NoForge),
            (None, None) => Err(LookError::NoForge(format!("there is no project `{project}`"))),
        }
    }

    /// Returns the tracker of a project.
    pub fn tracker(&self, project: &ProjectId) -> Result<Arc<dyn Tracker>, LookError> {
        match (self.own.trackers.get(project), self.projects().get(project)) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(known)) => known.tracker.clone().map_err(LookError::NoTracker),
            (None, None) => Err(LookError::NoTracker(format!("there is no project `{project}`"))),
        }
    }

    /// Those that the engine can merge at.
    pub(crate) fn scms(&self) -> BTreeMap<ProjectId, Arc<dyn Scm>> {
        let projects = self.projects();
        let made = projects.iter().filter_map(|(id, known)| Some((id.clone(), known.scm.clone().ok()?)));
        made.chain(self.own.scms.clone()).collect()
    }

    /// Ends the watches.
    pub(crate) async fn stop(&self) {
        let mut watching = std::mem::take(&mut *self.watching());
        watching.shutdown().await;
    }

    /// Has everything of a project looked at, because what is of interest there has changed.
    pub(crate) fn look_at(&self, project: &ProjectId) {
        self.asked.hint(LookHint::Project(project.clone()));
    }

    fn hints(&self) -> Arc<dyn HintReceiver> {
        self.asked.clone()
    }

    fn forget(&self, project: &ProjectId) {
        if let Some(gone) = self.projects().remove(project) {
            gone.watches.iter().for_each(AbortHandle::abort);
        }
        self.policies().remove(project);
    }

    pub(crate) fn projects(&self) -> MutexGuard<'_, BTreeMap<ProjectId, ProjectAdapters>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn policies(&self) -> MutexGuard<'_, BTreeMap<ProjectId, policy::ReadPolicy>> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watching(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn masked_scm(scm: Arc<dyn Scm>) -> Arc<dyn Scm> {
    Arc::new(MaskedPort::new(scm))
}

fn masked_tracker(tracker: Arc<dyn Tracker>) -> Arc<dyn Tracker> {
    Arc::new(MaskedPort::new(tracker))
}

/// Starts a watch again a while after it has ended or panicked.
async fn keep(watch: impl AsyncFn()) {
    loop {
        AssertUnwindSafe(watch()).catch_unwind().await.ok();
        tokio::time::sleep(look::POLL).await;
    }
}

impl fmt::Debug for ProjectLooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectLooks").field("projects", &self.projects().keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
