//! Undoes a removal that fails half-way.
//!
//! `git worktree remove` deletes the files first and then the worktree's entry in any case, even if some files remain.
//! That would leave a folder that git does not know any more and that cannot be judged. So the entry is saved
//! meanwhile, by hard links, and restored if the folder is still there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ao_core::SessionId;

use crate::error::TreeError;
use crate::own_tree::{OwnTree, wait_for_git};
use crate::repository::{Repository, place_of};
use crate::size;

/// Saves the entry of a worktree.
pub(super) async fn begin(
    repository: &Repository,
    session: SessionId,
    git_dir: &Path,
) -> Result<(), TreeError> {
    let aside = aside(repository, session);
    let partial = aside.with_extension("partial");
    let failed = || TreeError::file("keep aside what git knows of the worktree, in", &aside);
    for old in [&aside, &partial] {
        size::delete(old.clone()).await.map_err(failed())?;
    }
    let (from, to) = (git_dir.to_owned(), partial.clone());
    // With submodules, it contains whole repositories.
    let linking = tokio::task::spawn_blocking(move || link_all(&from, &to));
    linking.await.map_err(io::Error::other).and_then(|linked| linked).map_err(failed())?;
    // The name is needed to restore it where git looks for it.
    let name = git_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    fs::write(partial.join(NAME), name).map_err(failed())?;
    fs::rename(&partial, &aside).map_err(failed())
}

/// Deletes the saved entry: the folder is gone.
pub(super) async fn done(repository: &Repository, session: SessionId) -> Result<(), TreeError> {
    let aside = aside(repository, session);
    size::delete(aside.clone()).await.map_err(TreeError::file("remove", &aside))
}

/// Returns true if a removal was begun and not completed.
pub(super) fn is_under_way(repository: &Repository, session: SessionId) -> bool {
    aside(repository, session).exists()
}

/// Returns the path of a worktree that an interrupted removal has deleted without completing the rest.
pub(super) fn has_gone(repository: &Repository, session: SessionId) -> Option<PathBuf> {
    let aside = aside(repository, session);
    if !aside.join(NAME).exists() {
        return None;
    }
    place_of(&aside).filter(|place| place.symlink_metadata().is_err())
}

/// Waits until the git process of an interrupted removal has ended.
pub(super) async fn wait_for_removal(repository: &Repository, session: SessionId) -> Result<(), TreeError> {
    let aside = aside(repository, session);
    let Ok(name) = fs::read_to_string(aside.join(NAME)) else { return Ok(()) };
    let git_dir = repository.common_dir.join("worktrees").join(name);
    match place_of(&aside) {
        Some(place) => wait_for_git(&place, Some(&git_dir)).await,
        None => Ok(()),
    }
}

/// Restores a worktree after a failed removal, except for ignored files. Does nothing if there is none.
pub(super) async fn take_back(repository: &Repository, session: SessionId) -> Result<(), TreeError> {
    let aside = aside(repository, session);
    let Ok(name) = fs::read_to_string(aside.join(NAME)) else { return Ok(()) };
    let git_dir = repository.common_dir.join("worktrees").join(name);
    let Some(place) = place_of(&aside) else { return done(repository, session).await };
    if place.symlink_metadata().is_err() {
        return done(repository, session).await;
    }
    let failed = || TreeError::file("put back what git knows of the worktree, in", &git_dir);
    if !git_dir.exists() {
        fs::create_dir_all(repository.common_dir.join("worktrees")).map_err(failed())?;
        fs::remove_file(aside.join(NAME)).map_err(failed())?;
        fs::rename(&aside, &git_dir).map_err(failed())?;
    }
    let dot_git = place.join(".git");
    if dot_git.symlink_metadata().is_err() {
        let text = format!("gitdir: {}\n", git_dir.display());
        fs::write(&dot_git, text).map_err(TreeError::file("write", &dot_git))?;
    }
    let tree = OwnTree::worktree(repository, &place, session)?;
    // Only missing files: existing ones may have been written since.
    let args =
        ["-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "checkout-index", "--all", "--quiet"];
    // It reports a failure for each existing file, as intended.
    tree.writer()?.write(&args).await.ok();
    done(repository, session).await
}

const NAME: &str = "ao-name";

fn aside(repository: &Repository, session: SessionId) -> PathBuf {
    repository.common_dir.join("ao").join("removing").join(session.to_string())
}

/// Duplicates a folder by hard links: git replaces its files and never writes into them.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &to)?;
        } else if fs::hard_link(entry.path(), &to).is_err() {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
