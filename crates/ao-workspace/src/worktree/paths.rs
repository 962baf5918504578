//! Paths of worktrees, and the search for that of a session.

use std::fs;
use std::path::{Path, PathBuf};

use ao_ports::TreeRef;

use crate::error::TreeError;
use crate::marker::{CreationIntent, TreeMarker};
use crate::repository::{Repository, place_of};

/// The folder of all worktrees, inside the repository's own folder.
pub(crate) const FOLDER: &str = ".worktrees";

/// Returns the path for a worktree of this name.
pub(super) fn for_name(repository: &Repository, name: &str) -> Result<PathBuf, TreeError> {
    check_name(name)?;
    let folder = repository.root.join(FOLDER);
    // A link could lead out of the repository, and into a foreign folder.
    if fs::symlink_metadata(&folder).is_ok_and(|folder| !folder.is_dir()) {
        return Err(TreeError::NotOurs { path: folder });
    }
    Ok(folder.join(name))
}

/// Checks that a name can only be that of a folder of ours.
pub(crate) fn check_name(name: &str) -> Result<(), TreeError> {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if name.is_empty() || name.starts_with(['.', '-']) || name.contains(odd) {
        return Err(TreeError::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// Returns the path of a worktree: the recorded one, or else the one with the session's marker or intent.
pub(super) fn of(repository: &Repository, tree: &TreeRef) -> Result<Option<PathBuf>, TreeError> {
    if let Some(recorded) = &tree.recorded {
        return Ok(Some(PathBuf::from(&recorded.path)));
    }
    for git_dir in repository.git_dirs() {
        if TreeMarker::names(&git_dir, tree.session)
            && let Some(place) = place_of(&git_dir)
        {
            return Ok(Some(place));
        }
    }
    Ok(CreationIntent::read(&repository.common_dir, tree.session)?.map(|intent| intent.path))
}

/// Returns the folder of the repository around a worktree, even if the worktree is gone.
pub(super) fn repository_around(worktree: &Path) -> Option<&Path> {
    let folder = worktree.parent().filter(|folder| folder.file_name().is_some_and(|name| name == FOLDER))?;
    folder.parent().filter(|root| root.exists())
}

pub(super) fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
