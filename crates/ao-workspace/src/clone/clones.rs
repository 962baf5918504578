//! The workspace adapter for clones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::setup::Origin;
use ao_core::workspace::{KeepReason, TreeFacts, reasons_against_discard, reasons_to_keep};
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    CapturedWorkspace, CleanedFiles, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome,
    RemoveOrder, TreeRef, WorkFound, Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};
use async_trait::async_trait;

use super::{create, judged, paths, remove};
use crate::error::TreeError;
use crate::gate::{self, processes};
use crate::git_workspaces::GitWorkspaces;
use crate::options::Options;
use crate::own_tree::{OwnTree, TreeKind};
use crate::repository::{Repository, same};
use crate::{capture, clean, rebase, rescue, size, whereabouts};
use ao_git::Git;

/// Creates, inspects and removes clones.
#[derive(Debug)]
pub struct Clones {
    shared: GitWorkspaces,
    folder: PathBuf,
}

impl Clones {
    /// Keeps clones in this folder, which belongs to `ao`, with a folder below it for each project.
    pub fn new(folder: impl AsRef<Path>, options: Options) -> Clones {
        Clones { shared: GitWorkspaces::new(options), folder: resolved(folder.as_ref()) }
    }

    async fn source(&self, repository: &str) -> Result<Arc<Repository>, TreeError> {
        self.shared.repository(Path::new(repository)).await
    }

    /// Finds a clone, with the repository it was made from.
    async fn found(&self, tree: &TreeRef) -> Result<Option<(Arc<Repository>, PathBuf)>, TreeError> {
        let source = self.source(&tree.repository).await?;
        Ok(paths::of(&self.folder, tree)?.map(|path| (source, path)))
    }

    async fn surveyed(
        &self,
        source: &Repository,
        tree: &TreeRef,
    ) -> Result<Option<WorkspaceSurvey>, TreeError> {
        let Some(path) = paths::of(&self.folder, tree)?.filter(|path| path.symlink_metadata().is_ok()) else {
            return Ok(None);
        };
        let process_inside = processes::any_inside(&path).await;
        let facts = judged::facts(source, &path, tree, process_inside).await;
        let ignored = clean::ignored(&Git::in_tree(&path, &source.settings)).await.unwrap_or_default();
        let whole = vec![path.clone()];
        let sizes = tokio::task::spawn_blocking(move || (size::freed(&whole), size::freed(&ignored)));
        let (bytes, ignored_bytes) = sizes.await.unwrap_or_default();
        Ok(Some(WorkspaceSurvey {
            session: Some(tree.session),
            path: path.display().to_string(),
            bytes,
            ignored_bytes,
            reasons: reasons_to_keep(&facts),
            reasons_against_discard: reasons_against_discard(&facts),
        }))
    }

    /// Lists entries among the clones of these projects that are none of the known ones.
    async fn strangers(
        &self,
        trees: &[TreeRef],
        known: &[WorkspaceSurvey],
    ) -> Result<Vec<WorkspaceSurvey>, TreeError> {
        let mut projects: Vec<_> = trees.iter().map(|tree| &tree.project).collect();
        projects.dedup();
        let mut strangers = vec![];
        for project in projects {
            let entries = fs::read_dir(paths::folder(&self.folder, project)?).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
                if known.iter().any(|known| same(Path::new(&known.path), &path)) {
                    continue;
                }
                let whole = vec![path.clone()];
                let size = tokio::task::spawn_blocking(move || size::freed(&whole));
                strangers.push(WorkspaceSurvey {
                    session: None,
                    bytes: size.await.unwrap_or_default(),
                    path: path.display().to_string(),
                    ignored_bytes: 0,
                    reasons: vec![KeepReason::NotOurs],
                    reasons_against_discard: vec![KeepReason::NotOurs],
                });
            }
        }
        Ok(strangers)
    }
}

/// Resolves links in a path, as the system reports the folders of processes. It need not exist yet.
fn resolved(folder: &Path) -> PathBuf {
    if let Ok(resolved) = folder.canonicalize() {
        return resolved;
    }
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    match (folder.parent(), folder.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => folder,
    }
}

#[async_trait]
impl Workspace for Clones {
    async fn create(
        &self,
        session: SessionId,
        _attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError> {
        let source = self.source(&plan.repository).await?;
        if let Origin::Tree { path } = &plan.origin {
            let why =
                "a session with a workspace of the kind `clone` has its own; choose the kind `worktree`";
            return Err(TreeError::NotAdoptable { path: path.into(), why: why.into() }.into());
        }
        let path = paths::for_name(&self.folder, &plan.project, &plan.name)?;
        let _here = self.shared.queues.turn(&path).await;
        remove::take_back(&self.folder, &plan.project, session, &path)?;
        Ok(create::create(&self.shared, &source, &path, session, plan).await?)
    }

    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError> {
        let source = self.source(&plan.repository).await?;
        let path = PathBuf::from(&plan.path);
        let _here = self.shared.queues.turn(&path).await;
        OwnTree::clone_of(&source, &path, session)?;
        self.shared.set_up(session, attempt, plan).await
    }

    async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        self.shared.end_programs(session, path).await
    }

    async fn whereabouts(&self, tree: &TreeRef) -> WorkspaceDrift {
        let (source, path) = match self.found(tree).await {
            Ok(Some(found)) => found,
            not => return whereabouts::nowhere(not.err()),
        };
        let kind = TreeKind::Clone { source: source.common_dir.clone() };
        whereabouts::look(&kind, &path, tree.session, &tree.branch, &source.settings).await
    }

    async fn capture(&self, tree: &TreeRef) -> Result<CapturedWorkspace, WorkspaceError> {
        let Some((source, path)) = self.found(tree).await? else {
            return Err(WorkspaceError::Failed("the workspace is gone".into()));
        };
        let own = OwnTree::clone_of(&source, &path, tree.session)?;
        Ok(capture::clone(&source, &own, tree.session, &self.shared.options).await?)
    }

    async fn rebase(&self, order: &RebaseOrder) -> Result<RebaseOutcome, WorkspaceError> {
        let Some((source, path)) = self.found(&order.tree).await? else {
            return Ok(RebaseOutcome::Moved);
        };
        let _here = self.shared.queues.turn(&path).await;
        let _turn = self.shared.queues.turn(&source.common_dir).await;
        let own = OwnTree::clone_of(&source, &path, order.tree.session)?;
        Ok(rebase::rebase(&source, &own, order).await?)
    }

    async fn survey(
        &self,
        repository: &str,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, WorkspaceError> {
        let source = self.source(repository).await?;
        let mut surveyed = vec![];
        for tree in trees {
            surveyed.extend(self.surveyed(&source, tree).await?);
        }
        surveyed.extend(self.strangers(trees, &surveyed).await?);
        Ok(surveyed)
    }

    async fn work(&self, tree: &TreeRef) -> Result<WorkFound, WorkspaceError> {
        let Some((source, path)) = self.found(tree).await? else { return Ok(WorkFound::default()) };
        match judged::subject(&source, &path, tree, None).await? {
            Some(subject) => Ok(gate::work(&subject).await.map_err(TreeError::from)?),
            None => Ok(WorkFound::default()),
        }
    }

    async fn clean(&self, tree: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        let Some((source, path)) = self.found(tree).await? else {
            return Ok(CleanedFiles { bytes: 0, paths: 0 });
        };
        let _here = self.shared.queues.turn(&path).await;
        Ok(clean::clean(&OwnTree::clone_of(&source, &path, tree.session)?).await?)
    }

    async fn forget_rescues(&self, repository: &str, before: Timestamp) -> Result<u32, WorkspaceError> {
        let source = self.source(repository).await?;
        let _turn = self.shared.queues.turn(&source.common_dir).await;
        Ok(rescue::forget(&source, before).await?)
    }

    async fn inspect(&self, tree: &TreeRef) -> TreeFacts {
        let Ok(Some((source, path))) = self.found(tree).await else { return TreeFacts::default() };
        let process_inside = processes::any_inside(&path).await;
        judged::facts(&source, &path, tree, process_inside).await
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError> {
        let tree = &order.tree;
        let source = self.source(&tree.repository).await?;
        let place = paths::of(&self.folder, tree)?;
        let _here = self.shared.queues.turn(&place.clone().unwrap_or_else(|| self.folder.clone())).await;
        if let Some(path) = &place {
            remove::take_back(&self.folder, &tree.project, tree.session, path)?;
        }
        if !order.teardown.is_empty()
            && let Some(path) = place.filter(|path| path.exists())
            && order.reasons(&self.inspect(tree).await).is_empty()
        {
            self.shared.teardown(order, &path).await?;
        }
        Ok(remove::remove(&self.folder, &self.shared, &source, order).await?)
    }
}
