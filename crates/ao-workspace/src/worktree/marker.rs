//! What we leave in the git directory to know our own again.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ao_core::SessionId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::WorktreeError;

/// In the git directory of a worktree that we have made, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    pub(super) session: SessionId,
    /// The commit it started from, so that a repeated creation says the same as the first.
    pub(super) base: String,
}

/// In the repository's git directory while a worktree is being made. Written only once its place is known to be free, so
/// that what is found there later without a marker is known to be ours and half made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    /// Whether the branch is made along with it, and so may go along with it.
    pub(super) new_branch: bool,
    pub(super) base: String,
}

impl Marker {
    pub(super) fn read(git_dir: &Path) -> Result<Option<Marker>, WorktreeError> {
        read(&marker_path(git_dir))
    }

    pub(super) fn write(&self, git_dir: &Path) -> Result<(), WorktreeError> {
        write(&marker_path(git_dir), self)
    }
}

impl Intent {
    pub(super) fn read(common_dir: &Path, session: SessionId) -> Result<Option<Intent>, WorktreeError> {
        read(&intent_path(common_dir, session))
    }

    pub(super) fn write(&self, common_dir: &Path, session: SessionId) -> Result<(), WorktreeError> {
        write(&intent_path(common_dir, session), self)
    }

    pub(super) fn clear(common_dir: &Path, session: SessionId) -> Result<(), WorktreeError> {
        let path = intent_path(common_dir, session);
        match fs::remove_file(&path) {
            Err(err) if err.kind() != ErrorKind::NotFound => Err(WorktreeError::file("remove", path)(err)),
            _ => Ok(()),
        }
    }
}

fn marker_path(git_dir: &Path) -> PathBuf {
    git_dir.join("ao-session")
}

fn intent_path(common_dir: &Path, session: SessionId) -> PathBuf {
    common_dir.join("ao").join("making").join(session.to_string())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorktreeError> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|err| WorktreeError::file("read", path)(io::Error::new(ErrorKind::InvalidData, err))),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(WorktreeError::file("read", path)(err)),
    }
}

/// Whole or not at all: a marker that is cut off would make our own worktree look like nobody's.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), WorktreeError> {
    let failed = || WorktreeError::file("write", path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed())?;
    }
    let json = serde_json::to_vec(value).map_err(|err| failed()(err.into()))?;
    let partial = path.with_extension("partial");
    fs::write(&partial, json).map_err(failed())?;
    fs::rename(&partial, path).map_err(failed())
}
