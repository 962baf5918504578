//! What we leave in the git directory to know our own again.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use ao_core::SessionId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::TreeError;

/// In the git directory of a worktree that we have made, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) session: SessionId,
    /// The commit it started from, so that a repeated creation says the same as the first.
    pub(crate) base: String,
    /// The branch that its work is meant for, so that it can be seen whether that has the work.
    #[serde(default)]
    pub(crate) base_branch: String,
    /// It was made for whoever embeds us, who lends it to a session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lent: bool,
    /// Its files are closed to writing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) read_only: bool,
}

/// In the git directory of a worktree that somebody else made and a session of ours uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Adopted {
    pub(crate) session: SessionId,
    pub(crate) base: String,
}

/// In the repository's git directory while a worktree is being made. Written only once its place is known to be free, so
/// that what is found there later without a marker is known to be ours and half made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) path: PathBuf,
    pub(crate) branch: String,
    /// Whether the branch is made along with it, and so may go along with it.
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

impl Marker {
    pub(crate) fn read(git_dir: &Path) -> Result<Option<Marker>, TreeError> {
        read(&marker_path(git_dir))
    }

    pub(crate) fn write(&self, git_dir: &Path) -> Result<(), TreeError> {
        write(&marker_path(git_dir), self)
    }

    /// Whether a session is named here, for whoever looks through many. One that cannot be read names nobody, and must
    /// not hide the others.
    pub(crate) fn names(git_dir: &Path, session: SessionId) -> bool {
        match Marker::read(git_dir) {
            Ok(marker) => marker.is_some_and(|marker| marker.session == session),
            Err(err) => {
                let path = git_dir.display();
                tracing::warn!(%path, %err, "a tree's marker cannot be read, so it is passed over");
                false
            }
        }
    }
}

impl Adopted {
    pub(crate) fn read(git_dir: &Path) -> Result<Option<Adopted>, TreeError> {
        read(&git_dir.join(ADOPTED))
    }

    pub(crate) fn write(&self, git_dir: &Path) -> Result<(), TreeError> {
        write(&git_dir.join(ADOPTED), self)
    }

    pub(crate) fn clear(git_dir: &Path) -> Result<(), TreeError> {
        remove(git_dir.join(ADOPTED))
    }
}

impl Intent {
    pub(crate) fn read(common_dir: &Path, session: SessionId) -> Result<Option<Intent>, TreeError> {
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

/// Whole or not at all, whatever ends us or the machine: a marker that is cut off would make our own worktree look like
/// nobody's.
fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), TreeError> {
    let failed = || TreeError::file("write", path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed())?;
    }
    let json = serde_json::to_vec(value).map_err(|err| failed()(err.into()))?;
    let partial = path.with_extension("partial");
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(&json)?;
        // Without this, the new name could reach the disk before what it names.
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
