//! Whether a branch's change is in the base branch, though its commits are not: a squash merge, or a rebase.

use std::path::Path;

use ao_git::{Git, GitError};

/// Whether the base has everything that the tip changed since they parted.
///
/// Two ways to see it. To merge the tip changes nothing: then the base has all of it, however it came there. Or the base
/// has one commit with the very change: that holds even if others have changed the same lines since. A tip that changes
/// nothing proves nothing: its commits may be all there is of some work.
pub(super) async fn by_content(git: &Git, objects: &Path, base: &str, tip: &str) -> Result<bool, GitError> {
    let Some(fork) = git.answer(&["merge-base", base, tip]).await? else { return Ok(false) };
    let fork = fork.lines().next().unwrap_or_default().to_owned();
    let trees = [&fork, base, tip].map(|commit| format!("{commit}^{{tree}}"));
    let told = git.read(&[&["rev-parse".to_owned()][..], &trees[..]].concat()).await?;
    let [fork_tree, base_tree, tip_tree] = told.lines().collect::<Vec<_>>()[..] else { return Ok(false) };
    if fork_tree == tip_tree {
        return Ok(false);
    }
    // What the comparison makes goes into a folder of its own: a look leaves nothing in the user's repository.
    let Ok(scratch) = tempfile::tempdir() else { return Ok(false) };
    let git =
        git.with("GIT_OBJECT_DIRECTORY", scratch.path()).with("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    // Git before 2.38 cannot do that; then the other way has to show it.
    let merged = git.answer(&["merge-tree", "--write-tree", "--no-messages", base, tip]).await;
    if merged.is_ok_and(|merged| merged.is_some_and(|merged| merged.lines().next() == Some(base_tree))) {
        return Ok(true);
    }
    let args =
        ["-c", "user.name=ao", "-c", "user.email=ao@orchestrator.local", "commit-tree", "--no-gpg-sign"];
    let squashed = git.read(&[&args[..], &["-p", &fork, "-m", "squashed", tip_tree]].concat()).await?;
    let told = git.read(&["cherry", base, &squashed]).await?;
    Ok(told.starts_with("- "))
}
