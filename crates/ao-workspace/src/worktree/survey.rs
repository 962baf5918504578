//! Measures each worktree, and checks if it could be removed. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::workspace::KeepReason;
use ao_ports::{RemoveOrder, Surveyed};
use futures::future::join_all;

use super::judged;
use super::paths::{self, FOLDER};
use crate::error::TreeError;
use crate::gate::processes;
use crate::marker::TreeMarker;
use crate::repository::{Repository, same};
use crate::{clean, size};
use ao_git::Git;

pub(super) async fn survey(
    repository: &Repository,
    orders: &[RemoveOrder],
) -> Result<Vec<Surveyed>, TreeError> {
    let mut ours: Vec<(&RemoveOrder, PathBuf)> = vec![];
    for order in orders {
        let place = paths::of(repository, order)?;
        ours.extend(place.filter(|path| path.symlink_metadata().is_ok()).map(|path| (order, path)));
    }
    let inside = processes::any_inside_each(ours.iter().map(|(_, path)| path.clone()).collect()).await;
    let looks = ours.iter().zip(inside).map(|((order, path), inside)| async move {
        let facts = judged::facts(repository, path, order, inside).await;
        let (bytes, ignored_bytes) = sizes(repository, path).await;
        Surveyed {
            session: Some(order.session),
            path: path.display().to_string(),
            bytes,
            ignored_bytes,
            reasons: order.reasons(&facts),
        }
    });
    let mut surveyed = join_all(looks).await;
    for path in strangers(repository, &ours) {
        let (bytes, ignored_bytes) = sizes(repository, &path).await;
        let marker =
            repository.git_dir_of(&path).and_then(|git_dir| TreeMarker::read(&git_dir).ok().flatten());
        let reason = if marker.is_some() { KeepReason::UnknownSession } else { KeepReason::NotOurs };
        let path = path.display().to_string();
        // None of our records names it, so no removal of ours would take it.
        surveyed.push(Surveyed { session: None, path, bytes, ignored_bytes, reasons: vec![reason] });
    }
    Ok(surveyed)
}

/// Lists the entries of our folder that belong to none of the orders.
fn strangers(repository: &Repository, ours: &[(&RemoveOrder, PathBuf)]) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository.root.join(FOLDER)).into_iter().flatten().flatten();
    let mut strangers: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| !ours.iter().any(|(_, our)| same(our, path)))
        .collect();
    strangers.sort();
    strangers
}

/// Returns what a removal frees, including git's own files for the worktree; and the ignored part of it.
async fn sizes(repository: &Repository, path: &Path) -> (u64, u64) {
    let mut paths = vec![path.to_owned()];
    let git_dir = repository.git_dir_of(path);
    let known = git_dir.is_some();
    paths.extend(git_dir);
    let git = Git::in_tree(path, &repository.settings);
    let ignored = if known { clean::ignored(&git).await.unwrap_or_default() } else { vec![] };
    tokio::task::spawn_blocking(move || (size::freed(&paths), size::freed(&ignored)))
        .await
        .unwrap_or_default()
}
