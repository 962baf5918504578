//! The forges and trackers of the projects: made as configured, watched, and looked at whenever something is worth asking.
//!
//! ```text
//!  configuration ──► Forges ──► a Scm and a Tracker for each project ──► slots of the engine, routes of the API
//!                                  │ watch                     ▲ one look at a time for each project
//!                                  ▼ hints                     │
//!                               Asked (a set, so that a burst is one question) ──► look ──► Input ──► engine
//! ```
//!
//! Which forge it is matters in `make.rs` alone.

mod look;
mod make;
mod masked;
mod pending;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ao_core::ProjectId;
use ao_engine::Handle;
use ao_git::Queues;
use ao_ports::{Clock, HintReceiver, LookHint, Records, Scm, Tracker, Workspace};
use ao_scm::checks::Runner;
use tokio::task::{AbortHandle, JoinSet};

pub(crate) use self::look::LookError;
pub(crate) use self::make::Wanted;
use self::pending::Asked;
use crate::{chores, policy};

/// The forges and trackers of all projects.
pub(crate) struct Forges {
    pub(crate) handle: Handle,
    pub(crate) ground: Ground,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    pub(crate) asked: Arc<Asked>,
    /// Both are held for a few instructions only.
    projects: Mutex<BTreeMap<ProjectId, Project>>,
    watching: Mutex<JoinSet<()>>,
    /// One look at a time for each project: of two, the earlier one could arrive last and be believed.
    looking: Mutex<BTreeMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>,
    /// The same for reading the policies.
    pub(crate) reading: Mutex<BTreeMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>,
    /// What was last read of the policies.
    policies: Mutex<BTreeMap<ProjectId, policy::ReadPolicy>>,
}

/// What every forge stands on.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) records: Arc<dyn Records>,
    pub(crate) runner: Runner,
    pub(crate) queues: Arc<Queues>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// What one project has.
pub(crate) struct Project {
    pub(crate) wanted: Wanted,
    scm: Result<Arc<dyn Scm>, String>,
    tracker: Result<Arc<dyn Tracker>, String>,
    watches: Vec<AbortHandle>,
}

impl Forges {
    pub(crate) fn new(
        handle: Handle,
        ground: Ground,
        workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    ) -> Forges {
        Forges {
            handle,
            ground,
            workspaces,
            asked: Arc::default(),
            projects: Mutex::default(),
            watching: Mutex::default(),
            looking: Mutex::default(),
            reading: Mutex::default(),
            policies: Mutex::default(),
        }
    }

    /// Makes the forges and trackers that are wanted. What has not changed stays as it is. One that cannot be made says why
    /// to whoever needs it, and stops nothing else.
    pub(crate) async fn configure(&self, wanted: BTreeMap<ProjectId, Wanted>) {
        let gone: Vec<ProjectId> = {
            let projects = self.projects();
            projects.keys().filter(|id| !wanted.contains_key(id)).cloned().collect()
        };
        for id in gone {
            self.forget(&id);
        }
        for (id, wanted) in wanted {
            if self.projects().get(&id).is_some_and(|known| known.wanted == wanted) {
                continue;
            }
            // The one before stays until its successor is made: whoever calls meanwhile finds a forge.
            let scm = make::scm(&id, &wanted, &self.ground, &self.handle).await;
            let tracker = make::tracker(&id, &wanted, &self.ground);
            let mut watches = Vec::new();
            if let Ok(scm) = &scm {
                let tidies = chores::tidy_merged(
                    self.handle.clone(),
                    id.clone(),
                    scm.clone(),
                    self.ground.clock.clone(),
                );
                watches.push(self.watching().spawn(tidies));
                let (scm, hints) = (scm.clone(), self.hints());
                watches.push(self.watching().spawn(async move { scm.watch(hints).await }));
            }
            if let Ok(tracker) = &tracker {
                let (tracker, hints) = (tracker.clone(), self.hints());
                watches.push(self.watching().spawn(async move { tracker.watch(hints).await }));
            }
            let before = self.projects().insert(id.clone(), Project { wanted, scm, tracker, watches });
            if let Some(before) = before {
                before.watches.iter().for_each(AbortHandle::abort);
            }
            // Whatever has happened while nobody watched.
            self.asked.hint(LookHint::Project(id));
        }
    }

    /// Where the pull requests of a project live, or why that is nowhere.
    pub(crate) fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, String> {
        match self.projects().get(project) {
            Some(known) => known.scm.clone(),
            None => Err(format!("there is no project `{project}`")),
        }
    }

    pub(crate) fn tracker(&self, project: &ProjectId) -> Result<Arc<dyn Tracker>, String> {
        match self.projects().get(project) {
            Some(known) => known.tracker.clone(),
            None => Err(format!("there is no project `{project}`")),
        }
    }

    /// Those that the engine can merge at.
    pub(crate) fn scms(&self) -> BTreeMap<ProjectId, Arc<dyn Scm>> {
        let projects = self.projects();
        projects.iter().filter_map(|(id, known)| Some((id.clone(), known.scm.clone().ok()?))).collect()
    }

    /// Ends the watches and what the checks run.
    pub(crate) async fn stop(&self) {
        let mut watching = std::mem::take(&mut *self.watching());
        watching.shutdown().await;
        self.ground.runner.stop().await;
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

    pub(crate) fn projects(&self) -> MutexGuard<'_, BTreeMap<ProjectId, Project>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn policies(&self) -> MutexGuard<'_, BTreeMap<ProjectId, policy::ReadPolicy>> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watching(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Forges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forges").field("projects", &self.projects().keys()).finish_non_exhaustive()
    }
}
