//! Lets a session work in a worktree that someone else created. It stays theirs: nothing is set up in it, and it is
//! never removed.

use std::path::{Path, PathBuf};

use ao_core::SessionId;
use ao_ports::CreatedWorkspace;

use crate::error::TreeError;
use crate::marker::{AdoptedMarker, TreeMarker};
use crate::own_tree::{TreeKind, git_dir};
use crate::repository::{Repository, at, same};

/// Marks that a session works there, so that no other one does. The caller holds the repository's queue.
pub(super) async fn adopt(
    repository: &Repository,
    session: SessionId,
    path: &str,
) -> Result<CreatedWorkspace, TreeError> {
    let path = Path::new(path);
    let no = |why: &str| TreeError::NotAdoptable { path: path.to_owned(), why: why.to_owned() };
    if same(path, &repository.root) {
        return Err(no("it is the repository's main checkout, which is yours; make a worktree of it first"));
    }
    let place = path.canonicalize().map_err(|_| no("there is no such folder"))?;
    let git_dir = own_git_dir(repository, &place)
        .map_err(|why| no(&format!("it is no worktree of `{}` ({why})", repository.root.display())))?;
    let owner = TreeMarker::read(&git_dir)?.filter(|marker| !marker.lent).map(|marker| marker.session);
    let user = AdoptedMarker::read(&git_dir)?;
    if let Some(other) = owner.or(user.as_ref().map(|user| user.session))
        && (other != session || owner.is_some())
    {
        return Err(no("it is the worktree of another session; go on with that one, or end it first"));
    }
    let base = match user {
        Some(user) => user.base,
        None => {
            let listed = repository.worktrees().await?;
            let head = match at(&listed, &place) {
                Some(listed) => repository.head_of(listed).await?,
                None => None,
            };
            let base = head.ok_or_else(|| no("its head stands on no commit"))?;
            AdoptedMarker { session, base: base.clone() }.write(&git_dir)?;
            base
        }
    };
    Ok(CreatedWorkspace { path: place.display().to_string(), base, as_found: true })
}

/// Marks a worktree of ours as available for one session. It stays its maker's.
pub(super) fn lend(repository: &Repository, session: SessionId, path: &Path) -> Result<(), TreeError> {
    let no = |why: String| TreeError::NotAdoptable { path: path.to_owned(), why };
    let git_dir = own_git_dir(repository, path).map_err(|why| no(why.to_owned()))?;
    match TreeMarker::read(&git_dir)? {
        Some(marker) if marker.session == session => TreeMarker { lent: true, ..marker }.write(&git_dir),
        _ => Err(no("it was not made for the session".into())),
    }
}

/// Releases a worktree that the session has used.
pub(super) fn release(repository: &Repository, session: SessionId, path: &Path) -> Result<(), TreeError> {
    let Some(git_dir) = repository.git_dir_of(path) else { return Ok(()) };
    if AdoptedMarker::read(&git_dir)?.is_some_and(|user| user.session == session) {
        AdoptedMarker::clear(&git_dir)?;
    }
    Ok(())
}

fn own_git_dir(repository: &Repository, path: &Path) -> Result<PathBuf, &'static str> {
    git_dir(&TreeKind::worktree(repository), path)
}
