//! The layout of worktrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_ports::{CreatedWorkspace, RemovalOutcome, RemoveOrder, TreeRef, WorkspaceError, WorkspaceSurvey};
use async_trait::async_trait;

use super::{adopt, create, paths, remove, survey};
use crate::error::TreeError;
use crate::git_workspaces::{GitTrees, GitWorkspaces, TreeLayout};
use crate::options::Options;
use crate::own_tree::TreeKind;
use crate::repository::Repository;

/// Creates, inspects and removes worktrees.
pub type Worktrees = GitTrees<WorktreeLayout>;

/// Worktrees are in a folder of their repository.
#[derive(Debug, Default)]
pub struct WorktreeLayout;

impl Worktrees {
    pub fn new() -> Worktrees {
        Worktrees::default()
    }

    pub fn with(options: Options) -> Worktrees {
        Worktrees { shared: GitWorkspaces::new(options), layout: WorktreeLayout }
    }
}

/// Opens the repository that a worktree is, or was, in: the project may have moved since.
async fn repository_of(shared: &GitWorkspaces, tree: &TreeRef) -> Result<Arc<Repository>, TreeError> {
    let by_place =
        tree.recorded.as_ref().and_then(|recorded| paths::repository_around(Path::new(&recorded.path)));
    shared.repository(by_place.unwrap_or(Path::new(&tree.repository))).await
}

#[async_trait]
impl TreeLayout for WorktreeLayout {
    const CAN_READ_ONLY: bool = true;

    fn kind(repository: &Repository) -> TreeKind {
        TreeKind::worktree(repository)
    }

    fn lend(repository: &Repository, maker: SessionId, path: &Path) -> Result<(), WorkspaceError> {
        Ok(adopt::lend(repository, maker, path)?)
    }

    async fn find(
        &self,
        shared: &GitWorkspaces,
        tree: &TreeRef,
    ) -> Result<Option<(Arc<Repository>, PathBuf)>, TreeError> {
        let repository = repository_of(shared, tree).await?;
        Ok(paths::of(&repository, tree)?.map(|path| (repository, path)))
    }

    async fn create(
        &self,
        shared: &GitWorkspaces,
        repository: &Repository,
        session: SessionId,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, TreeError> {
        if let Origin::Tree { path } = &plan.origin {
            let _turn = shared.queues.turn(&repository.common_dir).await;
            return adopt::adopt(repository, session, path).await;
        }
        let path = paths::for_name(repository, &plan.name)?;
        let _here = shared.queues.turn(&path).await;
        create::create(shared, repository, &path, session, plan).await
    }

    async fn survey(
        &self,
        repository: &Repository,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, TreeError> {
        survey::survey(repository, trees).await
    }

    async fn remove(
        &self,
        shared: &GitWorkspaces,
        order: &RemoveOrder,
    ) -> Result<RemovalOutcome, WorkspaceError> {
        let repository = repository_of(shared, &order.tree).await?;
        let _here = shared.queues.turn(&remove::queue_of(&repository, &order.tree)).await;
        // Before the repository's turn, which others wait for; the gate sees its changes afterwards.
        shared.teardown::<Self>(&repository, paths::of(&repository, &order.tree)?, order).await?;
        Ok(remove::remove(shared, &repository, order).await?)
    }
}
