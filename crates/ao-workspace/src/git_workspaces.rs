//! The workspace adapter for trees of git, and the state that both kinds of them share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    CapturedWorkspace, CleanedFiles, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome,
    RemoveOrder, TreeRef, WorkFound, Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};
use async_trait::async_trait;

use crate::checkout::CheckoutLimit;
use crate::error::TreeError;
use crate::fetch::RecentFetches;
use crate::gate::{self, processes};
use crate::options::Options;
use crate::own_tree::{OwnTree, TreeKind};
use crate::repository::{Repository, RepositoryCache};
use crate::{capture, clean, judged, provision, rebase, rescue, whereabouts};
use ao_git::Queues;

/// Creates, inspects and removes trees of one kind.
#[derive(Debug, Default)]
pub struct GitTrees<L> {
    pub(crate) shared: GitWorkspaces,
    pub(crate) layout: L,
}

/// The part in which the kinds of trees differ.
#[async_trait]
pub(crate) trait TreeLayout: Send + Sync {
    /// True if a commit can be checked out for reading only.
    const CAN_READ_ONLY: bool = false;

    fn kind(repository: &Repository) -> TreeKind;

    /// Marks a tree of this kind as lent.
    fn lend(_: &Repository, _: SessionId, _: &Path) -> Result<(), WorkspaceError> {
        Err(WorkspaceError::Unsupported("workspaces of this kind cannot be lent".into()))
    }

    /// Finds a tree, with its repository. It may be gone.
    async fn find(
        &self,
        shared: &GitWorkspaces,
        tree: &TreeRef,
    ) -> Result<Option<(Arc<Repository>, PathBuf)>, TreeError>;

    async fn create(
        &self,
        shared: &GitWorkspaces,
        repository: &Repository,
        session: SessionId,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, TreeError>;

    async fn survey(
        &self,
        repository: &Repository,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, TreeError>;

    async fn remove(
        &self,
        shared: &GitWorkspaces,
        order: &RemoveOrder,
    ) -> Result<RemovalOutcome, WorkspaceError>;
}

/// The queues, caches and limits that all trees of one adapter share.
#[derive(Debug, Default)]
pub(crate) struct GitWorkspaces {
    pub(crate) options: Options,
    pub(crate) queues: Arc<Queues>,
    pub(crate) fetches: RecentFetches,
    pub(crate) checkouts: CheckoutLimit,
    repositories: RepositoryCache,
}

impl GitWorkspaces {
    pub(crate) fn new(options: Options) -> GitWorkspaces {
        let repositories = RepositoryCache::new(Arc::new(options.settings.clone()));
        GitWorkspaces { queues: options.queues.clone(), options, repositories, ..GitWorkspaces::default() }
    }

    /// Sets a tree up, of either kind.
    pub(crate) async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::set_up(options, session, attempt, plan).await,
            None if plan.setup.is_empty() => Ok(()),
            None => Err(nowhere()),
        }
    }

    /// Ends the processes that the set-up of a tree has left running. Out of turn: a running set-up is not waited for.
    pub(crate) async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::end_programs(options, session, Path::new(path)).await,
            // Nothing was ever started.
            None => Ok(()),
        }
    }

    /// Runs the commands of a project before a tree is removed, if the gate has no reason to keep it.
    pub(crate) async fn teardown<L: TreeLayout>(
        &self,
        repository: &Repository,
        path: Option<PathBuf>,
        order: &RemoveOrder,
    ) -> Result<(), WorkspaceError> {
        let Some(path) = &path.filter(|path| !order.teardown.is_empty() && path.exists()) else {
            return Ok(());
        };
        if !order.reasons(&facts::<L>(repository, path, &order.tree).await).is_empty() {
            return Ok(());
        }
        match &self.options.provision {
            Some(options) => provision::teardown(options, order, path).await,
            None => Err(nowhere()),
        }
    }

    pub(crate) async fn repository(&self, folder: &Path) -> Result<Arc<Repository>, TreeError> {
        self.repositories.open(folder).await
    }
}

#[async_trait]
impl<L: TreeLayout> Workspace for GitTrees<L> {
    fn can_read_only(&self) -> bool {
        L::CAN_READ_ONLY
    }

    async fn lend(&self, repository: &str, maker: SessionId, path: &str) -> Result<(), WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        L::lend(&repository, maker, Path::new(path))
    }

    async fn create(
        &self,
        session: SessionId,
        _attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError> {
        let repository = self.shared.repository(Path::new(&plan.repository)).await?;
        Ok(self.layout.create(&self.shared, &repository, session, plan).await?)
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
        own::<L>(&repository, &path, session)?;
        self.shared.set_up(session, attempt, plan).await
    }

    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        self.shared.end_programs(session, path).await
    }

    async fn whereabouts(&self, tree: &TreeRef) -> WorkspaceDrift {
        let (repository, path) = match self.layout.find(&self.shared, tree).await {
            Ok(Some(found)) => found,
            not => return whereabouts::nowhere(not.err()),
        };
        let kind = L::kind(&repository);
        whereabouts::look(&kind, &path, tree.session, &tree.branch, &repository.settings).await
    }

    async fn capture(&self, tree: &TreeRef) -> Result<CapturedWorkspace, WorkspaceError> {
        let Some((repository, path)) = self.layout.find(&self.shared, tree).await? else {
            return Err(WorkspaceError::Failed("the workspace is gone".into()));
        };
        let own = own::<L>(&repository, &path, tree.session)?;
        Ok(capture::capture(&repository, &own, &self.shared.options).await?)
    }

    async fn rebase(&self, order: &RebaseOrder) -> Result<RebaseOutcome, WorkspaceError> {
        let Some((repository, path)) = self.layout.find(&self.shared, &order.tree).await? else {
            return Ok(RebaseOutcome::Moved);
        };
        let _here = self.shared.queues.turn(&path).await;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        let own = own::<L>(&repository, &path, order.tree.session)?;
        Ok(rebase::rebase(&repository, &own, order).await?)
    }

    async fn survey(
        &self,
        repository: &str,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        Ok(self.layout.survey(&repository, trees).await?)
    }

    async fn work(&self, tree: &TreeRef) -> Result<WorkFound, WorkspaceError> {
        let Some((repository, path)) = self.layout.find(&self.shared, tree).await? else {
            return Ok(WorkFound::default());
        };
        match judged::subject(&L::kind(&repository), &repository, &path, tree, None).await? {
            Some(subject) => Ok(gate::work(&subject).await.map_err(TreeError::from)?),
            None => Ok(WorkFound::default()),
        }
    }

    async fn clean(&self, tree: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        let Some((repository, path)) = self.layout.find(&self.shared, tree).await? else {
            return Ok(CleanedFiles { bytes: 0, paths: 0 });
        };
        let _here = self.shared.queues.turn(&path).await;
        Ok(clean::clean(&own::<L>(&repository, &path, tree.session)?).await?)
    }

    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError> {
        let repository = self.shared.repository(Path::new(repository)).await?;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        Ok(rescue::forget(&repository, before).await?)
    }

    async fn inspect(&self, tree: &TreeRef) -> TreeFacts {
        let Ok(Some((repository, path))) = self.layout.find(&self.shared, tree).await else {
            return TreeFacts::default();
        };
        facts::<L>(&repository, &path, tree).await
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError> {
        self.layout.remove(&self.shared, order).await
    }
}

fn own<L: TreeLayout>(repo: &Repository, path: &Path, session: SessionId) -> Result<OwnTree, TreeError> {
    OwnTree::new(L::kind(repo), path, session, &repo.settings)
}

/// Gathers the facts of a tree, and whether a process works in it.
pub(crate) async fn facts<L: TreeLayout>(repository: &Repository, path: &Path, tree: &TreeRef) -> TreeFacts {
    let process_inside = processes::any_inside(path).await;
    judged::facts(&L::kind(repository), repository, path, tree, process_inside).await
}

fn nowhere() -> WorkspaceError {
    WorkspaceError::Failed("it is not known where the logs of set-ups go".into())
}
