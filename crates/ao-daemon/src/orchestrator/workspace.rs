//! Workspaces that the embedding program makes and removes.

use std::time::Duration;

use ao_config::shape::Defaults;
use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::setup::Origin;
use ao_core::workspace::WorkspaceTree;
use ao_core::{Attempt, ProjectId, SessionId};
use ao_ports::{RemovalOutcome, RemoveOrder, TreeRef};
use camino::Utf8Path;

use super::{Orchestrator, OrchestratorError};

/// A workspace that is about to be made: a worktree of the project's repository, on a branch of its own.
#[derive(Debug)]
#[must_use = "nothing is made before `create`"]
pub struct NewWorkspace<'a> {
    orchestrator: &'a Orchestrator,
    project: String,
    name: String,
    branch: Option<String>,
}

/// A workspace of the embedding program, in which sessions can work, one at a time. It stays until it is removed.
#[derive(Debug, Clone)]
pub struct WorkspaceHandle {
    /// Under this number it is known to be ours.
    maker: SessionId,
    project: ProjectId,
    kind: String,
    repository: String,
    tree: WorkspaceTree,
    branch: String,
}

impl<'a> NewWorkspace<'a> {
    pub(super) fn new(orchestrator: &'a Orchestrator, project: &str, name: &str) -> NewWorkspace<'a> {
        NewWorkspace { orchestrator, project: project.to_owned(), name: name.to_owned(), branch: None }
    }

    /// Sets the branch; `agent/<name>` by default.
    pub fn branch(mut self, branch: &str) -> NewWorkspace<'a> {
        self.branch = Some(branch.to_owned());
        self
    }

    /// Makes the workspace and runs the project's set-up in it.
    pub async fn create(self) -> Result<WorkspaceHandle, OrchestratorError> {
        let project = self.orchestrator.project(&self.project).await?;
        let id = ProjectId::new(&self.project);
        let maker = SessionId(self.orchestrator.ways.clock.fresh());
        let branch = self.branch.unwrap_or_else(|| format!("agent/{}", self.name));
        let plan = WorkspacePlan {
            project: id.clone(),
            repository: project.config.path.clone(),
            kind: Defaults::default().workspace.plugin,
            name: self.name.clone(),
            branch: branch.clone(),
            base_branch: project.config.default_branch.clone(),
            origin: Origin::Base,
            rescue: None,
        };
        let workspaces = self.orchestrator.workspaces(&plan.kind)?;
        let made = workspaces.create(maker, Attempt(1), &plan).await?;
        if !project.config.setup.is_empty() {
            let set_up = SetUpPlan {
                project: id.clone(),
                repository: project.config.path.clone(),
                kind: plan.kind.clone(),
                name: plan.name,
                path: made.path.clone(),
                setup: project.config.setup.clone(),
                environment: project.config.environment.clone(),
                ports: Default::default(),
                runtime: String::new(),
            };
            workspaces.set_up(maker, Attempt(1), &set_up).await?;
        }
        workspaces.lend(&project.config.path, maker, &made.path).await?;
        let tree = WorkspaceTree { path: made.path, base: made.base };
        let repository = project.config.path.clone();
        Ok(WorkspaceHandle { maker, project: id, kind: plan.kind, repository, tree, branch })
    }
}

impl WorkspaceHandle {
    pub fn path(&self) -> &Utf8Path {
        Utf8Path::new(&self.tree.path)
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// Removes the workspace if nothing is lost by that, by the same gate as all others: no process in it, nothing
    /// uncommitted, every commit kept elsewhere. Otherwise it stays, and the reasons are returned. A session that
    /// works in it has to be stopped first.
    pub async fn remove(&self, orchestrator: &Orchestrator) -> Result<RemovalOutcome, OrchestratorError> {
        let path = self.tree.path.clone();
        let user = orchestrator
            .daemon
            .handle
            .view(move |state| {
                let mut live = state.live().filter(|session| session.workspace.path() == Some(&path));
                live.next().map(|session| session.spec.name.clone())
            })
            .await?;
        if let Some(user) = user {
            let why = format!("the session `{user}` works in `{}`; stop it first", self.tree.path);
            return Err(OrchestratorError::Failed(why));
        }
        let project = orchestrator.project(self.project.as_str()).await?;
        let tree = TreeRef {
            session: self.maker,
            project: self.project.clone(),
            repository: self.repository.clone(),
            recorded: Some(self.tree.clone()),
            branch: self.branch.clone(),
        };
        let lived_in = orchestrator.daemon.runtimes.live_in(&tree).await?;
        let order = RemoveOrder {
            tree,
            teardown: project.config.setup.teardown.clone(),
            environment: project.config.environment.clone(),
            timeout: project.config.setup.timeout.max(Duration::from_secs(1)),
            lived_in,
            discard: false,
        };
        Ok(orchestrator.workspaces(&self.kind)?.remove(&order).await?)
    }
}
