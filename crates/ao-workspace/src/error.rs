//! The errors of trees, with what to do about them.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ao_ports::WorkspaceError;

use ao_git::GitError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
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
    #[error(
        "`{0}` is the worktree of a session that is not in this data folder: another `ao` runs it, or its record was lost. \
         Look at the work in it; then take it away with `git worktree remove {0}`, which refuses if something is not \
         committed, and try again: work continues from its branch. Or choose another name",
        .path.display()
    )]
    Taken { path: PathBuf },
    #[error(
        "`{}` is the clone of a session that is not in this data folder: another `ao` runs it, or its record was lost. Save \
         the work in it, move it away, and try again; or choose another name",
        .path.display()
    )]
    CloneTaken { path: PathBuf },
    #[error("the branch `{branch}` is checked out in `{}`", .other.display())]
    BranchInUse { branch: String, other: PathBuf },
    #[error(
        "there is no branch `{branch}` in `{}` nor at its `origin`; choose one that exists, or start from the base branch",
        .path.display()
    )]
    NoBranch { path: PathBuf, branch: String },
    #[error(
        "`{fetch}` could not be fetched from `origin` into the branch `{branch}`; is the pull request still there?"
    )]
    NoPull {
        fetch: String,
        branch: String,
        #[source]
        err: GitError,
    },
    #[error("`{}` cannot be adopted: {why}", .path.display())]
    NotAdoptable { path: PathBuf, why: String },
    #[error("failed to {what}")]
    Tried {
        what: String,
        #[source]
        err: GitError,
    },
    #[error("`{}` is no longer the tree that was made for the session, so nothing is changed in it: {why}", .path.display())]
    Strayed { path: PathBuf, why: &'static str },
    #[error("`{}` could not be removed, because something still writes in it; it is put back, and a later try goes on", .path.display())]
    StillWritten {
        path: PathBuf,
        #[source]
        err: Option<GitError>,
    },
    #[error("a process works in `{}`, so nothing is cleaned there; try again when it has ended", .path.display())]
    InUse { path: PathBuf },
    #[error(
        "git still works in `{}` ({}), so nothing is done there; try again when it has ended, or end it",
        .path.display(), processes(.pids)
    )]
    GitAtWork { path: PathBuf, pids: Vec<u32> },
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
    Scratch { err: ao_git::forecast::ScratchError },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl TreeError {
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TreeError {
        let path = path.into();
        move |err| TreeError::File { what, path, err }
    }

    /// Wraps an error of git into what was tried.
    pub(crate) fn tried(what: impl Into<String>) -> impl FnOnce(GitError) -> TreeError {
        let what = what.into();
        move |err| TreeError::Tried { what, err }
    }
}

impl From<TreeError> for WorkspaceError {
    fn from(err: TreeError) -> WorkspaceError {
        match err {
            TreeError::BranchInUse { branch, other } => {
                WorkspaceError::BranchInUse { branch, other: other.display().to_string() }
            }
            // A port carries plain text, so it has to contain the whole chain.
            other => WorkspaceError::Failed(chain(&other)),
        }
    }
}

fn processes(pids: &[u32]) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    format!("process {}", pids.join(", "))
}

/// Returns an error with all its causes, in one line.
pub(crate) fn chain(err: &dyn Error) -> String {
    match err.source() {
        Some(source) => format!("{err}: {}", chain(source)),
        None => err.to_string(),
    }
}
