//! Removes a clone: only through the gate. It is moved away first, judged once more there, and then deleted.
//!
//! ```text
//!  <name> ──► judged, rescue ref ──► .removing-<session> ──► judged again ──► .deleting-<session> ──► gone
//!         ◄── taken back by the next removal or creation ┘                      └──► deleted by the next removal
//! ```

use std::fs;
use std::path::Path;

use ao_core::workspace::KeepReason;
use ao_core::{ProjectId, SessionId};
use ao_ports::{RemovalOutcome, RemoveOrder};

use super::clones::CloneLayout;
use super::{create, paths};
use crate::error::TreeError;
use crate::git_workspaces::{GitWorkspaces, facts};
use crate::marker::CreationIntent;
use crate::own_tree::OwnTree;
use crate::repository::Repository;
use crate::rescue::RescuedWork;
use crate::{fetch, rescue, size};

/// Removes the clone if no work is lost. The caller holds the queue of its path, and has undone an earlier unfinished
/// removal.
pub(super) async fn remove(
    clones: &Path,
    shared: &GitWorkspaces,
    source: &Repository,
    order: &RemoveOrder,
) -> Result<RemovalOutcome, TreeError> {
    let folder = paths::folder(clones, &order.tree.project)?;
    let doomed = paths::being_deleted(&folder, order.tree.session);
    delete(&doomed).await?;
    let turn = shared.queues.turn(&source.common_dir).await;
    clear_up(source, &folder, order).await?;
    let path = match paths::of(clones, &order.tree)? {
        Some(path) if path.symlink_metadata().is_ok() => path,
        _ => {
            return Ok(RemovalOutcome::Removed {
                rescue: rescue::known(&source.git, order.tree.session).await?,
            });
        }
    };
    let reasons = judged(source, &path, order).await;
    if !reasons.is_empty() {
        return Ok(RemovalOutcome::Kept { reasons });
    }
    let rescue = leave_rescue(source, &path, order).await?;
    let going = paths::being_removed(&folder, order.tree.session);
    if path != going {
        fs::rename(&path, &going).map_err(TreeError::file("move out of its place", &path))?;
    }
    // Processes that wrote to it by its path no longer can; what they wrote until then is seen now.
    let reasons = judged(source, &going, order).await;
    if !reasons.is_empty() {
        // If it cannot be moved back, the next removal or creation does it.
        fs::rename(&going, &path).map_err(TreeError::file("move back into place", &going))?;
        return Ok(RemovalOutcome::Kept { reasons });
    }
    fs::rename(&going, &doomed).map_err(TreeError::file("set aside to be deleted", &going))?;
    if let Some(head) = source.commit(&fetch::pull_ref(order.tree.session)).await? {
        source.git.write(&["update-ref", "-d", &fetch::pull_ref(order.tree.session), &head]).await?;
    }
    // Other tasks need not wait until a large one is deleted.
    drop(turn);
    delete(&doomed).await?;
    if path.symlink_metadata().is_ok() {
        return Err(TreeError::StillWritten { path, err: None });
    }
    Ok(RemovalOutcome::Removed { rescue: Some(rescue) })
}

/// Moves a clone back that a removal has moved away and not judged since. If its path is taken, it stays where it is,
/// to be judged there.
pub(super) fn take_back(
    clones: &Path,
    project: &ProjectId,
    session: SessionId,
    path: &Path,
) -> Result<(), TreeError> {
    let going = paths::being_removed(&paths::folder(clones, project)?, session);
    if going.symlink_metadata().is_err() || path.symlink_metadata().is_ok() {
        return Ok(());
    }
    fs::rename(&going, path).map_err(TreeError::file("move back into place", &going))
}

async fn judged(source: &Repository, path: &Path, order: &RemoveOrder) -> Vec<KeepReason> {
    order.reasons(&facts::<CloneLayout>(source, path, &order.tree).await)
}

/// Saves the last state in the source, which outlives the clone.
async fn leave_rescue(source: &Repository, path: &Path, order: &RemoveOrder) -> Result<String, TreeError> {
    let tree = OwnTree::clone_of(source, path, order.tree.session)?;
    let last = rescue::last_state(&tree, order.tree.session).await?;
    let (session, git) = (order.tree.session, tree.writer()?);
    let rescue = rescue::leave(&git, session, RescuedWork::LastState, &order.tree.branch, &last).await?;
    let mut kept = vec![rescue.clone()];
    if order.discard {
        // With `discard` the gate ignores its other branches, its tags and its stashes; they are deleted along with it.
        for (name, commit) in others(&tree, &last).await? {
            let git = tree.writer()?;
            kept.push(rescue::leave(&git, session, RescuedWork::OtherBranch, &name, &commit).await?);
        }
    }
    let from = path.to_string_lossy();
    let refspecs: Vec<String> = kept.iter().map(|kept| format!("+{kept}:{kept}")).collect();
    let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
    let refspecs: Vec<&str> = refspecs.iter().map(String::as_str).collect();
    source.git.write(&[&args[..], &["--no-recurse-submodules", &from], &refspecs].concat()).await.map_err(
        TreeError::tried(format!("keep the last state of `{from}` in `{}`", source.root.display())),
    )?;
    Ok(rescue)
}

/// Lists the branches, tags and stashes of a clone that its last state does not contain.
async fn others(tree: &OwnTree, last: &str) -> Result<Vec<(String, String)>, TreeError> {
    let git = tree.git();
    let format = "--format=%(refname:short) %(objectname)";
    let mut listed = git.read(&["for-each-ref", format, "refs/heads", "refs/tags"]).await?;
    if git.commit("refs/stash").await?.is_some() {
        let stashes = git.read(&["stash", "list", "--format=stash %H"]).await?;
        listed = format!("{listed}\n{stashes}");
    }
    let mut others = vec![];
    for line in listed.lines() {
        let Some((name, commit)) = line.rsplit_once(' ') else { continue };
        let Some(commit) = git.commit(commit).await? else { continue };
        if !git.asks(&["merge-base", "--is-ancestor", &commit, last]).await? {
            others.push((name.to_owned(), commit));
        }
    }
    Ok(others)
}

/// Removes the leftovers of an unfinished creation.
async fn clear_up(source: &Repository, folder: &Path, order: &RemoveOrder) -> Result<(), TreeError> {
    create::discard(source, &paths::being_made(folder, order.tree.session), order.tree.session).await?;
    CreationIntent::clear(&source.common_dir, order.tree.session)
}

/// Deletes a clone that was judged.
async fn delete(doomed: &Path) -> Result<(), TreeError> {
    size::delete(doomed.to_owned()).await.map_err(TreeError::file("delete the rest of the clone", doomed))
}
