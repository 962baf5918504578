//! The orchestrator for programs that embed it: the functions of `ao`, from Rust.
//!
//! ```text
//!  Orchestrator ── plan ──► tasks ── spawn ──► SessionHandle ── on_complete, send, done, output
//!       │                                          │
//!       ├─ workspace ──► WorkspaceHandle ──────────┘ in_workspace
//!       └─ open_pull, refresh_pulls, ci_failures ──► resume
//! ```
//!
//! It runs in the program that makes it, with a data folder of its own; there is no daemon and no configuration file. Agents
//! go on when that program ends, and the next one with the same folder finds them again. Everything that holds for the
//! program holds here, because it is the same engine: confirmed messages, one deletion gate, incidents.
//!
//! Forges are not watched here: the embedding program decides when to look, by [`Orchestrator::refresh_pulls`].

mod builder;
mod error;
mod pulls;
mod session;
mod tasks;
mod workspace;

use std::sync::{Arc, Mutex, PoisonError};

use ao_core::ProjectId;
use ao_core::project::Project;
use ao_engine::{Handle, Subscription};
use ao_ports::{Clock, Runtimes, Workspace};
use camino::Utf8Path;
use tokio::task::JoinSet;

use crate::daemon::Daemon;

pub use self::builder::OrchestratorBuilder;
pub use self::error::OrchestratorError;
pub use self::pulls::{CiFailure, CiFailures};
pub use self::session::{SessionCompletion, SessionHandle, SessionSpawn};
pub use self::tasks::{ListPlanner, PlanError, PlanGoal, PlannedTask, TaskPlanner};
pub use self::workspace::{NewWorkspace, WorkspaceHandle};

/// Many agents at once, steered by the program that embeds it.
pub struct Orchestrator {
    daemon: Daemon,
    ways: SessionAccess,
    planner: Arc<dyn TaskPlanner>,
    /// The callbacks of those who wait for something. They end with the orchestrator.
    callbacks: Mutex<JoinSet<()>>,
}

/// The means to reach sessions, for handles that outlive a call.
#[derive(Clone)]
struct SessionAccess {
    handle: Handle,
    runtimes: Runtimes,
    clock: Arc<dyn Clock>,
}

impl Orchestrator {
    /// With a folder for all that it remembers: the event log, and what its agents have put out.
    pub fn builder(data_dir: impl AsRef<Utf8Path>) -> OrchestratorBuilder {
        OrchestratorBuilder::new(data_dir.as_ref())
    }

    /// Makes tasks of a goal, with the planner that was given.
    pub async fn plan(
        &self,
        project: &str,
        goal: impl Into<PlanGoal>,
    ) -> Result<Vec<PlannedTask>, OrchestratorError> {
        self.project(project).await?;
        Ok(self.planner.plan(&ProjectId::new(project), &goal.into()).await?)
    }

    /// Returns the running and the queued sessions, with the reasons for waiting.
    pub async fn schedule(&self) -> Result<ao_core::plan::WorkPlan, OrchestratorError> {
        let now = self.ways.clock.now();
        Ok(self.daemon.handle.view(move |state| ao_core::plan::plan(state, now, None)).await?)
    }

    /// Returns the advice for now with its reasons, the most pressing first.
    pub async fn advise(&self) -> Result<Vec<ao_core::advise::AdviceItem>, OrchestratorError> {
        let now = self.ways.clock.now();
        Ok(self.daemon.handle.view(move |state| ao_core::advise::advise(state, now, None)).await?)
    }

    /// An agent for a task, to be chosen and started.
    pub fn spawn(&self, task: PlannedTask) -> SessionSpawn<'_> {
        SessionSpawn::new(self, task)
    }

    /// Prepares a new workspace.
    pub fn workspace(&self, project: &str, name: &str) -> NewWorkspace<'_> {
        NewWorkspace::new(self, project, name)
    }

    /// Goes on with an agent: it gets this message when it can take one. One that has exited is started for that, with the
    /// conversation that it had if it can resume it; a session that was stopped is restored.
    pub async fn resume(&self, session: &SessionHandle, text: &str) -> Result<(), OrchestratorError> {
        session.resume(text).await
    }

    /// Everything that happens from now on.
    pub async fn events(&self) -> Result<Subscription, OrchestratorError> {
        let seq = self.daemon.handle.view_at(|_, seq| seq).await?;
        Ok(self.daemon.handle.subscribe(seq))
    }

    /// Stops, and closes the log. Agents go on.
    pub async fn stop(self) -> Result<(), OrchestratorError> {
        let mut callbacks = self.callbacks.into_inner().unwrap_or_else(PoisonError::into_inner);
        callbacks.shutdown().await;
        self.daemon.stop().await.map_err(|err| OrchestratorError::Failed(err.to_plain()))
    }

    async fn project(&self, name: &str) -> Result<Project, OrchestratorError> {
        let id = ProjectId::new(name);
        let found = self.daemon.handle.view(move |state| state.projects.get(&id).cloned()).await?;
        found.ok_or_else(|| OrchestratorError::NoProject(name.to_owned()))
    }

    /// Returns the adapter of a kind of workspace.
    fn workspaces(&self, kind: &str) -> Result<&dyn Workspace, OrchestratorError> {
        let missing = || OrchestratorError::Failed(format!("there is no workspace `{kind}`"));
        self.daemon.adapters.workspace(kind).ok_or_else(missing)
    }

    /// Lets a callback wait for what it is for.
    fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut callbacks = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
        while callbacks.try_join_next().is_some() {}
        callbacks.spawn(work);
    }
}

debug_by!(Orchestrator: daemon);
