//! Removing a clone: only through the gate. It is moved out of its place first, judged once more there, and then deleted.
//!
//! ```text
//!  <name> ──► judged, rescue ref ──► .removing-<session> ──► judged again ──► .deleting-<session> ──► gone
//!         ◄── taken back by the next removal or creation ┘                      └──► deleted by the next removal
//! ```

use std::fs;
use std::path::Path;

use ao_core::workspace::KeepReason;
use ao_core::{ProjectId, SessionId};
use ao_ports::{Removal, RemoveOrder};

use super::{create, place, subject};
use crate::error::TreeError;
use crate::gate::processes;
use crate::marker::Intent;
use crate::own::OwnTree;
use crate::repository::Repository;
use crate::shop::Shop;
use crate::{fetch, rescue, size};

/// Removes the clone if nothing is lost by it. The caller holds the queue of its place, and has taken back what an earlier
/// removal has left.
pub(super) async fn remove(
    clones: &Path,
    shop: &Shop,
    source: &Repository,
    order: &RemoveOrder,
) -> Result<Removal, TreeError> {
    let folder = place::folder(clones, &order.project)?;
    let doomed = place::being_deleted(&folder, order.session);
    delete(&doomed).await?;
    let turn = shop.queues.turn(&source.common_dir).await;
    clear_up(source, &folder, order).await?;
    let path = match place::of(clones, order)? {
        Some(path) if path.symlink_metadata().is_ok() => path,
        _ => return Ok(Removal::Removed { rescue: rescue::known(&source.git, order.session).await? }),
    };
    let reasons = judged(source, &path, order).await;
    if !reasons.is_empty() {
        return Ok(Removal::Kept { reasons });
    }
    let rescue = leave_rescue(source, &path, order).await?;
    let going = place::being_removed(&folder, order.session);
    if path != going {
        fs::rename(&path, &going).map_err(TreeError::file("move out of its place", &path))?;
    }
    // Whoever wrote to it by its path no longer can; what they wrote until then is seen now.
    let reasons = judged(source, &going, order).await;
    if !reasons.is_empty() {
        // If it cannot be moved back, the next removal or creation does it.
        fs::rename(&going, &path).map_err(TreeError::file("move back into place", &going))?;
        return Ok(Removal::Kept { reasons });
    }
    fs::rename(&going, &doomed).map_err(TreeError::file("set aside to be deleted", &going))?;
    if let Some(head) = source.commit(&fetch::pull_ref(order.session)).await? {
        source.git.write(&["update-ref", "-d", &fetch::pull_ref(order.session), &head]).await?;
    }
    // Nobody else has to wait until a large one is gone.
    drop(turn);
    delete(&doomed).await?;
    if path.symlink_metadata().is_ok() {
        return Err(TreeError::StillWritten { path, err: None });
    }
    Ok(Removal::Removed { rescue: Some(rescue) })
}

/// Puts a clone back into its place that a removal has moved out of it and not judged since. It stays where it is, to be
/// judged there, if something else has taken its place.
pub(super) fn take_back(
    clones: &Path,
    project: &ProjectId,
    session: SessionId,
    path: &Path,
) -> Result<(), TreeError> {
    let going = place::being_removed(&place::folder(clones, project)?, session);
    if going.symlink_metadata().is_err() || path.symlink_metadata().is_ok() {
        return Ok(());
    }
    fs::rename(&going, path).map_err(TreeError::file("move back into place", &going))
}

async fn judged(source: &Repository, path: &Path, order: &RemoveOrder) -> Vec<KeepReason> {
    let process_inside = processes::any_inside(path).await;
    order.reasons(&subject::facts(source, path, order, process_inside).await)
}

/// Keeps the last state in the source, which outlives the clone.
async fn leave_rescue(source: &Repository, path: &Path, order: &RemoveOrder) -> Result<String, TreeError> {
    let tree = OwnTree::clone_of(source, path, order.session)?;
    let last = rescue::last_state(&tree, order.session).await?;
    let rescue = rescue::leave(&tree.writer()?, order.session, &order.branch, &last).await?;
    let mut kept = vec![rescue.clone()];
    if order.discard {
        // The gate lets go of what is on its other branches, in its tags and in its stashes; they go along with it.
        for (name, commit) in others(&tree, &last).await? {
            kept.push(rescue::beside(&tree.writer()?, order.session, &name, &commit).await?);
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

/// What a clone has besides its last state, and that has not: the tips of its branches and tags, and its stashes.
async fn others(tree: &OwnTree, last: &str) -> Result<Vec<(String, String)>, TreeError> {
    let git = tree.git();
    let format = "--format=%(refname:short) %(objectname)";
    let mut told = git.read(&["for-each-ref", format, "refs/heads", "refs/tags"]).await?;
    if git.commit("refs/stash").await?.is_some() {
        let stashes = git.read(&["stash", "list", "--format=stash %H"]).await?;
        told = format!("{told}\n{stashes}");
    }
    let mut others = vec![];
    for line in told.lines() {
        let Some((name, commit)) = line.rsplit_once(' ') else { continue };
        let Some(commit) = git.commit(commit).await? else { continue };
        if !git.asks(&["merge-base", "--is-ancestor", &commit, last]).await? {
            others.push((name.to_owned(), commit));
        }
    }
    Ok(others)
}

/// Takes away what a creation has left half-way.
async fn clear_up(source: &Repository, folder: &Path, order: &RemoveOrder) -> Result<(), TreeError> {
    create::discard(source, &place::being_made(folder, order.session), order.session).await?;
    Intent::clear(&source.common_dir, order.session)
}

/// Deletes a clone that was judged.
async fn delete(doomed: &Path) -> Result<(), TreeError> {
    size::delete(doomed.to_owned()).await.map_err(TreeError::file("delete the rest of the clone", doomed))
}
