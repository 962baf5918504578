//! Putting an orchestrator together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::{DaemonSettings, Input, ProjectId};
use ao_ports::{Agent, Clock, Notifier, Scm};
use camino::{Utf8Path, Utf8PathBuf};
use tokio::task::JoinSet;

use super::tasks::{ListPlanner, TaskPlanner};
use super::{Orchestrator, OrchestratorError, SessionAccess};
use crate::clock::SystemClock;
use crate::daemon::{self, Daemon};
use crate::registry::Adapter;

/// The parts of an orchestrator. Each slot takes an adapter of the embedding program.
pub struct OrchestratorBuilder {
    options: daemon::DaemonOptions,
    settings: DaemonSettings,
    projects: BTreeMap<ProjectId, ProjectConfig>,
    planner: Arc<dyn TaskPlanner>,
    clock: Arc<dyn Clock>,
}

impl OrchestratorBuilder {
    pub(super) fn new(data_dir: &Utf8Path) -> OrchestratorBuilder {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        OrchestratorBuilder {
            options: daemon::DaemonOptions::new(absolute(data_dir), program),
            settings: DaemonSettings::default(),
            projects: BTreeMap::new(),
            planner: Arc::new(ListPlanner),
            clock: Arc::new(SystemClock),
        }
    }

    /// A repository under its care, with `main` as its default branch.
    #[must_use]
    pub fn project(self, name: &str, path: impl AsRef<Utf8Path>) -> OrchestratorBuilder {
        let path = absolute(path.as_ref()).into_string();
        let config = ProjectConfig { path, default_branch: "main".into(), ..ProjectConfig::default() };
        self.project_with(name, config)
    }

    /// Adds a project with its whole configuration.
    #[must_use]
    pub fn project_with(mut self, name: &str, config: ProjectConfig) -> OrchestratorBuilder {
        self.projects.insert(ProjectId::new(name), config);
        self
    }

    /// Adds an adapter of the embedding program, such as a runtime, beside the built-in ones.
    #[must_use]
    pub fn adapter(mut self, adapter: Adapter) -> OrchestratorBuilder {
        Arc::make_mut(&mut self.options.registry).add(adapter);
        self
    }

    /// Adds an agent of the embedding program.
    #[must_use]
    pub fn agent(mut self, name: &str, agent: Arc<dyn Agent>) -> OrchestratorBuilder {
        self.options.own_agents.insert(name.to_owned(), agent);
        self
    }

    /// Any program as an agent.
    #[must_use]
    pub fn command_agent(mut self, agent: ao_agent::Options) -> OrchestratorBuilder {
        self.options.agents.push(agent);
        self
    }

    #[must_use]
    pub fn notifier(mut self, name: &str, notifier: Arc<dyn Notifier>) -> OrchestratorBuilder {
        self.options.notifiers.insert(name.to_owned(), notifier);
        self
    }

    /// The forge of a project.
    #[must_use]
    pub fn scm(mut self, project: &str, scm: Arc<dyn Scm>) -> OrchestratorBuilder {
        self.options.scms.insert(ProjectId::new(project), scm);
        self
    }

    #[must_use]
    pub fn planner(mut self, planner: Arc<dyn TaskPlanner>) -> OrchestratorBuilder {
        self.planner = planner;
        self
    }

    /// Limits, patience, and automatic reactions to problems: by default an agent gets a message about a failed check
    /// of its pull request.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut DaemonSettings)) -> OrchestratorBuilder {
        change(&mut self.settings);
        self
    }

    /// Another program than this one as the helper that holds agents: `ao`, or one that calls
    /// `ao::run_as_helper` first.
    #[must_use]
    pub fn helper(mut self, program: impl AsRef<Path>) -> OrchestratorBuilder {
        self.options.program = program.as_ref().to_owned();
        self
    }

    /// Opens the log and starts. Agents that an earlier orchestrator with this folder has left running are found again.
    pub async fn start(mut self) -> Result<Orchestrator, OrchestratorError> {
        for config in self.projects.values() {
            if !Utf8Path::new(&config.path).join(".git").exists() {
                return Err(OrchestratorError::NoRepository(config.path.clone()));
            }
        }
        self.settings.sharing_runtimes = self.options.registry.sharing_runtimes();
        let daemon = Daemon::start(self.options, self.clock.clone())
            .await
            .map_err(|err| OrchestratorError::Failed(err.to_plain()))?;
        daemon.handle.ask(Input::Configure(Box::new(self.settings))).await?;
        for (project, mut config) in self.projects {
            let limits = daemon.looks.scm(&project).ok().and_then(|scm| scm.merge_abilities().limits());
            config.merge_limits = config.merge_limits.or(limits);
            let input = ProjectInput::Configure(Box::new(config));
            daemon.handle.ask(Input::Project { project, input }).await?;
        }
        let ways = SessionAccess {
            handle: daemon.handle.clone(),
            runtimes: daemon.runtimes.clone(),
            clock: self.clock,
        };
        Ok(Orchestrator { daemon, ways, planner: self.planner, callbacks: Mutex::new(JoinSet::new()) })
    }
}

/// Agents work elsewhere, so a path must not depend on where we are.
fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    std::path::absolute(path)
        .ok()
        .and_then(|path| Utf8PathBuf::from_path_buf(path).ok())
        .unwrap_or_else(|| path.to_owned())
}

debug_by!(OrchestratorBuilder: options);
