//! The files by which we recognise our own trees.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use ao_core::SessionId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::TreeError;

/// Marks a complete worktree of ours, in its git directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeMarker {
    pub(crate) session: SessionId,
    /// The commit it started from, so that a repeated creation returns the same as the first.
    pub(crate) base: String,
    /// The branch that its work targets, to check whether that contains the work.
    #[serde(default)]
    pub(crate) base_branch: String,
    /// It was created for an embedding program, which lends it to a session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lent: bool,
    /// Its files are not writable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) read_only: bool,
}

/// Marks a worktree that someone else created and a session of ours uses, in its git directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AdoptedMarker {
    pub(crate) session: SessionId,
    pub(crate) base: String,
}

/// Marks a worktree that is being created, in the repository's git directory. Written only once its path is known to be
/// free, so that a tree found there later without a marker is known to be ours and unfinished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CreationIntent {
    pub(crate) path: PathBuf,
    pub(crate) branch: String,
    /// True if the branch is created along with it, and so may be removed along with it.
    pub(crate) new_branch: bool,
    pub(crate) base: String,
    #[serde(default)]
    pub(crate) base_branch: String,
    /// The last state of an earlier tree, if that was more than a commit: its files are put over those of the branch.
    #[serde(default)]
    pub(crate) snapshot: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) read_only: bool,
}

impl TreeMarker {
    pub(crate) fn read(git_dir: &Path) -> Result<Option<TreeMarker>, TreeError> {
        read(&marker_path(git_dir))
    }

    pub(crate) fn write(&self, git_dir: &Path) -> Result<(), TreeError> {
        write(&marker_path(git_dir), self)
    }

    /// Returns true if the marker names this session, for searches through many. An unreadable one names no session,
    /// and must not hide the others.
    pub(crate) fn names(git_dir: &Path, session: SessionId) -> bool {
        match TreeMarker::read(git_dir) {
            Ok(marker) => marker.is_some_and(|marker| marker.session == session),
            Err(err) => {
                let path = git_dir.display();
                tracing::warn!(%path, %err, "a tree's marker cannot be read, so it is passed over");
                false
            }
        }
    }
}

impl AdoptedMarker {
    pub(crate) fn read(git_dir: &Path) -> Result<Option<AdoptedMarker>, TreeError> {
        read(&git_dir.join(ADOPTED))
    }

    pub(crate) fn write(&self, git_dir: &Path) -> Result<(), TreeError> {
        write(&git_dir.join(ADOPTED), self)
    }

    pub(crate) fn clear(git_dir: &Path) -> Result<(), TreeError> {
        remove(git_dir.join(ADOPTED))
    }
}

impl CreationIntent {
    pub(crate) fn read(common_dir: &Path, session: SessionId) -> Result<Option<CreationIntent>, TreeError> {
        read(&intent_path(common_dir, session))
    }

    pub(crate) fn write(&self, common_dir: &Path, session: SessionId) -> Result<(), TreeError> {
        write(&intent_path(common_dir, session), self)
    }

    pub(crate) fn clear(common_dir: &Path, session: SessionId) -> Result<(), TreeError> {
        remove(intent_path(common_dir, session))
    }
}

const ADOPTED: &str = "ao-adopted";

fn marker_path(git_dir: &Path) -> PathBuf {
    git_dir.join("ao-session")
}

fn intent_path(common_dir: &Path, session: SessionId) -> PathBuf {
    common_dir.join("ao").join("making").join(session.to_string())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, TreeError> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|err| TreeError::file("read", path)(io::Error::new(ErrorKind::InvalidData, err))),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(TreeError::file("read", path)(err)),
    }
}

/// Writes a file atomically, even if the process or the machine dies: with a truncated marker, our own worktree would
/// not look like ours.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), TreeError> {
    let failed = || TreeError::file("write", path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed())?;
    }
    let json = serde_json::to_vec(value).map_err(|err| failed()(err.into()))?;
    let partial = path.with_extension("partial");
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(&json)?;
        // Without this, the new name could reach the disk before the content.
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&partial, path)).map_err(failed())
}

fn remove(path: PathBuf) -> Result<(), TreeError> {
    match fs::remove_file(&path) {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(TreeError::file("remove", path)(err)),
        _ => Ok(()),
    }
}
