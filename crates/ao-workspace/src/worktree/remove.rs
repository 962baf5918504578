//! Removing a worktree: only through the gate, and never by force.

use std::path::{Path, PathBuf};

use ao_core::SessionId;
use ao_core::workspace::reasons_to_keep;
use ao_ports::{Removal, RemoveOrder};

use super::error::WorktreeError;
use super::facts;
use super::marker::{Intent, Marker};
use super::repository::{Repository, same};
use crate::git::Git;

/// Removes the worktree if nothing is lost by it. The caller holds the repository's queue.
pub(super) async fn remove(repository: &Repository, order: &RemoveOrder) -> Result<Removal, WorktreeError> {
    let path = PathBuf::from(&order.path);
    // Not `exists`: a link that leads nowhere is still somebody's.
    if path.symlink_metadata().is_err() {
        return already_gone(repository, order, &path).await;
    }
    let reasons = reasons_to_keep(&facts::gather(order).await);
    if !reasons.is_empty() {
        return Ok(Removal::Kept { reasons });
    }
    let head = Git::at(&path).read(&["rev-parse", "HEAD"]).await?;
    let rescue = leave_rescue(repository, order.session, &head).await?;
    repository.git.write(&["worktree", "remove", &order.path]).await?;
    drop_branch(repository, order, &rescue).await?;
    Ok(Removal::Removed { rescue: Some(rescue) })
}

/// Takes away what is left of a worktree whose folder somebody else has removed, or a removal of ours that was cut off.
async fn already_gone(
    repository: &Repository,
    order: &RemoveOrder,
    path: &Path,
) -> Result<Removal, WorktreeError> {
    let listed = repository.worktrees().await?;
    if let Some(entry) = listed.iter().find(|listed| same(&listed.path, path))
        && let Some(git_dir) = repository.git_dir_of(path)
        && Marker::read(&git_dir)?.is_some_and(|marker| marker.session == order.session)
    {
        // Its head may be on no branch; then this entry is all that keeps it.
        if let Some(head) = &entry.head {
            leave_rescue(repository, order.session, head).await?;
        }
        repository.git.write(&["worktree", "remove", &order.path]).await?;
    }
    Intent::clear(&repository.common_dir, order.session)?;
    let rescue = rescue_ref(order.session);
    if repository.git.commit(&rescue).await?.is_none() {
        return Ok(Removal::Removed { rescue: None });
    }
    // Nobody could look into the folder, so the branch goes only if its commits are kept by others as well.
    let branch = format!("refs/heads/{}", order.branch);
    if repository.git.commit(&branch).await?.is_some()
        && !facts::has_commits_beyond(&repository.git, &[branch], std::slice::from_ref(&order.branch)).await?
    {
        drop_branch(repository, order, &rescue).await?;
    }
    Ok(Removal::Removed { rescue: Some(rescue) })
}

fn rescue_ref(session: SessionId) -> String {
    format!("refs/ao/rescue/{session}")
}

/// Points the rescue ref at the last state. With a log, so that a second removal does not hide the first one's state.
async fn leave_rescue(
    repository: &Repository,
    session: SessionId,
    commit: &str,
) -> Result<String, WorktreeError> {
    let rescue = rescue_ref(session);
    let why = format!("ao: worktree of {session} removed");
    repository.git.write(&["update-ref", "--create-reflog", "-m", &why, &rescue, commit]).await?;
    Ok(rescue)
}

/// Deletes the branch if the rescue ref keeps all of it, and nobody has it checked out.
async fn drop_branch(
    repository: &Repository,
    order: &RemoveOrder,
    rescue: &str,
) -> Result<(), WorktreeError> {
    let git = &repository.git;
    let branch = format!("refs/heads/{}", order.branch);
    let Some(tip) = git.commit(&branch).await? else { return Ok(()) };
    let kept = git.asks(&["merge-base", "--is-ancestor", &tip, rescue]).await?;
    let in_use = repository
        .worktrees()
        .await?
        .iter()
        .any(|listed| listed.branch.as_deref() == Some(order.branch.as_str()));
    if kept && !in_use {
        // With the tip that was looked at: a commit that came in between keeps the branch.
        git.write(&["update-ref", "-d", &branch, &tip]).await?;
    }
    Ok(())
}
