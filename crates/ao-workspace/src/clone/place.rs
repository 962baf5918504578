//! Where clones are put, and where one of a session is.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::{ProjectId, SessionId};
use ao_ports::RemoveOrder;

use crate::error::TreeError;
use crate::marker::Marker;
use crate::worktree::place::check_name;

/// The folder for the clones of a project.
pub(super) fn folder(clones: &Path, project: &ProjectId) -> Result<PathBuf, TreeError> {
    let project = project.to_string();
    check_name(&project)?;
    Ok(clones.join(project))
}

/// The place for a clone of this name.
pub(super) fn for_name(clones: &Path, project: &ProjectId, name: &str) -> Result<PathBuf, TreeError> {
    check_name(name)?;
    Ok(folder(clones, project)?.join(name))
}

/// Where a clone is made before it is moved into its place. No name of a clone begins with a dot.
pub(super) fn being_made(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".making-{session}"))
}

/// Where a clone is judged for the last time, out of everybody's way.
pub(super) fn being_removed(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".removing-{session}"))
}

/// Where a clone is deleted. Only what was judged gets this name, so whatever is found under it may go.
pub(super) fn being_deleted(folder: &Path, session: SessionId) -> PathBuf {
    folder.join(format!(".deleting-{session}"))
}

/// The place that an order is about: the one we know of, or else what bears the session's marker.
pub(super) fn of(clones: &Path, order: &RemoveOrder) -> Result<Option<PathBuf>, TreeError> {
    if let Some(tree) = &order.tree {
        return Ok(Some(PathBuf::from(&tree.path)));
    }
    for entry in fs::read_dir(folder(clones, &order.project)?).into_iter().flatten().flatten() {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && Marker::names(&entry.path().join(".git"), order.session) {
            return Ok(Some(entry.path()));
        }
    }
    // A removal that was cut off, of which nobody knows any more where it began.
    let going = being_removed(&folder(clones, &order.project)?, order.session);
    Ok(Marker::names(&going.join(".git"), order.session).then_some(going))
}
