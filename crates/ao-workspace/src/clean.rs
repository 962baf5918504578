//! Deletes the ignored files of a tree, and nothing else.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ao_ports::CleanedFiles;

use crate::error::TreeError;
use crate::own_tree::OwnTree;
use crate::{gate, size};
use ao_git::{Git, GitError};

/// A file in a tree's git directory with the paths that its set-up brought in, one per line, relative to the tree. They
/// are ignored, but the work needs them.
pub(crate) const INCLUDED: &str = "ao-included";

/// Deletes the ignored files, if no process works in the tree. Included files and links stay, and so does a repository
/// inside an ignored folder.
pub(crate) async fn clean(tree: &OwnTree) -> Result<CleanedFiles, TreeError> {
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
        let mut cleaner = IgnoredCleaner { keep, paths: 0 };
        for path in &ignored {
            cleaner.delete(path).map_err(TreeError::file("delete what git ignores in", &root))?;
        }
        let bytes = before.saturating_sub(size::freed(&ignored));
        Ok(CleanedFiles { bytes, paths: cleaner.paths })
    });
    cleaned.await.unwrap_or_else(|_| Err(TreeError::InUse { path: tree.path.clone() }))
}

/// Lists the ignored paths of a tree. Of a folder that is ignored as a whole only the folder.
pub(crate) async fn ignored(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    // Not `ls-files --directory`: it folds a folder with an ignored and an untracked file into one line.
    let args = ["status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all", "--no-renames"];
    let output = git.read(&args).await?;
    let paths = output.split('\0').filter_map(|entry| entry.strip_prefix("!! "));
    Ok(paths.map(|path| git.dir().join(path.trim_end_matches('/'))).collect())
}

/// Lists the tracked files. They can be inside an ignored folder.
async fn tracked(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    let output = git.read(&["ls-files", "-z"]).await?;
    Ok(output.split('\0').filter(|path| !path.is_empty()).map(|path| git.dir().join(path)).collect())
}

struct IgnoredCleaner {
    keep: HashSet<PathBuf>,
    paths: u64,
}

impl IgnoredCleaner {
    /// Deletes a path and everything below it. Returns true if it is gone.
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
            // Deletes a link, and never its target.
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
