//! The workspace adapter for worktrees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::setup::Origin;
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    CapturedWorkspace, CleanedFiles, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome,
    RemoveOrder, TreeRef, WorkFound, Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};
use async_trait::async_trait;

use super::{adopt, create, judged, paths, remove, survey};
use crate::error::TreeError;
use crate::gate::{self, processes};
use crate::git_workspaces::GitWorkspaces;
use crate::options::Options;
use crate::own_tree::{OwnTree, TreeKind};
use crate::repository::Repository;
use crate::{capture, clean, rebase, rescue, whereabouts};

/// Creates, inspects and removes worktrees.
#[derive(Debug, Default)]
pub struct Worktrees {
    pub(super) shared: GitWorkspaces,
}

impl Worktrees {
    pub fn new() -> Worktrees {
        Worktrees::default()
    }

    pub fn with(options: Options) -> Worktrees {
        Worktrees { shared: GitWorkspaces::new(options) }
    }

    /// Opens the repository that a worktree is, or was, in: the project may have moved since.
    async fn repository_of(&self, tree: &TreeRef) -> Result<Arc<Repository>, TreeError> {
        let by_place =
            tree.recorded.as_ref().and_then(|recorded| paths::repository_around(Path::new(&recorded.path)));
        self.shared.repository(by_place.unwrap_or(Path::new(&tree.repository))).await
    }

    /// Finds a worktree.
    async fn found(&self, tree: &TreeRef) -> Result<Option<(Arc<Repository>, PathBuf)>, TreeError> {
        let repository = self.repository_of(tree).await?;
        Ok(paths::of(&repository, tree)?.map(|path| (repository, path)))
    }
}

#[async_trait]
impl Workspace for Worktrees {
    fn can_read_only(&self) -> bool {
        true
    }

    async fn lend(&self, repository: &str, maker: SessionId, path: &str) -> Result<(), WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        Ok(adopt::lend(&repository, maker, Path::new(path))?)
    }

    async fn create(
        &self,
        session: SessionId,
        _attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError> {
        let repository = self.shared.repository(Path::new(&plan.repository)).await?;
        if let Origin::Tree { path } = &plan.origin {
            let _turn = self.shared.queues.turn(&repository.common_dir).await;
            return Ok(adopt::adopt(&repository, session, path).await?);
        }
        let path = paths::for_name(&repository, &plan.name)?;
        let _here = self.shared.queues.turn(&path).await;
        Ok(create::create(&self.shared, &repository, &path, session, plan).await?)
    }

    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError> {
        let repository = self.shared.repository(Path::new(&plan.repository)).await?;
        let path = PathBuf::from(&plan.path);
        let _here = self.shared.queues.turn(&path).await;
        OwnTree::worktree(&repository, &path, session)?;
        self.shared.set_up(session, attempt, plan).await
    }

    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        self.shared.end_programs(session, path).await
    }

    async fn whereabouts(&self, tree: &TreeRef) -> WorkspaceDrift {
        let (repository, path) = match self.found(tree).await {
            Ok(Some(found)) => found,
            not => return whereabouts::nowhere(not.err()),
        };
        let kind = TreeKind::Worktree { common_dir: repository.common_dir.clone() };
        whereabouts::look(&kind, &path, tree.session, &tree.branch, &repository.settings).await
    }

    async fn capture(&self, tree: &TreeRef) -> Result<CapturedWorkspace, WorkspaceError> {
        let Some((repository, path)) = self.found(tree).await? else {
            return Err(WorkspaceError::Failed("the workspace is gone".into()));
        };
        let own = OwnTree::worktree(&repository, &path, tree.session)?;
        Ok(capture::worktree(&repository, &own, tree.session, &self.shared.options).await?)
    }

    async fn rebase(&self, order: &RebaseOrder) -> Result<RebaseOutcome, WorkspaceError> {
        let Some((repository, path)) = self.found(&order.tree).await? else {
            return Ok(RebaseOutcome::Moved);
        };
        let _here = self.shared.queues.turn(&path).await;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        let own = OwnTree::worktree(&repository, &path, order.tree.session)?;
        Ok(rebase::rebase(&repository, &own, order).await?)
    }

    async fn survey(
        &self,
        repository: &str,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        Ok(survey::survey(&repository, trees).await?)
    }

    async fn work(&self, tree: &TreeRef) -> Result<WorkFound, WorkspaceError> {
        let Some((repository, path)) = self.found(tree).await? else { return Ok(WorkFound::default()) };
        match judged::subject(&repository, &path, tree, None).await? {
            Some(subject) => Ok(gate::work(&subject).await.map_err(TreeError::from)?),
            None => Ok(WorkFound::default()),
        }
    }

    async fn clean(&self, tree: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        let Some((repository, path)) = self.found(tree).await? else {
            return Ok(CleanedFiles { bytes: 0, paths: 0 });
        };
        let _here = self.shared.queues.turn(&path).await;
        Ok(clean::clean(&OwnTree::worktree(&repository, &path, tree.session)?).await?)
    }

    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        Ok(rescue::forget(&repository, before).await?)
    }

    async fn inspect(&self, tree: &TreeRef) -> TreeFacts {
        let Ok(Some((repository, path))) = self.found(tree).await else { return TreeFacts::default() };
        let process_inside = processes::any_inside(&path).await;
        judged::facts(&repository, &path, tree, process_inside).await
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError> {
        let repository = self.repository_of(&order.tree).await?;
        let _here = self.shared.queues.turn(&remove::queue_of(&repository, &order.tree)).await;
        if !order.teardown.is_empty()
            && let Some(path) = paths::of(&repository, &order.tree)?.filter(|path| path.exists())
            && order.reasons(&self.inspect(&order.tree).await).is_empty()
        {
            // Before the repository's turn, which others wait for; the gate sees its changes afterwards.
            self.shared.teardown(order, &path).await?;
        }
        Ok(remove::remove(&self.shared, &repository, order).await?)
    }
}
