//! Makes the forge and the tracker of a project from its configuration.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_config::catalog::PluginSlot;
use ao_config::shape::{CheckConfig, Plugin, PolicyConfig};
use ao_config::{Effective, Env};
use ao_core::session::Phase;
use ao_core::{ProjectId, State};
use ao_engine::Handle;
use ao_ports::{CheckSpec, Clock, LandingStrategy, Scm, Tracker};
use ao_scm::local::Witness;
use async_trait::async_trait;
use camino::Utf8PathBuf;

use super::masked::MaskedPort;
use super::{ForgeDeps, ProjectLooks};
use crate::config::KnownProject;
use crate::registry::ProjectDeps;

/// A session that ended so shortly ago may have changed something that is noticed only now.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// The time limit for the engine's answer about sessions at work.
const PATIENCE: Duration = Duration::from_secs(10);

/// The configuration of a project's forge and tracker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForgeConfig {
    scm: Plugin,
    tracker: Plugin,
    pub(crate) repository: Utf8PathBuf,
    /// The configured conditions of a merge.
    pub(crate) policy: Option<PolicyConfig>,
    pub(crate) default_branch: String,
    pub(crate) checks: Vec<CheckSpec>,
    pub(crate) strategy: LandingStrategy,
}

impl ForgeConfig {
    pub(crate) fn of(known: &KnownProject, env: &Env) -> ForgeConfig {
        let effective: Effective<'_> = known.effective();
        ForgeConfig {
            scm: known.scm(),
            tracker: effective.tracker.clone(),
            repository: effective.project.path.clone(),
            policy: effective.project.policy.clone(),
            default_branch: effective.project.default_branch.clone(),
            checks: effective.project.checks.iter().map(|check| spec(check, env)).collect(),
            strategy: known.loaded.config.reactions_of(effective.name).landing().strategy,
        }
    }
}

fn spec(check: &CheckConfig, env: &Env) -> CheckSpec {
    CheckSpec {
        name: check.name(),
        command: check.command.clone(),
        timeout: check.timeout.0,
        paths: check.paths.clone(),
        required: check.required,
        environment: check.env.core(env),
        retries: check.retries,
    }
}

impl ProjectLooks {
    pub(super) async fn make_scm(
        &self,
        project: &ProjectId,
        wanted: &ForgeConfig,
    ) -> Result<Arc<dyn Scm>, String> {
        let Some(make) = self.registry.scm(&wanted.scm.plugin) else {
            return Err(self.not_there(project, PluginSlot::Scm, "pull requests", &wanted.scm));
        };
        let scm: Arc<dyn Scm> = make(&self.deps_of(project, wanted, &wanted.scm)).await?;
        Ok(Arc::new(MaskedPort(scm)))
    }

    pub(super) async fn make_tracker(
        &self,
        project: &ProjectId,
        wanted: &ForgeConfig,
    ) -> Result<Arc<dyn Tracker>, String> {
        let Some(make) = self.registry.tracker(&wanted.tracker.plugin) else {
            return Err(self.not_there(project, PluginSlot::Tracker, "issues", &wanted.tracker));
        };
        let tracker: Arc<dyn Tracker> = make(&self.deps_of(project, wanted, &wanted.tracker)).await?;
        Ok(Arc::new(MaskedPort(tracker)))
    }

    fn deps_of(&self, project: &ProjectId, wanted: &ForgeConfig, plugin: &Plugin) -> ProjectDeps {
        let ForgeDeps { records, runner, queues, clock } = self.deps.clone();
        ProjectDeps {
            project: project.clone(),
            plugin: plugin.clone(),
            repository: wanted.repository.clone(),
            default_branch: wanted.default_branch.clone(),
            checks: wanted.checks.clone(),
            strategy: wanted.strategy,
            witness: Arc::new(AtWork {
                project: project.clone(),
                handle: self.handle.clone(),
                clock: clock.clone(),
            }),
            records,
            runner,
            queues,
            clock,
        }
    }

    fn not_there(&self, project: &ProjectId, slot: PluginSlot, what: &str, plugin: &Plugin) -> String {
        let catalog = self.registry.catalog();
        let why = catalog.not_available(slot, &plugin.plugin);
        match catalog.available(slot).first() {
            Some(other) => {
                format!("{why}; with `{slot}: {other}` the project `{project}` has {what} of its own")
            }
            None => why,
        }
    }
}

/// Finds the sessions at work in a project, as the engine knows them.
struct AtWork {
    project: ProjectId,
    handle: Handle,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Witness for AtWork {
    async fn at_work(&self) -> Vec<String> {
        let (project, now) = (self.project.clone(), self.clock.now());
        let names = self.handle.view(move |state: &State| {
            let of_project = state.sessions.values().filter(|session| session.spec.project == project);
            let at_work = of_project.filter(|session| match &session.phase {
                Phase::Queued { .. } => false,
                Phase::Ended { at, .. } => *at + LATELY >= now,
                _ => true,
            });
            at_work.map(|session| session.spec.name.clone()).collect::<Vec<_>>()
        });
        match tokio::time::timeout(PATIENCE, names).await {
            Ok(Ok(names)) => names,
            // Without an answer, a session may be at work.
            _ => vec!["unknown".to_owned()],
        }
    }
}

impl fmt::Debug for AtWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtWork").field("project", &self.project).finish_non_exhaustive()
    }
}
