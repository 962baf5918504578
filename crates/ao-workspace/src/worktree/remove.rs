//! Removing a worktree: only through the gate, and never by force.

use std::fs;
use std::path::Path;

use ao_core::SessionId;
use ao_core::workspace::reasons_to_keep;
use ao_ports::{Removal, RemoveOrder};

use super::error::WorktreeError;
use super::marker::{Intent, Marker};
use super::repository::{Repository, same};
use super::{create, facts, place};
use crate::git::Git;

/// Removes the worktree if nothing is lost by it. The caller holds the repository's queue.
pub(super) async fn remove(repository: &Repository, order: &RemoveOrder) -> Result<Removal, WorktreeError> {
    clear_up(repository, order.session).await?;
    let path = match place::of(repository, order)? {
        // Not `exists`: a link that leads nowhere is still somebody's.
        Some(path) if path.symlink_metadata().is_ok() => path,
        Some(gone) => return already_gone(repository, order, &gone).await,
        None => return Ok(Removal::Removed { rescue: known_rescue(repository, order.session).await? }),
    };
    let reasons = reasons_to_keep(&facts::gather(&path, order).await);
    if !reasons.is_empty() {
        return Ok(Removal::Kept { reasons });
    }
    let head = Git::at(&path).read(&["rev-parse", "HEAD"]).await?;
    let rescue = leave_rescue(repository, order.session, &head).await?;
    repository.git.write(&["worktree", "remove", &path.to_string_lossy()]).await?;
    drop_branch(repository, order, &rescue).await?;
    Ok(Removal::Removed { rescue: Some(rescue) })
}

/// Brings what a creation of ours has left half-way into a state that the gate can judge, or takes back the little there is.
async fn clear_up(repository: &Repository, session: SessionId) -> Result<(), WorktreeError> {
    let Some(intent) = Intent::read(&repository.common_dir, session)? else { return Ok(()) };
    let whole = match repository.git_dir_of(&intent.path) {
        Some(git_dir) => Marker::read(&git_dir)?.is_some(),
        None => false,
    };
    if whole {
        return Intent::clear(&repository.common_dir, session);
    }
    let listed = repository.worktrees().await?;
    match listed.iter().find(|listed| same(&listed.path, &intent.path)) {
        Some(half_made) if intent.path.exists() => {
            return create::finish(repository, half_made, session, &intent.branch, &intent.base).await;
        }
        Some(entry) => {
            if entry.locked {
                repository.git.write(&["worktree", "unlock", &intent.path.to_string_lossy()]).await?;
            }
            repository.git.write(&["worktree", "remove", &intent.path.to_string_lossy()]).await?;
        }
        // Git had made no more than the folder. Only an empty one can be taken away like this.
        None if create::is_empty_folder(&intent.path) => {
            fs::remove_dir(&intent.path).map_err(WorktreeError::file("remove", &intent.path))?;
        }
        None => {}
    }
    let branch = format!("refs/heads/{}", intent.branch);
    if intent.new_branch && repository.git.commit(&branch).await?.as_deref() == Some(intent.base.as_str()) {
        repository.git.write(&["update-ref", "-d", &branch, &intent.base]).await?;
    }
    Intent::clear(&repository.common_dir, session)
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
        repository.git.write(&["worktree", "remove", &path.to_string_lossy()]).await?;
    }
    let Some(rescue) = known_rescue(repository, order.session).await? else {
        return Ok(Removal::Removed { rescue: None });
    };
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

/// The rescue ref, if an earlier removal has left one.
async fn known_rescue(repository: &Repository, session: SessionId) -> Result<Option<String>, WorktreeError> {
    let rescue = rescue_ref(session);
    Ok(repository.git.commit(&rescue).await?.map(|_| rescue))
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
