//! Measures each worktree, and checks if it could be removed. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use ao_core::workspace::KeepReason;
use ao_ports::{TreeRef, WorkspaceSurvey};
use futures::future::join_all;

use super::paths::{self, FOLDER};
use crate::error::TreeError;
use crate::gate::processes;
use crate::marker::TreeMarker;
use crate::own_tree::TreeKind;
use crate::repository::{Repository, same};
use crate::{clean, judged, size};
use ao_git::Git;

pub(super) async fn survey(
    repository: &Repository,
    trees: &[TreeRef],
) -> Result<Vec<WorkspaceSurvey>, TreeError> {
    let mut ours: Vec<(&TreeRef, PathBuf)> = vec![];
    for tree in trees {
        let place = paths::of(repository, tree)?;
        ours.extend(place.filter(|path| path.symlink_metadata().is_ok()).map(|path| (tree, path)));
    }
    let inside = processes::any_inside_each(ours.iter().map(|(_, path)| path.clone()).collect()).await;
    let looks = ours.iter().zip(inside).map(|((tree, path), inside)| async move {
        let facts = judged::facts(&TreeKind::worktree(repository), repository, path, tree, inside).await;
        judged::surveyed(tree, path, sizes(repository, path).await, &facts)
    });
    let mut surveyed = join_all(looks).await;
    for path in strangers(repository, &ours) {
        let marker =
            repository.git_dir_of(&path).and_then(|git_dir| TreeMarker::read(&git_dir).ok().flatten());
        let reason = if marker.is_some() { KeepReason::UnknownSession } else { KeepReason::NotOurs };
        // None of our records names it, so no removal of ours would take it.
        surveyed.push(judged::stranger(&path, sizes(repository, &path).await, reason));
    }
    Ok(surveyed)
}

/// Lists the entries of our folder that are none of these trees.
fn strangers(repository: &Repository, ours: &[(&TreeRef, PathBuf)]) -> Vec<PathBuf> {
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
