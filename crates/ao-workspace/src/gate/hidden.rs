//! Finds work that `git status` does not show: repositories in ignored folders, and files that git was told not to
//! check.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::facts::{StatusChanges, changes};
use crate::clean::INCLUDED;
use ao_git::{Git, GitError};

/// Returns true if an ignored path contains a repository. Submodules are examined elsewhere, and files that the set-up
/// has brought in are in the main checkout too.
pub(super) async fn repository(
    git: &Git,
    git_dir: &Path,
    changes: &StatusChanges,
    submodules: &[PathBuf],
) -> io::Result<bool> {
    if changes.ignored.is_empty() {
        return Ok(false);
    }
    let included = fs::read_to_string(git_dir.join(INCLUDED)).unwrap_or_default();
    let mut known: HashSet<PathBuf> = submodules.iter().cloned().collect();
    known.extend(included.lines().filter(|line| !line.is_empty()).map(|line| git.dir().join(line)));
    let ignored = changes.ignored.clone();
    let look = move || {
        for path in &ignored {
            if holds_repository(path, &known)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // Dependencies and build output are many files, and other tasks must not wait for the walk.
    tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
}

/// Searches a folder. Links are not followed: their targets stay.
fn holds_repository(path: &Path, known: &HashSet<PathBuf>) -> io::Result<bool> {
    if known.contains(path) || path.is_symlink() {
        return Ok(false);
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        // A file, or gone meanwhile.
        Err(err) if matches!(err.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => return Ok(false),
        Err(err) => return Err(err),
    };
    for entry in entries {
        let entry = entry?;
        let found = entry.file_name() == ".git"
            || entry.file_type()?.is_dir() && holds_repository(&entry.path(), known)?;
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a file differs that git was told to assume unchanged. Files that a sparse checkout leaves out do not
/// count.
pub(super) async fn changed(git: &Git, git_dir: &Path) -> Result<bool, GitError> {
    let (assumed, mut skipped) = passed_over(&git.read(&["ls-files", "-v", "-z"]).await?);
    if !skipped.is_empty() {
        let sparse = git.answer(&["config", "--type=bool", "core.sparseCheckout"]).await?;
        if sparse.as_deref() == Some("true") {
            skipped.retain(|path| git.dir().join(path).symlink_metadata().is_ok());
        }
    }
    if assumed.is_empty() && skipped.is_empty() {
        return Ok(false);
    }
    // In a copy of the index, git is told to check them again.
    let failed = |err| GitError::NotRun { command: "update-index".into(), dir: git.dir().to_owned(), err };
    let scratch = tempfile::tempdir().map_err(failed)?;
    let index = scratch.path().join("index");
    fs::copy(git_dir.join("index"), &index).map_err(failed)?;
    let again = git.with("GIT_INDEX_FILE", &index);
    for (flag, paths) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
        if !paths.is_empty() {
            again.read_with(&["update-index", flag, "-z", "--stdin"], &paths.join("\0")).await?;
        }
    }
    Ok(changes(&again).await?.uncommitted)
}

/// Returns the paths that git assumes unchanged, and those that it skips.
fn passed_over(output: &str) -> (Vec<String>, Vec<String>) {
    let (mut assumed, mut skipped) = (vec![], vec![]);
    for (tag, path) in output.split('\0').filter_map(|entry| entry.split_once(' ')) {
        if tag.chars().all(char::is_lowercase) {
            assumed.push(path.to_owned());
        }
        if tag.eq_ignore_ascii_case("s") {
            skipped.push(path.to_owned());
        }
    }
    (assumed, skipped)
}
