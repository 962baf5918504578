//! Paths of clones, and the search for that of a session.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::{ProjectId, SessionId};
use ao_ports::TreeRef;

use crate::error::TreeError;
use crate::marker::TreeMarker;
use crate::worktree::paths::check_name;

/// Returns the folder for the clones of a project.
pub(super) fn folder(clones: &Path, project: &ProjectId) -> Result<PathBuf, TreeError> {
    let project = project.to_string();
    check_name(&project)?;
    Ok(clones.join(project))
}

/// Returns the path for a clone of this name.
pub(super) fn for_name(clones: &Path, project: &ProjectId, name: &str) -> Result<PathBuf, TreeError> {
    check_name(name)?;
    Ok(folder(clones, project)?.join(name))
}

/// Returns the path at which a clone is created before it is moved into place. No clone name begins with a dot.
pub(super) fn being_made(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".making-{session}"))
}

/// Returns the path at which a clone is judged for the last time, where no process expects it.
pub(super) fn being_removed(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".removing-{session}"))
}

/// Returns the path at which a clone is deleted. Only judged clones get this name, so anything under it may be deleted.
pub(super) fn being_deleted(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".deleting-{session}"))
}

/// Returns the path of a clone: the recorded one, or else the one with the session's marker.
pub(super) fn of(clones: &Path, tree: &TreeRef) -> Result<Option<PathBuf>, TreeError> {
    if let Some(recorded) = &tree.recorded {
        return Ok(Some(PathBuf::from(&recorded.path)));
    }
    for entry in fs::read_dir(folder(clones, &tree.project)?).into_iter().flatten().flatten() {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && TreeMarker::names(&entry.path().join(".git"), tree.session) {
            return Ok(Some(entry.path()));
        }
    }
    // An interrupted removal whose original path is unknown.
    let going = being_removed(&folder(clones, &tree.project)?, tree.session);
    Ok(TreeMarker::names(&going.join(".git"), tree.session).then_some(going))
}
