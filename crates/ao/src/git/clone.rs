//! Clones a repository into the current folder, completely or not at all.
//!
//! Passwords and tokens go through git's own helpers and ssh, never through the URL, which would appear in the list
//! of processes and in the clone's settings.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::signal::unix::{SignalKind, signal};

use crate::git::url::GitUrl;
use crate::program;
use crate::repository::{GitRepository, RepositoryError};

/// Time for git to clean up when we are interrupted.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum size of git's messages to keep, from the end, where the cause is.
const COMPLAINT: usize = 4 * 1024;

/// A clone, and whether it existed already.
#[derive(Debug, PartialEq, Eq)]
pub struct ClonedRepository {
    pub repository: GitRepository,
    pub fresh: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    #[error("`{folder}` already exists, and is not a clone of {url}")]
    Occupied { folder: Utf8PathBuf, url: GitUrl },
    #[error("{url} could not be cloned: {said}")]
    Refused { url: GitUrl, said: String },
    #[error("{url} was cloned, but cannot be used")]
    Unusable {
        url: GitUrl,
        #[source]
        err: Box<RepositoryError>,
    },
    #[error("the program `git` was not found")]
    NoGit,
    #[error("`{folder}` cannot hold a clone")]
    Folder {
        folder: Utf8PathBuf,
        #[source]
        err: io::Error,
    },
    /// Nothing is left behind.
    #[error("the clone was cancelled; nothing was left behind")]
    Interrupted(u8),
}

/// Clones into a new folder in `parent`, with progress on a terminal. Uses an existing clone of the same repository
/// as it is.
pub async fn clone(url: &GitUrl, parent: &Utf8Path) -> Result<ClonedRepository, CloneError> {
    let folder = parent.join(url.name());
    if let Some(repository) = already(url, &folder).await? {
        return Ok(ClonedRepository { repository, fresh: false });
    }
    let failed = |err| CloneError::Folder { folder: parent.to_owned(), err };
    // A sibling, so that it can be renamed; it is removed with its content if anything fails.
    let beside = tempfile::Builder::new().prefix(".ao-clone-").tempdir_in(parent).map_err(failed)?;
    let made = Utf8Path::from_path(beside.path())
        .ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?
        .join(url.name());
    fetch(url, &made).await?;
    if let Err(err) = GitRepository::at(&made).await {
        return Err(unusable(url, err));
    }
    // Replaces an empty folder, and nothing else.
    std::fs::rename(&made, &folder).map_err(|err| match err.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            CloneError::Occupied { folder: folder.clone(), url: url.clone() }
        }
        _ => CloneError::Folder { folder: folder.clone(), err },
    })?;
    match GitRepository::at(&folder).await {
        Ok(repository) => Ok(ClonedRepository { repository, fresh: true }),
        Err(err) => Err(unusable(url, err)),
    }
}

fn unusable(url: &GitUrl, err: RepositoryError) -> CloneError {
    CloneError::Unusable { url: url.clone(), err: Box::new(err) }
}

/// Returns the clone that is in the folder already. An empty folder counts as none.
async fn already(url: &GitUrl, folder: &Utf8Path) -> Result<Option<GitRepository>, CloneError> {
    let entries = match folder.read_dir_utf8() {
        Ok(mut entries) => entries.next().is_some(),
        Err(err) if err.kind() == io::ErrorKind::NotFound => false,
        Err(err) if err.kind() == io::ErrorKind::NotADirectory => true,
        Err(err) => return Err(CloneError::Folder { folder: folder.to_owned(), err }),
    };
    if !entries {
        return Ok(None);
    }
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    match GitRepository::at(folder).await {
        Ok(found)
            if real(&found.root) == real(folder)
                && found.remote.as_ref().is_some_and(|remote| remote.same_repository(url)) =>
        {
            Ok(Some(found))
        }
        Err(RepositoryError::NoGit) => Err(CloneError::NoGit),
        _ => Err(CloneError::Occupied { folder: folder.to_owned(), url: url.clone() }),
    }
}

/// Runs `git clone`. Shows progress and asks for credentials only at a terminal.
async fn fetch(url: &GitUrl, to: &Utf8Path) -> Result<(), CloneError> {
    let watched = io::stderr().is_terminal();
    let refused = |err: io::Error| match err.kind() {
        io::ErrorKind::NotFound => CloneError::NoGit,
        _ => CloneError::Refused { url: url.clone(), said: err.to_string() },
    };
    let mut command = ao_git::command(Path::new("."), true).await.map_err(refused)?;
    // The user may have helpers that read credentials from the environment, and there is no repository yet that could
    // name a program.
    let misleads = |name: &OsStr| ao_git::MISLEADING.iter().any(|known| name == *known);
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(b"GIT_CONFIG_");
    command.envs(std::env::vars_os().filter(|(name, _)| !misleads(name) && !is_ours(name)));
    command.env_remove("GIT_TERMINAL_PROMPT");
    // Give up on a silent server, but not on a slow one.
    command.args(["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60", "clone"]);
    command.arg(if watched { "--progress" } else { "--quiet" }).arg("--").arg(url.to_string()).arg(to);
    if !io::stdin().is_terminal() {
        command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    }
    command.stdout(Stdio::null()).stderr(if watched { Stdio::inherit() } else { Stdio::piped() });
    let mut child = command.kill_on_drop(true).spawn().map_err(refused)?;
    let complaints = child.stderr.take();
    let (status, said) = tokio::join!(ended(url, &mut child), last_words(complaints));
    if status?.success() {
        return Ok(());
    }
    let said = match said.is_empty() {
        true if watched => "see git's message above".to_owned(),
        true => "git gave no reason".to_owned(),
        false => said,
    };
    Err(CloneError::Refused { url: url.clone(), said })
}

/// Waits for its exit, and ends it if we are interrupted.
async fn ended(url: &GitUrl, child: &mut Child) -> Result<ExitStatus, CloneError> {
    let refused = |err: io::Error| CloneError::Refused { url: url.clone(), said: err.to_string() };
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
    let wanted = tokio::select! {
        status = child.wait() => return status.map_err(refused),
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
    };
    // From a terminal it has received the signal already; a second one does no harm.
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        kill_process(pid, Signal::TERM).ok();
    }
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        child.kill().await.ok();
    }
    Err(CloneError::Interrupted(wanted))
}

/// Returns git's last message, without `fatal:`.
async fn last_words(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let mut kept = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        kept.extend_from_slice(&piece[..read]);
        let surplus = kept.len().saturating_sub(COMPLAINT);
        kept.drain(..surplus);
    }
    let text = program::text(&kept);
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("warning:"));
    lines.map(|line| line.strip_prefix("fatal: ").unwrap_or(line)).collect::<Vec<_>>().join("; ")
}
