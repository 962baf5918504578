//! Rebases a branch onto its base, in the tree that has it checked out.
//!
//! Only while nothing is in progress there: no uncommitted change, no merge or rebase of the agent. A rescue ref keeps
//! the old branch, and a conflict leaves everything as it was.
//!
//! A clone gets the base from the repository it was made from, and the result is published from there: its own remotes
//! are settings that an agent can write.

use std::path::Path;
use std::time::Duration;

use ao_core::Commit;
use ao_git::Git;
use ao_ports::{RebaseOrder, RebaseOutcome};

use crate::error::TreeError;
use crate::own_tree::OwnTree;
use crate::repository::Repository;
use crate::rescue::RescuedWork;
use crate::{config, rescue, start};

/// Files of git that show an operation in progress.
const UNDER_WAY: [&str; 6] =
    ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "index.lock"];
/// Overrides settings of the user or an agent that would make git do more than asked.
const PLAIN: [&str; 12] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.editor=true",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "rebase.autoStash=false",
    "-c",
    "rebase.updateRefs=false",
    "-c",
    "rerere.enabled=false",
];
/// Time limit for the push.
const PUSH: Duration = Duration::from_secs(120);

/// Rebases a branch in its tree. `repository` is the user's own; the caller holds its queue and that of the tree.
pub(crate) async fn rebase(
    repository: &Repository,
    tree: &OwnTree,
    order: &RebaseOrder,
) -> Result<RebaseOutcome, TreeError> {
    let git = tree.git();
    if let Some(what) = UNDER_WAY.iter().find(|name| tree.git_dir.join(name).exists()) {
        return Ok(RebaseOutcome::Busy { why: format!("something is under way in its workspace: `{what}`") });
    }
    let on = git.answer(&["symbolic-ref", "--quiet", "HEAD"]).await?;
    let at = git.commit("HEAD").await?;
    let here = on.as_deref() == Some(&format!("refs/heads/{}", order.branch));
    if !here || at.as_deref() != Some(order.head.as_str()) {
        return Ok(RebaseOutcome::Moved);
    }
    let changed = git.read(&["status", "--porcelain", "--untracked-files=no"]).await?;
    if !changed.is_empty() {
        return Ok(RebaseOutcome::Busy { why: "its workspace has changes that are not committed".into() });
    }
    let Some(base) = repository.git.commit(order.base.as_str()).await? else {
        return Ok(RebaseOutcome::Busy {
            why: format!("the base {} is not in the repository yet", order.base),
        });
    };
    if tree.is_clone() {
        // Both have the commits of the other, so that the rescue ref is in the repository, which outlives the clone.
        copy(&tree.writer()?, &repository.root, &base).await?;
        copy(&repository.git, &tree.path, order.head.as_str()).await?;
    }
    if git.asks(&["merge-base", "--is-ancestor", &base, order.head.as_str()]).await? {
        return Ok(RebaseOutcome::UpToDate);
    }
    let (session, head) = (order.tree.session, order.head.as_str());
    rescue::leave(&repository.git, session, RescuedWork::BeforeRebase, &order.branch, head).await?;
    let writer = tree.writer()?;
    let onto: Vec<&str> = PLAIN.iter().copied().chain(["rebase", "--no-autosquash", &base]).collect();
    if let Err(err) = writer.write(&onto).await {
        let files = git.read(&["diff", "--name-only", "--diff-filter=U", "-z"]).await.unwrap_or_default();
        let files: Vec<String> =
            files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
        take_back(&tree.writer()?, order).await?;
        return match files.is_empty() {
            true => Err(TreeError::tried(format!("rebase `{}`", order.branch))(err)),
            false => Ok(RebaseOutcome::Conflict { files }),
        };
    }
    let head = git.commit("HEAD").await?.unwrap_or_default();
    match publish(repository, tree, order, &head).await {
        Ok(pushed) => Ok(RebaseOutcome::Rebased { head: Commit::new(&head), pushed }),
        // Half of it would leave a branch that the agent's next push cannot follow.
        Err(err) => {
            let back = ["-c", "core.hooksPath=/dev/null", "reset", "--keep", order.head.as_str()];
            let undone = tree.writer()?.write(&back).await;
            undone.map_err(TreeError::tried(format!("put `{}` back after its push failed", order.branch)))?;
            Err(err)
        }
    }
}

/// Restores the state before the rebase.
async fn take_back(writer: &Git, order: &RebaseOrder) -> Result<(), TreeError> {
    // It may have failed before it began, and then there is nothing to abort.
    writer.write(&["-c", "core.hooksPath=/dev/null", "rebase", "--abort"]).await.ok();
    let back = writer.commit("HEAD").await?;
    match back.as_deref() == Some(order.head.as_str()) {
        true => Ok(()),
        false => {
            let args = ["-c", "core.hooksPath=/dev/null", "rebase", "--quit"];
            writer.write(&args).await.ok();
            let args = ["switch", "--discard-changes", &order.branch];
            writer.write(&args).await.map_err(TreeError::tried(format!("go back to `{}`", order.branch)))?;
            Ok(())
        }
    }
}

/// Copies a commit, with all that it needs, from another repository on this machine.
async fn copy(into: &Git, from: &Path, commit: &str) -> Result<(), TreeError> {
    if into.commit(commit).await?.is_some() {
        return Ok(());
    }
    let from = from.to_string_lossy();
    let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
    let what = TreeError::tried(format!("copy {commit} from `{from}`"));
    into.write(&[&args[..], &["--no-recurse-submodules", &from, commit]].concat()).await.map_err(what)?;
    Ok(())
}

/// Moves the branch along where it was pushed to, if it is still at the expected commit there.
async fn publish(
    repository: &Repository,
    tree: &OwnTree,
    order: &RebaseOrder,
    head: &str,
) -> Result<bool, TreeError> {
    let git = &repository.git;
    let mut pushed = false;
    if tree.is_clone() {
        copy(git, &tree.path, head).await?;
    }
    let known = format!("refs/remotes/origin/{}", order.branch);
    let is_known = git.commit(&known).await?.is_some() || tree.git().commit(&known).await?.is_some();
    if is_known && config::origin(repository).await?.is_some() {
        let lease = format!("--force-with-lease=refs/heads/{}:{}", order.branch, order.head);
        let refspec = format!("{head}:refs/heads/{}", order.branch);
        let args = ["push", "--no-verify", &lease, "origin", &refspec];
        let what = TreeError::tried(format!("push `{}`, which is rebased", order.branch));
        git.write_within(PUSH, &args).await.map_err(what)?;
        pushed = true;
    }
    let branch = start::local(&order.branch);
    if tree.is_clone() && git.commit(&branch).await?.as_deref() == Some(order.head.as_str()) {
        if let Some(other) = repository.worktrees().await?.iter().find(|listed| listed.is_on(&order.branch)) {
            return Err(TreeError::BranchInUse { branch: order.branch.clone(), other: other.path.clone() });
        }
        let what = TreeError::tried(format!("move `{}`, which is rebased", order.branch));
        git.write(&["update-ref", &branch, head, order.head.as_str()]).await.map_err(what)?;
        pushed = true;
    }
    Ok(pushed)
}
