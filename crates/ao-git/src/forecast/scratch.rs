//! A folder for the objects that a forecast creates, so that the repository gets none of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Git, GitError};

/// Objects in one of its 256 folders from which on all are deleted; they can be created again.
const CROWDED: usize = 200;
/// Total bytes from which on all are deleted.
const LARGE: u64 = 1 << 30;

/// A folder of objects that git reads together with those of a repository.
#[derive(Debug, Clone)]
pub struct Scratch {
    objects: PathBuf,
    /// The repository's objects, which are only read.
    repository: PathBuf,
}

/// The reason why the folder could not be created.
#[derive(Debug, thiserror::Error)]
#[error("the folder `{}` for forecasts could not be made", .dir.display())]
pub struct ScratchError {
    dir: PathBuf,
    #[source]
    err: io::Error,
}

impl Scratch {
    /// Opens `dir`, which no other program uses, for the repository with this common git directory.
    pub fn open(dir: &Path, common_dir: &Path) -> Result<Scratch, ScratchError> {
        let objects = dir.join("objects");
        let made = || {
            fs::create_dir_all(objects.join("info"))?;
            fs::create_dir_all(objects.join("pack"))
        };
        made().map_err(|err| ScratchError { dir: dir.to_owned(), err })?;
        Ok(Scratch { objects, repository: common_dir.join("objects") })
    }

    /// Deletes everything if it has become too much. Returns true if it did. No process may be using it.
    pub fn make_room(dir: &Path) -> Result<bool, ScratchError> {
        Scratch::make_room_within(dir, LARGE)
    }

    fn make_room_within(dir: &Path, bytes: u64) -> Result<bool, ScratchError> {
        let objects = dir.join("objects");
        let crowded = fs::read_dir(objects.join("17")).map_or(0, Iterator::count) > CROWDED;
        if !crowded && size(&objects) <= bytes {
            return Ok(false);
        }
        let emptied = || {
            fs::remove_dir_all(&objects)?;
            fs::create_dir_all(objects.join("info"))?;
            fs::create_dir_all(objects.join("pack"))
        };
        emptied().map(|()| true).map_err(|err| ScratchError { dir: dir.to_owned(), err })
    }

    /// Adds the objects of a pack, which may be thin. `git` is that of the repository.
    pub async fn add(&self, git: &Git, pack: &[u8]) -> Result<(), GitError> {
        self.git(git).write_bytes(&["unpack-objects", "-q"], Some(pack)).await.map(drop)
    }

    /// Returns the same git, with its new objects written here. Missing objects are not fetched.
    pub fn git(&self, git: &Git) -> Git {
        git.with("GIT_OBJECT_DIRECTORY", &self.objects)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.repository))
            .with("GIT_NO_LAZY_FETCH", "1")
    }
}

/// Returns the size of all objects in a folder of git's depth.
fn size(objects: &Path) -> u64 {
    let within = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().collect::<Vec<_>>();
    let files = within(objects).into_iter().flat_map(|folder| within(&folder.path()));
    files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum()
}

/// Quotes a path for a list of paths.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.contains([':', '"', '\\', '\n']) {
        true => format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")),
        false => path.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_objects_that_are_large_make_room_as_well_as_many() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        Scratch::open(dir, Path::new("repository")).unwrap();
        let large = dir.join("objects/ab/cdef");
        fs::create_dir_all(large.parent().unwrap()).unwrap();
        fs::write(&large, vec![0; 4096]).unwrap();
        assert!(!Scratch::make_room_within(dir, 4096).unwrap());
        assert!(large.exists());
        assert!(Scratch::make_room_within(dir, 4095).unwrap());
        assert!(!large.exists() && dir.join("objects/info").is_dir());
    }
}
