//! The layout of clones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_core::workspace::KeepReason;
use ao_git::Git;
use ao_ports::{CreatedWorkspace, RemovalOutcome, RemoveOrder, TreeRef, WorkspaceError, WorkspaceSurvey};
use async_trait::async_trait;

use super::{create, paths, remove};
use crate::error::TreeError;
use crate::git_workspaces::{GitTrees, GitWorkspaces, TreeLayout, facts};
use crate::options::Options;
use crate::own_tree::TreeKind;
use crate::repository::{Repository, same};
use crate::{clean, judged, size};

/// Creates, inspects and removes clones.
pub type Clones = GitTrees<CloneLayout>;

/// Clones are in a folder that belongs to `ao`.
#[derive(Debug)]
pub struct CloneLayout {
    folder: PathBuf,
}

impl Clones {
    /// Keeps clones in this folder, which belongs to `ao`, with a folder below it for each project.
    pub fn new(folder: impl AsRef<Path>, options: Options) -> Clones {
        let layout = CloneLayout { folder: resolved(folder.as_ref()) };
        Clones { shared: GitWorkspaces::new(options), layout }
    }
}

impl CloneLayout {
    async fn surveyed(
        &self,
        source: &Repository,
        tree: &TreeRef,
    ) -> Result<Option<WorkspaceSurvey>, TreeError> {
        let Some(path) = paths::of(&self.folder, tree)?.filter(|path| path.symlink_metadata().is_ok()) else {
            return Ok(None);
        };
        let facts = facts::<Self>(source, &path, tree).await;
        let ignored = clean::ignored(&Git::in_tree(&path, &source.settings)).await.unwrap_or_default();
        let whole = vec![path.clone()];
        let sizes = tokio::task::spawn_blocking(move || (size::freed(&whole), size::freed(&ignored)));
        Ok(Some(judged::surveyed(tree, &path, sizes.await.unwrap_or_default(), &facts)))
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
                let sizes = (size.await.unwrap_or_default(), 0);
                strangers.push(judged::stranger(&path, sizes, KeepReason::NotOurs));
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
impl TreeLayout for CloneLayout {
    fn kind(source: &Repository) -> TreeKind {
        TreeKind::clone_of(source)
    }

    async fn find(
        &self,
        shared: &GitWorkspaces,
        tree: &TreeRef,
    ) -> Result<Option<(Arc<Repository>, PathBuf)>, TreeError> {
        let source = shared.repository(Path::new(&tree.repository)).await?;
        Ok(paths::of(&self.folder, tree)?.map(|path| (source, path)))
    }

    async fn create(
        &self,
        shared: &GitWorkspaces,
        source: &Repository,
        session: SessionId,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, TreeError> {
        if let Origin::Tree { path } = &plan.origin {
            let why =
                "a session with a workspace of the kind `clone` has its own; choose the kind `worktree`";
            return Err(TreeError::NotAdoptable { path: path.into(), why: why.into() });
        }
        let path = paths::for_name(&self.folder, &plan.project, &plan.name)?;
        let _here = shared.queues.turn(&path).await;
        remove::take_back(&self.folder, &plan.project, session, &path)?;
        create::create(shared, source, &path, session, plan).await
    }

    async fn survey(
        &self,
        source: &Repository,
        trees: &[TreeRef],
    ) -> Result<Vec<WorkspaceSurvey>, TreeError> {
        let mut surveyed = vec![];
        for tree in trees {
            surveyed.extend(self.surveyed(source, tree).await?);
        }
        surveyed.extend(self.strangers(trees, &surveyed).await?);
        Ok(surveyed)
    }

    async fn remove(
        &self,
        shared: &GitWorkspaces,
        order: &RemoveOrder,
    ) -> Result<RemovalOutcome, WorkspaceError> {
        let tree = &order.tree;
        let source = shared.repository(Path::new(&tree.repository)).await?;
        let place = paths::of(&self.folder, tree)?;
        let _here = shared.queues.turn(place.as_ref().unwrap_or(&self.folder)).await;
        if let Some(path) = &place {
            remove::take_back(&self.folder, &tree.project, tree.session, path)?;
        }
        shared.teardown::<Self>(&source, place, order).await?;
        Ok(remove::remove(&self.folder, shared, &source, order).await?)
    }
}
