//! Rebases a branch onto its base, in the worktree that has it checked out.
//!
//! Only while nothing is in progress there: no uncommitted change, no merge or rebase of the agent. A rescue ref keeps
//! the old branch, and a conflict leaves everything as it was.

use std::time::Duration;

use ao_core::Commit;
use ao_git::Git;
use ao_ports::{RemoveOrder, WorkspaceError};

use super::worktrees::Worktrees;
use crate::error::TreeError;
use crate::own_tree::OwnTree;
use crate::repository::Repository;
use crate::{config, rescue};

/// The branch to rebase, pinned to the commits at which both sides were seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebaseOrder {
    /// The worktree, identified as for a removal.
    pub tree: RemoveOrder,
    pub branch: String,
    pub head: Commit,
    pub base: Commit,
}

/// The outcome of a rebase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebased {
    Done {
        head: Commit,
        /// True if its remote branch was moved along.
        pushed: bool,
    },
    UpToDate,
    /// The branch has moved, or is no longer checked out there.
    Moved,
    /// An operation is in progress; a later try may succeed.
    Busy {
        why: String,
    },
    /// Nothing has changed.
    Conflict {
        files: Vec<String>,
    },
}

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

impl Worktrees {
    /// Rebases a branch in its worktree.
    pub async fn rebase(&self, order: &RebaseOrder) -> Result<Rebased, WorkspaceError> {
        let Some((repository, path)) = self.found(&order.tree).await? else { return Ok(Rebased::Moved) };
        let _here = self.shared.queues.turn(&path).await;
        let _turn = self.shared.queues.turn(&repository.common_dir).await;
        let tree = OwnTree::worktree(&repository, &path, order.tree.session)?;
        Ok(rebase(&repository, &tree, order).await?)
    }
}

async fn rebase(repository: &Repository, tree: &OwnTree, order: &RebaseOrder) -> Result<Rebased, TreeError> {
    let git = tree.git();
    if let Some(what) = UNDER_WAY.iter().find(|name| tree.git_dir.join(name).exists()) {
        return Ok(Rebased::Busy { why: format!("something is under way in its worktree: `{what}`") });
    }
    let on = git.answer(&["symbolic-ref", "--quiet", "HEAD"]).await?;
    let at = git.commit("HEAD").await?;
    let here = on.as_deref() == Some(&format!("refs/heads/{}", order.branch));
    if !here || at.as_deref() != Some(order.head.as_str()) {
        return Ok(Rebased::Moved);
    }
    let changed = git.read(&["status", "--porcelain", "--untracked-files=no"]).await?;
    if !changed.is_empty() {
        return Ok(Rebased::Busy { why: "its worktree has changes that are not committed".into() });
    }
    let Some(base) = git.commit(order.base.as_str()).await? else {
        return Ok(Rebased::Busy { why: format!("the base {} is not in the repository yet", order.base) });
    };
    if git.asks(&["merge-base", "--is-ancestor", &base, order.head.as_str()]).await? {
        return Ok(Rebased::UpToDate);
    }
    rescue::before_rebase(&repository.git, order.tree.session, &order.branch, order.head.as_str()).await?;
    let writer = tree.writer()?;
    let onto: Vec<&str> = PLAIN.iter().copied().chain(["rebase", "--no-autosquash", &base]).collect();
    if let Err(err) = writer.write(&onto).await {
        let files = git.read(&["diff", "--name-only", "--diff-filter=U", "-z"]).await.unwrap_or_default();
        let files: Vec<String> =
            files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
        take_back(&tree.writer()?, order).await?;
        return match files.is_empty() {
            true => Err(TreeError::tried(format!("rebase `{}`", order.branch))(err)),
            false => Ok(Rebased::Conflict { files }),
        };
    }
    let head = git.commit("HEAD").await?.unwrap_or_default();
    match push(repository, order, &head).await {
        Ok(pushed) => Ok(Rebased::Done { head: Commit::new(&head), pushed }),
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

/// Moves the remote branch along, if it exists and is still at the expected commit.
async fn push(repository: &Repository, order: &RebaseOrder, head: &str) -> Result<bool, TreeError> {
    if config::origin(repository).await?.is_none() {
        return Ok(false);
    }
    let there = format!("refs/remotes/origin/{}", order.branch);
    if repository.git.commit(&there).await?.is_none() {
        return Ok(false);
    }
    let lease = format!("--force-with-lease=refs/heads/{}:{}", order.branch, order.head);
    let refspec = format!("{head}:refs/heads/{}", order.branch);
    let args = ["push", "--no-verify", &lease, "origin", &refspec];
    let what = TreeError::tried(format!("push `{}`, which is rebased", order.branch));
    repository.git.write_within(PUSH, &args).await.map_err(what)?;
    Ok(true)
}
