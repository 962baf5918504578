//! Where worktrees are put, and where one of a session is.

use std::fs;
use std::path::{Path, PathBuf};

use ao_ports::RemoveOrder;

use crate::error::TreeError;
use crate::marker::{Intent, Marker};
use crate::repository::{Repository, place_of};

/// Where worktrees are put, in the repository's own folder.
pub(crate) const FOLDER: &str = ".worktrees";

/// The place for a worktree of this name.
pub(super) fn for_name(repository: &Repository, name: &str) -> Result<PathBuf, TreeError> {
    check_name(name)?;
    let folder = repository.root.join(FOLDER);
    // A link could lead out of the repository, and into somebody else's folder.
    if fs::symlink_metadata(&folder).is_ok_and(|folder| !folder.is_dir()) {
        return Err(TreeError::NotOurs { path: folder });
    }
    Ok(folder.join(name))
}

/// Whether a name can be that of a folder of ours and nothing else.
pub(crate) fn check_name(name: &str) -> Result<(), TreeError> {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if name.is_empty() || name.starts_with(['.', '-']) || name.contains(odd) {
        return Err(TreeError::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// The place that is to be removed: the one we know of, or else what bears the session's marker or intent.
pub(super) fn of(repository: &Repository, order: &RemoveOrder) -> Result<Option<PathBuf>, TreeError> {
    if let Some(tree) = &order.tree {
        return Ok(Some(PathBuf::from(&tree.path)));
    }
    for git_dir in repository.git_dirs() {
        if Marker::names(&git_dir, order.session)
            && let Some(place) = place_of(&git_dir)
        {
            return Ok(Some(place));
        }
    }
    Ok(Intent::read(&repository.common_dir, order.session)?.map(|intent| intent.path))
}

/// The folder of the repository around a worktree, by where worktrees are put; it tells also if the worktree is gone.
pub(super) fn repository_around(worktree: &Path) -> Option<&Path> {
    let folder = worktree.parent().filter(|folder| folder.file_name().is_some_and(|name| name == FOLDER))?;
    folder.parent().filter(|root| root.exists())
}

pub(super) fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
