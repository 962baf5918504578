//! How large each worktree is, and whether it could go. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::workspace::KeepReason;
use ao_ports::{RemoveOrder, Surveyed};
use futures::future::join_all;

use super::place::{self, FOLDER};
use super::subject;
use crate::error::TreeError;
use crate::gate::processes;
use crate::marker::Marker;
use crate::repository::{Repository, same};
use crate::{clean, size};
use ao_git::Git;

pub(super) async fn survey(
    repository: &Repository,
    orders: &[RemoveOrder],
) -> Result<Vec<Surveyed>, TreeError> {
    let mut ours: Vec<(&RemoveOrder, PathBuf)> = vec![];
    for order in orders {
        let place = place::of(repository, order)?;
        ours.extend(place.filter(|path| path.symlink_metadata().is_ok()).map(|path| (order, path)));
    }
    let inside = processes::any_inside_each(ours.iter().map(|(_, path)| path.clone()).collect()).await;
    let looks = ours.iter().zip(inside).map(|((order, path), inside)| async move {
        let facts = subject::facts(repository, path, order, inside).await;
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
        let marker = repository.git_dir_of(&path).and_then(|git_dir| Marker::read(&git_dir).ok().flatten());
        let reason = if marker.is_some() { KeepReason::UnknownSession } else { KeepReason::NotOurs };
        let path = path.display().to_string();
        // Whatever it is, none of our records names it, so no removal of ours would take it.
        surveyed.push(Surveyed { session: None, path, bytes, ignored_bytes, reasons: vec![reason] });
    }
    Ok(surveyed)
}

/// What lies in our folder and belongs to none of the orders.
fn strangers(repository: &Repository, ours: &[(&RemoveOrder, PathBuf)]) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository.root.join(FOLDER)).into_iter().flatten().flatten();
    let mut strangers: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| !ours.iter().any(|(_, our)| same(our, path)))
        .collect();
    strangers.sort();
    strangers
}

/// What a removal frees, with what git keeps for the worktree; and the part of it that git ignores.
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
