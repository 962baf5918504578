//! Deleting what git ignores in a tree, and nothing else.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ao_ports::Cleaned;

use crate::error::TreeError;
use crate::own::OwnTree;
use crate::{gate, size};
use ao_git::{Git, GitError};

/// In a tree's git directory: the paths that its set-up brought in, one a line, relative to the tree. They are ignored,
/// and the work needs them all the same.
pub(crate) const INCLUDED: &str = "ao-included";

/// Deletes what git ignores, if no process works in the tree. Included files and links stay, and so does a repository
/// that somebody made in an ignored folder.
pub(crate) async fn clean(tree: &OwnTree) -> Result<Cleaned, TreeError> {
    if gate::processes::any_inside(&tree.path).await != Some(false) {
        return Err(TreeError::InUse { path: tree.path.clone() });
    }
    // Not a git call, but a change in a tree all the same.
    tree.writer()?;
    let ignored = ignored(tree.git()).await?;
    let included = fs::read_to_string(tree.git_dir.join(INCLUDED)).unwrap_or_default();
    let mut keep: HashSet<PathBuf> = tracked(tree.git()).await?.into_iter().collect();
    keep.extend(included.lines().filter(|line| !line.is_empty()).map(|line| tree.path.join(line)));
    let root = tree.path.clone();
    let cleaned = tokio::task::spawn_blocking(move || {
        let before = size::freed(&ignored);
        let mut cleaner = Cleaner { keep, paths: 0 };
        for path in &ignored {
            cleaner.delete(path).map_err(TreeError::file("delete what git ignores in", &root))?;
        }
        let bytes = before.saturating_sub(size::freed(&ignored));
        Ok(Cleaned { bytes, paths: cleaner.paths })
    });
    cleaned.await.unwrap_or_else(|_| Err(TreeError::InUse { path: tree.path.clone() }))
}

/// What git ignores in a tree. Of a folder that is ignored as a whole only the folder.
pub(crate) async fn ignored(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    // Not `ls-files --directory`: it folds a folder with an ignored and an untracked file into one line.
    let args = ["status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all", "--no-renames"];
    let told = git.read(&args).await?;
    let paths = told.split('\0').filter_map(|entry| entry.strip_prefix("!! "));
    Ok(paths.map(|path| git.dir().join(path.trim_end_matches('/'))).collect())
}

/// What git tracks. It can lie in a folder that is ignored.
async fn tracked(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    let told = git.read(&["ls-files", "-z"]).await?;
    Ok(told.split('\0').filter(|path| !path.is_empty()).map(|path| git.dir().join(path)).collect())
}

struct Cleaner {
    keep: HashSet<PathBuf>,
    paths: u64,
}

impl Cleaner {
    /// Deletes a path and what is below it. Returns whether it is gone.
    fn delete(&mut self, path: &Path) -> io::Result<bool> {
        if self.keep.contains(path) {
            return Ok(false);
        }
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(err) => return Err(err),
        };
        if !metadata.is_dir() {
            // Of a link, the link and never what it leads to.
            fs::remove_file(path)?;
            self.paths += 1;
            return Ok(true);
        }
        if path.join(".git").symlink_metadata().is_ok() {
            return Ok(false);
        }
        let mut empty = true;
        for entry in fs::read_dir(path)? {
            empty &= self.delete(&entry?.path())?;
        }
        if empty {
            fs::remove_dir(path)?;
            self.paths += 1;
        }
        Ok(empty)
    }
}
