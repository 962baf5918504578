//! Makes the forge and the tracker of a project from its configuration.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_config::catalog::{PluginCatalog, PluginSlot};
use ao_config::shape::{CheckConfig, PolicyConfig};
use ao_config::{Effective, Env};
use ao_core::session::Phase;
use ao_core::{ProjectId, State};
use ao_engine::Handle;
use ao_ports::{CheckSpec, Clock, LandingStrategy, Scm, Tracker};
use ao_scm::local::{self, LocalScm, Witness};
use ao_tracker::{Keep, LocalTracker, Options as TrackerOptions};
use async_trait::async_trait;
use camino::Utf8PathBuf;

use super::ForgeDeps;
use super::masked::MaskedPort;
use crate::config::KnownProject;
use crate::registry;

/// A session that ended so shortly ago may have changed something that is noticed only now.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// The time limit for the engine's answer about sessions at work.
const PATIENCE: Duration = Duration::from_secs(10);

/// The configuration of a project's forge and tracker.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgeConfig {
    scm: String,
    tracker: String,
    /// True if issues are files of the repository.
    files: bool,
    pub(crate) repository: Utf8PathBuf,
    /// The configured conditions of a merge.
    pub(crate) policy: Option<PolicyConfig>,
    pub(crate) default_branch: String,
    pub(crate) checks: Vec<CheckSpec>,
    pub(crate) strategy: LandingStrategy,
}

impl ForgeConfig {
    pub fn of(known: &KnownProject, env: &Env) -> ForgeConfig {
        let effective: Effective<'_> = known.effective();
        let keep = effective.tracker.options.get("keep").and_then(|keep| keep.as_str());
        ForgeConfig {
            scm: effective.scm.plugin.clone(),
            tracker: effective.tracker.plugin.clone(),
            files: keep == Some("files"),
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

pub(super) async fn scm(
    project: &ProjectId,
    wanted: &ForgeConfig,
    deps: &ForgeDeps,
    handle: &Handle,
) -> Result<Arc<dyn Scm>, String> {
    if !registry::catalog().has(PluginSlot::Scm, &wanted.scm) {
        return Err(not_there(project, PluginSlot::Scm, "pull requests", &wanted.scm));
    }
    let options = local::Options {
        project: project.clone(),
        repository: wanted.repository.clone(),
        default_branch: wanted.default_branch.clone(),
        checks: wanted.checks.clone(),
        strategy: wanted.strategy,
        queues: deps.queues.clone(),
        settings: ao_git::Settings::default(),
        witness: Some(Arc::new(AtWork {
            project: project.clone(),
            handle: handle.clone(),
            clock: deps.clock.clone(),
        })),
    };
    let runner = Arc::new(deps.runner.clone());
    let scm = LocalScm::open(options, deps.records.clone(), runner, deps.clock.clone())
        .await
        .map_err(|err| err.to_string())?;
    let scm: Arc<dyn Scm> = Arc::new(scm);
    Ok(Arc::new(MaskedPort(scm)))
}

pub(super) fn tracker(
    project: &ProjectId,
    wanted: &ForgeConfig,
    deps: &ForgeDeps,
) -> Result<Arc<dyn Tracker>, String> {
    if !registry::catalog().has(PluginSlot::Tracker, &wanted.tracker) {
        return Err(not_there(project, PluginSlot::Tracker, "issues", &wanted.tracker));
    }
    let keep = match wanted.files {
        true => Keep::Files { root: wanted.repository.clone() },
        false => Keep::Store,
    };
    let options = TrackerOptions { project: project.clone(), keep };
    let tracker = LocalTracker::new(options, deps.records.clone(), deps.clock.clone());
    let tracker: Arc<dyn Tracker> = Arc::new(tracker);
    Ok(Arc::new(MaskedPort(tracker)))
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

fn not_there(project: &ProjectId, slot: PluginSlot, what: &str, name: &str) -> String {
    format!(
        "{}; with `{slot}: local` the project `{project}` has {what} of its own",
        PluginCatalog::not_available(slot, name)
    )
}
