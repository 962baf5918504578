//! Makes the forge and the tracker of a project from its configuration.

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

use super::{ForgeDeps, ProjectAdapters, ProjectLooks};
use crate::config::KnownProject;
use crate::registry::ProjectDeps;

/// A session that ended so shortly ago may have changed something that is noticed only now.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// The time limit for the engine's answer about sessions at work.
const PATIENCE: Duration = Duration::from_secs(10);

/// The configuration of a project's forge and tracker.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgeConfig {
    scm: Plugin,
    tracker: Plugin,
    pub repository: Utf8PathBuf,
    /// The configured conditions of a merge.
    pub policy: Option<PolicyConfig>,
    pub default_branch: String,
    pub checks: Vec<CheckSpec>,
    pub strategy: LandingStrategy,
}

impl ForgeConfig {
    pub fn of(known: &KnownProject, env: &Env) -> ForgeConfig {
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
        deps: &ForgeDeps,
    ) -> Result<Arc<dyn Scm>, String> {
        let made = self.registry.scm(&self.deps_of(project, wanted, deps, &wanted.scm));
        let missing = || self.not_there(project, PluginSlot::Scm, "pull requests", &wanted.scm);
        made.ok_or_else(missing)?.await
    }

    pub(super) async fn make_tracker(
        &self,
        project: &ProjectId,
        wanted: &ForgeConfig,
        deps: &ForgeDeps,
    ) -> Result<Arc<dyn Tracker>, String> {
        let made = self.registry.tracker(&self.deps_of(project, wanted, deps, &wanted.tracker));
        let missing = || self.not_there(project, PluginSlot::Tracker, "issues", &wanted.tracker);
        made.ok_or_else(missing)?.await
    }

    /// Returns true if the issues of a project are in no tracker of ours, so that we cannot close them.
    pub(crate) fn keeps_issues_elsewhere(&self, project: &ProjectId) -> bool {
        let catalog = self.registry.catalog();
        let has = |known: &ProjectAdapters| catalog.has(PluginSlot::Tracker, &known.wanted.tracker.plugin);
        !self.projects().get(project).is_some_and(has)
    }

    fn deps_of(
        &self,
        project: &ProjectId,
        wanted: &ForgeConfig,
        deps: &ForgeDeps,
        plugin: &Plugin,
    ) -> ProjectDeps {
        let (project, handle, clock) = (project.clone(), self.handle.clone(), self.clock.clone());
        ProjectDeps {
            project: project.clone(),
            plugin: plugin.clone(),
            config: wanted.clone(),
            shared: deps.clone(),
            witness: Arc::new(AtWork { project, handle, clock }),
        }
    }

    fn not_there(&self, project: &ProjectId, slot: PluginSlot, what: &str, plugin: &Plugin) -> String {
        let catalog = self.registry.catalog();
        let (why, there) = (catalog.not_available(slot, &plugin.plugin), catalog.available(slot));
        let other = there.first().copied().unwrap_or_default();
        format!("{why}; with `{slot}: {other}` the project `{project}` has {what} of its own")
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

debug_by!(AtWork: project);
