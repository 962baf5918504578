//! Checks if a branch's changes are in the base branch although its commits are not: after a squash merge, or a rebase.

use std::path::Path;

use ao_git::{Git, GitError};

/// Returns true if the base contains all changes of the tip since they diverged.
///
/// There are two ways to see it. Merging the tip changes nothing: then the base has all of it, however it came there.
/// Or the base has one commit with the same change: that holds even if others have changed the same lines since. A tip
/// without changes proves nothing: its commits may be all there is of some work.
pub(super) async fn by_content(git: &Git, objects: &Path, base: &str, tip: &str) -> Result<bool, GitError> {
    let Some(fork) = git.answer(&["merge-base", base, tip]).await? else { return Ok(false) };
    let fork = fork.lines().next().unwrap_or_default().to_owned();
    let trees = [&fork, base, tip].map(|commit| format!("{commit}^{{tree}}"));
    let output = git.read(&[&["rev-parse".to_owned()][..], &trees[..]].concat()).await?;
    let [fork_tree, base_tree, tip_tree] = output.lines().collect::<Vec<_>>()[..] else { return Ok(false) };
    if fork_tree == tip_tree {
        return Ok(false);
    }
    // The objects of the comparison go into a temporary folder: an inspection leaves nothing in the user's repository.
    let Ok(scratch) = tempfile::tempdir() else { return Ok(false) };
    let git =
        git.with("GIT_OBJECT_DIRECTORY", scratch.path()).with("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    // Git before 2.38 does not support this; then the other way has to show it.
    let merged = git.answer(&["merge-tree", "--write-tree", "--no-messages", base, tip]).await;
    if merged.is_ok_and(|merged| merged.is_some_and(|merged| merged.lines().next() == Some(base_tree))) {
        return Ok(true);
    }
    let args =
        ["-c", "user.name=ao", "-c", "user.email=ao@orchestrator.local", "commit-tree", "--no-gpg-sign"];
    let squashed = git.read(&[&args[..], &["-p", &fork, "-m", "squashed", tip_tree]].concat()).await?;
    let output = git.read(&["cherry", base, &squashed]).await?;
    Ok(output.starts_with("- "))
}
