//! The configuration that is in force now, and questions about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ao_config::Loaded;
use ao_config::shape::CheckConfig;
use ao_core::ProjectId;
use ao_notifier::Page;
use ao_scm::checks::ProposedCheck;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::watch;

use super::apply::AgentsByName;
use super::{InForce, KnownProject};
use crate::error::{DaemonError, ErrorKind};
use crate::{on_disk, spawn};

/// The checks of a project.
#[derive(Debug)]
pub enum ProjectChecks {
    Configured(Vec<CheckConfig>),
    /// Suggested by the files of the project, for which none is configured.
    Proposed(Vec<ProposedCheck>),
}

/// The configuration in force, and the agents that it describes.
#[derive(Debug)]
pub struct ActiveConfig {
    pub(crate) data_dir: Utf8PathBuf,
    in_force: Mutex<InForce>,
    /// The agents that are plugged in, as they were described.
    agents: Mutex<AgentsByName>,
    /// The main file at the start of the daemon, as some of it cannot change while the daemon runs.
    pub(crate) started_with: Arc<Loaded>,
    /// One change at a time. Not `in_force`: a change waits for the engine.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// The page in the browser, for the links in notices.
    pub(crate) page: Page,
    pub(crate) changed: tokio::sync::Notify,
    /// True once it was put in force. Jobs that an earlier daemon left wait for that.
    applied: watch::Sender<bool>,
}

impl ActiveConfig {
    pub(crate) fn pending(data_dir: &Utf8Path, configs: InForce, page: Page) -> ActiveConfig {
        ActiveConfig {
            data_dir: data_dir.to_owned(),
            agents: Mutex::default(),
            started_with: configs.main.clone(),
            in_force: Mutex::new(configs),
            changing: tokio::sync::Mutex::new(()),
            page,
            changed: tokio::sync::Notify::new(),
            applied: watch::Sender::new(false),
        }
    }

    /// Makes one for a program that configures the engine itself: in force at once.
    pub fn without_files(data_dir: &Utf8Path, configs: InForce) -> ActiveConfig {
        let config = ActiveConfig::pending(data_dir, configs, Page::default());
        config.applied.send_replace(true);
        config
    }

    /// Waits until it was put in force for the first time.
    pub(crate) async fn applied(&self) {
        // The sender lives as long as this.
        self.applied.subscribe().wait_for(|applied| *applied).await.ok();
    }

    /// Waits until it was put in force anew.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub fn in_force(&self) -> InForce {
        self.configs().clone()
    }

    pub(crate) fn set(&self, configs: InForce) {
        *self.configs() = configs;
        self.applied.send_replace(true);
        self.changed.notify_one();
    }

    pub(crate) fn configs(&self) -> MutexGuard<'_, InForce> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn agents(&self) -> MutexGuard<'_, AgentsByName> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the project that is meant: the one that is named, or the only one.
    pub fn project(&self, named: Option<&str>) -> Result<ProjectId, DaemonError> {
        spawn::project(named, &self.configs()).map(|known| ProjectId::new(&known.name))
    }

    /// Returns the tool that a specialist uses, if that is what the name stands for.
    pub fn tool_of(&self, agent: &str) -> Option<String> {
        let configs = self.configs();
        let mut specialists = configs.main.config.agents.iter();
        specialists.find(|specialist| specialist.id == agent).map(|specialist| specialist.tool.clone())
    }

    /// Returns the branch that a project's work goes back to.
    pub fn default_branch(&self, project: &ProjectId) -> Option<String> {
        let projects = self.configs().projects();
        projects.get(project).map(|known| known.effective().project.default_branch.clone())
    }

    /// Returns the files that take part.
    pub fn files(&self) -> Vec<String> {
        self.configs().layers().iter().map(|layer| layer.path.to_string()).collect()
    }

    /// Returns the main configuration as it is written in a file, with where it comes from.
    pub fn shown(&self) -> String {
        self.configs().main.show()
    }

    /// Returns the projects that the configuration names.
    pub fn projects(&self) -> BTreeMap<ProjectId, KnownProject> {
        self.configs().projects()
    }

    /// Returns the checks of a project: those that are configured, and if there are none what its files suggest.
    pub async fn checks(&self, project: &ProjectId) -> Result<ProjectChecks, DaemonError> {
        let projects = self.configs().projects();
        let Some(known) = projects.get(project) else {
            return Err(DaemonError::new(
                ErrorKind::UnknownProject,
                format!("there is no project `{project}`"),
            ));
        };
        let effective = known.effective().project;
        if !effective.checks.is_empty() {
            return Ok(ProjectChecks::Configured(effective.checks.clone()));
        }
        let root = effective.path.clone();
        Ok(ProjectChecks::Proposed(on_disk(move || ao_scm::checks::propose(&root)).await?))
    }

    /// Returns what counts only from the next start, because the running daemon cannot change it.
    pub(crate) fn needs_restart(&self) -> Vec<String> {
        let (started, now) = (&self.started_with.config, &self.configs().main.config);
        let differs = [
            ("`port`", started.port != now.port),
            ("`server`", started.server != now.server),
            ("`power`", started.power != now.power),
            (
                "`lifecycle.maxParallelChecks`",
                started.lifecycle.max_parallel_checks != now.lifecycle.max_parallel_checks,
            ),
            ("`dashboard.enabled`", started.dashboard.enabled != now.dashboard.enabled),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
    }
}
