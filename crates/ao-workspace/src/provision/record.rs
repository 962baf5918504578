//! Records the included files of a workspace in its git directory, where no agent looks.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ProvisionError;
// The paths alone, one per line, for cleaning a workspace.
use crate::clean::INCLUDED as PATHS;

const STAMPS: &str = "ao-included.json";

/// Each path that we have put into the workspace, with its stamp.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct IncludeRecord {
    /// Without a stamp it was about to be written, and any file there is ours, complete or not.
    pub(super) paths: BTreeMap<String, Option<FileStamp>>,
}

/// Identifies the state of a file as git's index does: every change alters one of these. Not a hash: reading everything
/// again would be slow with large files, and a hash of a short secret reveals the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanos: i64,
}

impl From<&Metadata> for FileStamp {
    fn from(file: &Metadata) -> FileStamp {
        FileStamp { inode: file.ino(), size: file.size(), seconds: file.mtime(), nanos: file.mtime_nsec() }
    }
}

impl IncludeRecord {
    pub(super) fn read(git_dir: &Path) -> Result<IncludeRecord, ProvisionError> {
        let path = git_dir.join(STAMPS);
        let failed = || ProvisionError::file("read", &path);
        match fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|err| failed()(err.into())),
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(IncludeRecord::default()),
            Err(err) => Err(failed()(err)),
        }
    }

    pub(super) fn write(&self, git_dir: &Path) -> Result<(), ProvisionError> {
        let lines: String = self.paths.keys().map(|path| format!("{path}\n")).collect();
        let json = serde_json::to_vec(self).map_err(io::Error::from);
        let json = json.map_err(ProvisionError::file("write", git_dir.join(STAMPS)))?;
        // The lines first: an extra path is merely not cleaned, a missing one would be deleted.
        for (name, bytes) in [(PATHS, lines.as_bytes()), (STAMPS, &json)] {
            replace(&git_dir.join(name), bytes)?;
        }
        Ok(())
    }

    /// Returns true if a file is still the one that we have put there.
    pub(super) fn is_ours(&self, path: &str, there: &Metadata) -> bool {
        self.paths.get(path).is_some_and(|stamp| stamp.is_none_or(|stamp| stamp == FileStamp::from(there)))
    }
}

/// Writes a file of ours atomically.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ProvisionError> {
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(ProvisionError::file("write", path))
}
