//! Making a worktree, in steps of which each can be found done.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_ports::Made;

use super::error::WorktreeError;
use super::marker::{Intent, Marker};
use super::place::{self, FOLDER};
use super::repository::{Listed, Repository, same};
use crate::git::Git;

/// Makes the worktree, or finishes it, or finds it made. The caller holds the repository's queue.
pub(super) async fn create(
    repository: &Repository,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<Made, WorktreeError> {
    let path = place::for_name(repository, &plan.name)?;
    let listed = repository.worktrees().await?;
    let here = listed.iter().find(|listed| same(&listed.path, &path));
    let intent = Intent::read(&repository.common_dir, session)?
        .filter(|intent| intent.path == path && intent.branch == plan.branch);
    let marker = match here.and_then(|_| repository.git_dir_of(&path)) {
        Some(git_dir) => Marker::read(&git_dir)?,
        None => None,
    };
    if let Some(marker) = &marker {
        if marker.session != session {
            return Err(WorktreeError::Taken { path, owner: marker.session });
        }
        if path.exists() {
            settle(repository, &path, session, &marker.base).await?;
            return Ok(made(&path, &marker.base));
        }
    }
    let ours = marker.is_some() || intent.is_some();
    match here {
        Some(half_made) if ours && path.exists() => {
            let base =
                intent.map_or_else(|| half_made.head.clone().unwrap_or_default(), |intent| intent.base);
            finish(repository, half_made, session, &plan.branch, &base).await?;
            return Ok(made(&path, &base));
        }
        // Only its entry is left; git takes that away, and there is no folder to lose.
        Some(gone) if ours => {
            if gone.locked {
                repository.git.write(&["worktree", "unlock", &path.to_string_lossy()]).await?;
            }
            repository.git.write(&["worktree", "remove", &path.to_string_lossy()]).await?;
        }
        Some(_) => return Err(WorktreeError::NotOurs { path }),
        None if path.exists() && !is_empty_folder(&path) => return Err(WorktreeError::NotOurs { path }),
        None => {}
    }
    if let Some(other) = listed
        .iter()
        .find(|listed| listed.branch.as_deref() == Some(plan.branch.as_str()) && !same(&listed.path, &path))
    {
        return Err(WorktreeError::BranchInUse { branch: plan.branch.clone(), other: other.path.clone() });
    }
    let start = start(repository, plan).await?;
    let base = start.commit().to_owned();
    hide_folder(repository)?;
    let intent = Intent {
        path: path.clone(),
        branch: plan.branch.clone(),
        new_branch: matches!(start, Start::Commit(_)),
        base: base.clone(),
    };
    intent.write(&repository.common_dir, session)?;
    let path_text = path.to_string_lossy();
    match &start {
        Start::Branch(_) => {
            repository.git.write(&["worktree", "add", "--quiet", &path_text, &plan.branch]).await?;
        }
        Start::Commit(commit) => {
            let args =
                ["worktree", "add", "--quiet", "--no-track", "-b", &plan.branch, &path_text, commit.as_str()];
            repository.git.write(&args).await?;
        }
    }
    settle(repository, &path, session, &base).await?;
    Ok(made(&path, &base))
}

fn made(path: &Path, base: &str) -> Made {
    Made { path: path.display().to_string(), base: base.to_owned(), as_found: false }
}

/// What a worktree begins with.
enum Start {
    /// The branch exists; here is its tip.
    Branch(String),
    Commit(String),
}

impl Start {
    fn commit(&self) -> &str {
        match self {
            Start::Branch(commit) | Start::Commit(commit) => commit,
        }
    }
}

async fn start(repository: &Repository, plan: &WorkspacePlan) -> Result<Start, WorktreeError> {
    let git = &repository.git;
    if let Some(tip) = git.commit(&format!("refs/heads/{}", plan.branch)).await? {
        return Ok(Start::Branch(tip));
    }
    if let Some(rescue) = &plan.rescue
        && let Some(commit) = git.commit(rescue).await?
    {
        return Ok(Start::Commit(commit));
    }
    for name in
        [format!("refs/heads/{}", plan.base_branch), format!("refs/remotes/origin/{}", plan.base_branch)]
    {
        if let Some(commit) = git.commit(&name).await? {
            return Ok(Start::Commit(commit));
        }
    }
    let path = repository.root.clone();
    Err(match git.commit("HEAD").await? {
        None => WorktreeError::Unborn { path },
        Some(_) => WorktreeError::NoBase { path, branch: plan.base_branch.clone() },
    })
}

/// Goes on where a `git worktree add` of ours was cut off. Nobody has worked in it: the agent starts after the marker.
pub(super) async fn finish(
    repository: &Repository,
    half_made: &Listed,
    session: SessionId,
    branch: &str,
    base: &str,
) -> Result<(), WorktreeError> {
    let path = &half_made.path;
    let head = format!("refs/heads/{branch}");
    if half_made.locked {
        repository.git.write(&["worktree", "unlock", &path.to_string_lossy()]).await?;
    }
    if repository.git.commit(&head).await?.is_none() {
        repository.git.write(&["branch", "--no-track", branch, base]).await?;
    }
    if let Some(git_dir) = repository.git_dir_of(path) {
        match fs::remove_file(git_dir.join("index.lock")) {
            Err(err) if err.kind() != ErrorKind::NotFound => {
                return Err(WorktreeError::file("remove the stale lock in", git_dir)(err));
            }
            _ => {}
        }
    }
    let git = Git::at(path);
    git.write(&["symbolic-ref", "HEAD", &head]).await?;
    git.write(&["reset", "--hard", "--quiet"]).await?;
    settle(repository, path, session, base).await
}

/// Gives the worktree its identity and our marker, and so makes it whole.
async fn settle(
    repository: &Repository,
    path: &Path,
    session: SessionId,
    base: &str,
) -> Result<(), WorktreeError> {
    allow_own_settings(repository).await?;
    let git = Git::at(path);
    for (key, value) in [
        ("user.name", format!("Agent {session}")),
        ("user.email", format!("agent-{session}@orchestrator.local")),
    ] {
        git.write(&["config", "--worktree", key, &value]).await?;
    }
    let git_dir =
        repository.git_dir_of(path).ok_or_else(|| WorktreeError::NotOurs { path: path.to_owned() })?;
    Marker { session, base: base.to_owned() }.write(&git_dir)?;
    Intent::clear(&repository.common_dir, session)
}

/// Lets each worktree have settings that the others do not see.
async fn allow_own_settings(repository: &Repository) -> Result<(), WorktreeError> {
    let git = &repository.git;
    if git.asks(&["config", "--local", "--get", "extensions.worktreeConfig"]).await? {
        return Ok(());
    }
    // With the extension on, this one would hold for every worktree; git wants it moved, which is not ours to do.
    if git.asks(&["config", "--local", "--get", "core.worktree"]).await? {
        return Err(WorktreeError::OwnWorktree { path: repository.root.clone() });
    }
    Ok(git.write(&["config", "--local", "extensions.worktreeConfig", "true"]).await?)
}

/// Keeps our folder out of the user's `git status`, in a file that belongs to this clone only.
fn hide_folder(repository: &Repository) -> Result<(), WorktreeError> {
    let line = format!("/{FOLDER}/");
    let path = repository.common_dir.join("info").join("exclude");
    let known = match fs::read_to_string(&path) {
        Ok(known) => known,
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        Err(err) => return Err(WorktreeError::file("read", path)(err)),
    };
    if known.lines().any(|known| known.trim() == line) {
        return Ok(());
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    fs::create_dir_all(repository.common_dir.join("info")).map_err(WorktreeError::file("make", &path))?;
    fs::write(&path, format!("{known}{gap}{line}\n")).map_err(WorktreeError::file("write", path))
}

pub(super) fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
