//! Removes a worktree: only through the gate, and by force only if a person discards its work or git cannot do it
//! otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::workspace::KeepReason;
use ao_ports::{RemovalOutcome, RemoveOrder, TreeRef};

use super::worktrees::WorktreeLayout;
use super::{adopt, create, paths, undo_removal};
use crate::error::TreeError;
use crate::gate::{self, KeptElsewhere};
use crate::git_workspaces::{GitWorkspaces, facts};
use crate::marker::{CreationIntent, TreeMarker};
use crate::own_tree::{OwnTree, wait_for_git};
use crate::repository::{Repository, at};
use crate::rescue::RescuedWork;
use crate::{fetch, read_only, rescue, start};

/// Removes the worktree if no work is lost. The caller holds the queue of its path.
pub(super) async fn remove(
    shared: &GitWorkspaces,
    repository: &Repository,
    order: &RemoveOrder,
) -> Result<RemovalOutcome, TreeError> {
    undo_removal::wait_for_removal(repository, order.tree.session).await?;
    {
        let _turn = shared.queues.turn(&repository.common_dir).await;
        if let Some(place) = undo_removal::has_gone(repository, order.tree.session) {
            let removal = already_gone(repository, order, &place, true).await?;
            undo_removal::done(repository, order.tree.session).await?;
            return Ok(removal);
        }
        undo_removal::take_back(repository, order.tree.session).await?;
    }
    clear_up(shared, repository, order).await?;
    // The facts are gathered in the same turn, so that no other removal of ours can invalidate them.
    let _turn = shared.queues.turn(&repository.common_dir).await;
    let path = match paths::of(repository, &order.tree)? {
        // Not `exists`: a dangling link still belongs to someone.
        Some(path) if path.symlink_metadata().is_ok() => path,
        Some(gone) => return already_gone(repository, order, &gone, false).await,
        None => {
            return Ok(RemovalOutcome::Removed {
                rescue: rescue::known(&repository.git, order.tree.session).await?,
            });
        }
    };
    let reasons = judged(repository, &path, order).await;
    if !reasons.is_empty() {
        adopt::release(repository, order.tree.session, &path)?;
        return Ok(RemovalOutcome::Kept { reasons });
    }
    let tree = OwnTree::worktree(repository, &path, order.tree.session)?;
    // The gate found nothing uncommitted. Changes since then are saved by this, and not lost.
    let last = rescue::last_state(&tree, order.tree.session).await?;
    let rescue = leave_rescue(repository, order, &last).await?;
    // Git refuses to remove a worktree with work or submodules in it without force, and with force it checks nothing.
    let forced = order.discard || has_submodules(&tree).await?;
    undo_removal::begin(repository, order.tree.session, &tree.git_dir).await?;
    if forced {
        let reasons = judged_again(repository, order, &tree, &last).await;
        if !matches!(&reasons, Ok(reasons) if reasons.is_empty()) {
            undo_removal::done(repository, order.tree.session).await?;
            return Ok(RemovalOutcome::Kept { reasons: reasons? });
        }
    }
    if TreeMarker::read(&tree.git_dir)?.is_some_and(|marker| marker.read_only) {
        read_only::open(&tree.path)?;
    }
    take_away(repository, order, &tree, forced).await?;
    drop_branch(repository, order, &rescue).await?;
    // Last of all: an interrupted call leaves a record of what is still to be done.
    undo_removal::done(repository, order.tree.session).await?;
    Ok(RemovalOutcome::Removed { rescue: Some(rescue) })
}

/// Makes the final check in git's stead, right before it deletes. Changes after the check are in the rescue ref, except
/// those in a submodule.
async fn judged_again(
    repository: &Repository,
    order: &RemoveOrder,
    tree: &OwnTree,
    kept: &str,
) -> Result<Vec<KeepReason>, TreeError> {
    let reasons = judged(repository, &tree.path, order).await;
    if reasons.is_empty() {
        let last = rescue::last_state(tree, order.tree.session).await?;
        if last != kept {
            leave_rescue(repository, order, &last).await?;
        }
    }
    Ok(reasons)
}

async fn leave_rescue(repository: &Repository, order: &RemoveOrder, last: &str) -> Result<String, TreeError> {
    let tree = &order.tree;
    rescue::leave(&repository.git, tree.session, RescuedWork::LastState, &tree.branch, last).await
}

async fn judged(repository: &Repository, path: &Path, order: &RemoveOrder) -> Vec<KeepReason> {
    order.reasons(&facts::<WorktreeLayout>(repository, path, &order.tree).await)
}

/// Lets git remove the worktree; on failure everything is restored.
async fn take_away(
    repository: &Repository,
    order: &RemoveOrder,
    tree: &OwnTree,
    forced: bool,
) -> Result<(), TreeError> {
    let path = tree.path.to_string_lossy();
    let forced: &[&str] = if forced { &["--force"] } else { &[] };
    let removed = repository.git.write(&[&["worktree", "remove"], forced, &[&path]].concat()).await;
    if tree.path.symlink_metadata().is_ok() {
        let untouched = tree.git_dir.join("gitdir").exists();
        undo_removal::take_back(repository, order.tree.session).await?;
        return Err(match removed {
            Err(err) if untouched => TreeError::tried(format!("remove the worktree `{path}`"))(err),
            removed => TreeError::StillWritten { path: tree.path.clone(), err: removed.err() },
        });
    }
    removed.map_err(TreeError::tried(format!("remove the worktree `{path}`")))?;
    Ok(())
}

async fn has_submodules(tree: &OwnTree) -> Result<bool, TreeError> {
    let output = tree.git().read(&["ls-files", "--stage", "-z"]).await?;
    Ok(tree.git_dir.join("modules").exists() || output.split('\0').any(|entry| entry.starts_with("160000 ")))
}

/// Completes a half-done creation of ours so that the gate can judge it, or removes the little there is.
async fn clear_up(
    shared: &GitWorkspaces,
    repository: &Repository,
    order: &RemoveOrder,
) -> Result<(), TreeError> {
    let session = order.tree.session;
    let Some(intent) = CreationIntent::read(&repository.common_dir, session)? else { return Ok(()) };
    let whole = match repository.git_dir_of(&intent.path) {
        Some(git_dir) => TreeMarker::read(&git_dir)?.is_some(),
        None => false,
    };
    if whole {
        return CreationIntent::clear(&repository.common_dir, session);
    }
    wait_for_git(&intent.path, repository.git_dir_of(&intent.path).as_deref()).await?;
    let turn = shared.queues.turn(&repository.common_dir).await;
    let listed = repository.worktrees().await?;
    match at(&listed, &intent.path) {
        Some(half_made) if intent.path.exists() => {
            create::resume(repository, half_made, &intent).await?;
            drop(turn);
            return create::finish(shared, repository, session, &intent).await;
        }
        Some(entry) => create::forget_entry(repository, entry).await?,
        // Git had created only the folder. Only an empty one can be removed like this.
        None if paths::is_empty_folder(&intent.path) => {
            fs::remove_dir(&intent.path).map_err(TreeError::file("remove", &intent.path))?;
        }
        None => {}
    }
    let branch = start::local(&intent.branch);
    if intent.new_branch && repository.commit(&branch).await?.as_deref() == Some(intent.base.as_str()) {
        repository.git.write(&["update-ref", "-d", &branch, &intent.base]).await?;
    }
    CreationIntent::clear(&repository.common_dir, session)
}

/// Removes what is left of a worktree whose folder someone else has removed, or an interrupted removal of ours.
async fn already_gone(
    repository: &Repository,
    order: &RemoveOrder,
    path: &Path,
    judged: bool,
) -> Result<RemovalOutcome, TreeError> {
    let listed = repository.worktrees().await?;
    if let Some(entry) = at(&listed, path)
        && let Some(git_dir) = repository.git_dir_of(path)
        && TreeMarker::read(&git_dir)?.is_some_and(|marker| marker.session == order.tree.session)
    {
        // Its head may be on no branch; then only this entry keeps it.
        if let Some(head) = repository.head_of(entry).await? {
            leave_rescue(repository, order, &head).await?;
        }
        create::forget_entry(repository, entry).await?;
    }
    let Some(rescue) = rescue::known(&repository.git, order.tree.session).await? else {
        return Ok(RemovalOutcome::Removed { rescue: None });
    };
    // Unless an earlier call has judged it, the folder could not be examined; then the branch is deleted only if its
    // commits are kept elsewhere as well.
    let branch = [start::local(&order.tree.branch)];
    let left_out = std::slice::from_ref(&order.tree.branch);
    if repository.commit(&branch[0]).await?.is_some()
        && (judged
            || !gate::beyond(&repository.git, &branch, left_out, true, &KeptElsewhere::default()).await?)
    {
        drop_branch(repository, order, &rescue).await?;
    }
    Ok(RemovalOutcome::Removed { rescue: Some(rescue) })
}

/// Deletes the branch if the rescue ref keeps all of it and no worktree has it checked out; also the ref of its pull
/// request.
async fn drop_branch(repository: &Repository, order: &RemoveOrder, rescue: &str) -> Result<(), TreeError> {
    let git = &repository.git;
    let pull = fetch::pull_ref(order.tree.session);
    let mut deletions = String::new();
    if let Some(head) = repository.commit(&pull).await? {
        deletions += &format!("delete {pull} {head}\n");
    }
    let branch = start::local(&order.tree.branch);
    if let Some(tip) = repository.commit(&branch).await? {
        let kept = git.asks(&["merge-base", "--is-ancestor", &tip, rescue]).await?;
        let in_use = repository.worktrees().await?.iter().any(|listed| listed.is_on(&order.tree.branch));
        if kept && !in_use {
            // With the tip that was examined: a commit in between keeps the branch.
            deletions += &format!("delete {branch} {tip}\n");
        }
    }
    if !deletions.is_empty() {
        let what = TreeError::tried(format!("delete the branch `{}`", order.tree.branch));
        git.write_with(&["update-ref", "--stdin"], Some(&deletions)).await.map_err(what)?;
    }
    Ok(())
}

/// Returns the queue of a worktree. Two references of one session have the same.
pub(super) fn queue_of(repository: &Repository, tree: &TreeRef) -> PathBuf {
    match paths::of(repository, tree) {
        Ok(Some(path)) => path,
        _ => repository.common_dir.join("ao").join(tree.session.to_string()),
    }
}
