//! What can go wrong with a worktree, and what to do then.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ao_core::SessionId;
use ao_ports::WorkspaceError;

use crate::git::GitError;

#[derive(Debug, thiserror::Error)]
pub(super) enum WorktreeError {
    #[error("`{}` is not a folder of a git repository", .path.display())]
    NoRepository {
        path: PathBuf,
        #[source]
        err: GitError,
    },
    #[error("`{}` is a bare repository, which has no worktree to work beside; register a checkout of it", .path.display())]
    Bare { path: PathBuf },
    #[error("the repository `{}` has no commit yet; make a first one", .path.display())]
    Unborn { path: PathBuf },
    #[error(
        "the repository `{}` has no branch `{branch}`, neither of its own nor of `origin`; correct the project's default branch",
        .path.display()
    )]
    NoBase { path: PathBuf, branch: String },
    #[error(
        "`{name}` cannot be the name of a worktree: letters, digits, `-`, `_` and `.` only, and no `.` in front"
    )]
    BadName { name: String },
    #[error("`{}` was not made by ao and is left as it is; move it away, or choose another name", .path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is the worktree of {owner}", .path.display())]
    Taken { path: PathBuf, owner: SessionId },
    #[error("the branch `{branch}` is checked out in `{}`", .other.display())]
    BranchInUse { branch: String, other: PathBuf },
    #[error("`{}` sets `core.worktree`, so its worktrees cannot have settings of their own; use a plain checkout", .path.display())]
    OwnWorktree { path: PathBuf },
    #[error("failed to {what} `{}`", .path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        #[source]
        err: io::Error,
    },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorktreeError {
    pub(super) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> WorktreeError {
        let path = path.into();
        move |err| WorktreeError::File { what, path, err }
    }
}

impl From<WorktreeError> for WorkspaceError {
    fn from(err: WorktreeError) -> WorkspaceError {
        match err {
            WorktreeError::BranchInUse { branch, other } => {
                WorkspaceError::BranchInUse { branch, other: other.display().to_string() }
            }
            // A port carries words, so the whole chain has to be in them.
            other => WorkspaceError::Failed(chain(&other)),
        }
    }
}

fn chain(err: &dyn Error) -> String {
    let mut text = err.to_string();
    let mut next = err.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
