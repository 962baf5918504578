//! A tree that is verified to be ours, and the only way to change something in one.
//!
//! An agent can do anything in its folder: delete `.git`, put another one there, replace the folder by a link. Git
//! would then work on whatever it finds, and that may be the user's own checkout around the folder. So each time before
//! git may write there, the folder is checked to be still the one that we created.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::SessionId;

use crate::error::TreeError;
use crate::gate::processes;
use crate::marker::{CreationIntent, TreeMarker};
use crate::repository::{Repository, place_of, same};
use ao_git::{Git, Settings};

/// A tree of ours.
#[derive(Debug)]
pub(crate) struct OwnTree {
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) session: SessionId,
    kind: TreeKind,
    git: Git,
}

/// The relation of its git directory to it. Each has the repository's common git directory, where a creation in
/// progress is recorded.
#[derive(Debug, Clone)]
pub(crate) enum TreeKind {
    Worktree { common_dir: PathBuf },
    Clone { source: PathBuf },
}

impl TreeKind {
    pub(crate) fn worktree(repository: &Repository) -> TreeKind {
        TreeKind::Worktree { common_dir: repository.common_dir.clone() }
    }

    pub(crate) fn clone_of(source: &Repository) -> TreeKind {
        TreeKind::Clone { source: source.common_dir.clone() }
    }
}

impl OwnTree {
    /// A worktree of ours, complete or being created.
    pub(crate) fn worktree(
        repository: &Repository,
        path: &Path,
        session: SessionId,
    ) -> Result<OwnTree, TreeError> {
        OwnTree::new(TreeKind::worktree(repository), path, session, &repository.settings)
    }

    /// A clone of ours, complete or being created.
    pub(crate) fn clone_of(
        source: &Repository,
        path: &Path,
        session: SessionId,
    ) -> Result<OwnTree, TreeError> {
        OwnTree::new(TreeKind::clone_of(source), path, session, &source.settings)
    }

    pub(crate) fn new(
        kind: TreeKind,
        path: &Path,
        session: SessionId,
        settings: &Settings,
    ) -> Result<OwnTree, TreeError> {
        let git_dir = shown(&kind, path, session)?;
        let git = Git::in_tree(path, settings);
        Ok(OwnTree { path: path.to_owned(), git_dir, session, kind, git })
    }

    /// Returns true for a clone, which has its own refs and objects.
    pub(crate) fn is_clone(&self) -> bool {
        matches!(self.kind, TreeKind::Clone { .. })
    }

    /// Returns git for reading.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Returns git for writing, after checking that the tree is still ours.
    pub(crate) fn writer(&self) -> Result<Git, TreeError> {
        let git_dir = shown(&self.kind, &self.path, self.session)?;
        if git_dir != self.git_dir {
            return Err(self.strayed("its git directory is another one now"));
        }
        Ok(self.git.shown_to_be_ours())
    }

    fn strayed(&self, why: &'static str) -> TreeError {
        TreeError::Strayed { path: self.path.clone(), why }
    }
}

/// Time to wait for a git process that was left in a tree; after that, a later try finds it ended.
const LEFT_AT_WORK: Duration = Duration::from_secs(30);

/// Waits for a git process of ours that was left running in a tree or on its git directory. The caller holds the queue
/// of its path, and not that of the repository, which others wait for.
pub(crate) async fn wait_for_git(path: &Path, git_dir: Option<&Path>) -> Result<(), TreeError> {
    let mut folders = vec![path.to_owned()];
    folders.extend(git_dir.map(Path::to_owned));
    let pids = processes::git_ended(folders, LEFT_AT_WORK).await;
    if pids.is_empty() { Ok(()) } else { Err(TreeError::GitAtWork { path: path.to_owned(), pids }) }
}

/// Returns the git directory of a tree, if the tree is the session's.
fn shown(kind: &TreeKind, path: &Path, session: SessionId) -> Result<PathBuf, TreeError> {
    let strayed = |why| TreeError::Strayed { path: path.to_owned(), why };
    let git_dir = git_dir(kind, path).map_err(strayed)?;
    let common_dir = match kind {
        TreeKind::Worktree { common_dir } => common_dir,
        TreeKind::Clone { source } => source,
    };
    let marked = TreeMarker::read(&git_dir)?.is_some_and(|marker| marker.session == session);
    let being_made =
        || CreationIntent::read(common_dir, session).map(|it| it.is_some_and(|it| it.path == path));
    if marked || being_made()? { Ok(git_dir) } else { Err(strayed("it does not bear the session's mark")) }
}

/// Returns the git directory that belongs to a tree, or what is wrong with it.
pub(crate) fn git_dir(kind: &TreeKind, path: &Path) -> Result<PathBuf, &'static str> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err("its folder was replaced by something else"),
        Err(_) => return Err("its folder is gone"),
    }
    let dot_git = path.join(".git");
    let Ok(found) = fs::symlink_metadata(&dot_git) else { return Err("its `.git` is gone") };
    match kind {
        TreeKind::Clone { .. } if found.is_dir() => Ok(dot_git),
        TreeKind::Worktree { common_dir } if found.is_file() => {
            let text = fs::read_to_string(&dot_git).unwrap_or_default();
            let target = text.strip_prefix("gitdir: ").unwrap_or_default().trim_end();
            let git_dir = path.join(target);
            let among_worktrees =
                git_dir.parent().is_some_and(|folder| same(folder, &common_dir.join("worktrees")));
            if target.is_empty() || !among_worktrees {
                return Err("its `.git` leads to another repository");
            }
            match place_of(&git_dir) {
                Some(place) if same(&place, path) => Ok(git_dir),
                _ => Err("its `.git` leads to another worktree"),
            }
        }
        _ => Err("its `.git` was replaced by something else"),
    }
}
