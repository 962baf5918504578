//! Work inside of submodules, which are repositories of their own and go along with the tree.

use std::path::PathBuf;

use super::facts::{OPERATIONS, changes_of};
use ao_git::{Git, GitError, Settings};

/// What was found in all submodules together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inside {
    pub(super) uncommitted: bool,
    pub(super) untracked: bool,
    pub(super) stashed: bool,
    pub(super) mid_operation: bool,
    pub(super) unpushed: bool,
}

/// Looks into each submodule of a tree that is checked out, and into theirs.
pub(super) async fn look(tree: &Git, settings: &Settings) -> Result<Inside, GitError> {
    let mut inside = Inside::default();
    let mut trees = vec![tree.clone()];
    while let Some(tree) = trees.pop() {
        for path in checked_out(&tree).await? {
            let git = Git::in_tree(&path, settings);
            let git_dir = PathBuf::from(git.read(&["rev-parse", "--absolute-git-dir"]).await?);
            let changes = changes_of(&git, &git_dir).await;
            // What could not be found out speaks against a removal as well.
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

/// The submodules that have files. Asked of the index: one without a line in `.gitmodules` goes along just as well.
pub(super) async fn checked_out(tree: &Git) -> Result<Vec<PathBuf>, GitError> {
    let told = tree.read(&["ls-files", "--stage", "-z"]).await?;
    let links = told.split('\0').filter(|entry| entry.starts_with("160000 "));
    let paths = links.filter_map(|entry| entry.split_once('\t')).map(|(_, path)| tree.dir().join(path));
    Ok(paths.filter(|path| path.join(".git").exists()).collect())
}
