//! What was put into a workspace, written down in its git directory, where no agent looks.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ProvisionError;
// The paths alone, one a line, for whoever cleans a workspace.
use crate::clean::INCLUDED as PATHS;

const STAMPS: &str = "ao-included.json";

/// Each path that we have put somewhere, with what it looked like then.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Record {
    /// Without a stamp it was about to be written, and whatever is there is ours, whole or not.
    pub(super) paths: BTreeMap<String, Option<Stamp>>,
}

/// By this a file is known to be as it was, as git knows it by its index: who changes it changes one of these. Not a hash:
/// to read everything again would be slow with large files, and a hash of a short secret tells the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanos: i64,
}

impl From<&Metadata> for Stamp {
    fn from(file: &Metadata) -> Stamp {
        Stamp { inode: file.ino(), size: file.size(), seconds: file.mtime(), nanos: file.mtime_nsec() }
    }
}

impl Record {
    pub(super) fn read(git_dir: &Path) -> Result<Record, ProvisionError> {
        let path = git_dir.join(STAMPS);
        let failed = || ProvisionError::file("read", &path);
        match fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|err| failed()(err.into())),
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(Record::default()),
            Err(err) => Err(failed()(err)),
        }
    }

    pub(super) fn write(&self, git_dir: &Path) -> Result<(), ProvisionError> {
        let lines: String = self.paths.keys().map(|path| format!("{path}\n")).collect();
        let json = serde_json::to_vec(self).map_err(io::Error::from);
        let json = json.map_err(ProvisionError::file("write", git_dir.join(STAMPS)))?;
        // The lines first: a path too many is not cleaned away, a path too few would be.
        for (name, bytes) in [(PATHS, lines.as_bytes()), (STAMPS, &json)] {
            replace(&git_dir.join(name), bytes)?;
        }
        Ok(())
    }

    /// Whether what is there is what we have put there.
    pub(super) fn is_ours(&self, path: &str, there: &Metadata) -> bool {
        self.paths.get(path).is_some_and(|stamp| stamp.is_none_or(|stamp| stamp == Stamp::from(there)))
    }
}

/// Writes a file of ours whole, or leaves it as it was.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ProvisionError> {
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(ProvisionError::file("write", path))
}
