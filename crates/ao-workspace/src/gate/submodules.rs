//! Finds work inside submodules, which are repositories of their own and are removed along with the tree.

use std::path::PathBuf;

use super::facts::{OPERATIONS, changes_of};
use ao_git::{Git, GitError, Settings};

/// The findings in all submodules together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SubmoduleWork {
    pub(super) uncommitted: bool,
    pub(super) untracked: bool,
    pub(super) stashed: bool,
    pub(super) mid_operation: bool,
    pub(super) unpushed: bool,
}

/// Examines each submodule of a tree that is checked out, recursively.
pub(super) async fn look(tree: &Git, settings: &Settings) -> Result<SubmoduleWork, GitError> {
    let mut inside = SubmoduleWork::default();
    let mut trees = vec![tree.clone()];
    while let Some(tree) = trees.pop() {
        for path in checked_out(&tree).await? {
            let git = Git::in_tree(&path, settings);
            let git_dir = PathBuf::from(git.read(&["rev-parse", "--absolute-git-dir"]).await?);
            let changes = changes_of(&git, &git_dir).await;
            // An undetermined fact speaks against a removal as well.
            inside.uncommitted |= changes.uncommitted.unwrap_or(true);
            inside.untracked |= changes.untracked.unwrap_or(true);
            inside.stashed |= git.commit("refs/stash").await?.is_some();
            inside.mid_operation |= OPERATIONS.iter().any(|name| git_dir.join(name).exists());
            let own =
                git.read(&["rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes"]).await?;
            inside.unpushed |= !own.is_empty();
            trees.push(git);
        }
    }
    Ok(inside)
}

/// Lists the submodules that have files. Read from the index: one without an entry in `.gitmodules` is removed just as
/// well.
pub(super) async fn checked_out(tree: &Git) -> Result<Vec<PathBuf>, GitError> {
    let output = tree.read(&["ls-files", "--stage", "-z"]).await?;
    let links = output.split('\0').filter(|entry| entry.starts_with("160000 "));
    let paths = links.filter_map(|entry| entry.split_once('\t')).map(|(_, path)| tree.dir().join(path));
    Ok(paths.filter(|path| path.join(".git").exists()).collect())
}
