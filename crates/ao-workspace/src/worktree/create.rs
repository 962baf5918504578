//! Creates a worktree, in steps that can each be found done.
//!
//! ```text
//!  fetch the base (shared) ──► in the repository's queue: intent, git worktree add --no-checkout, identity
//!                          ──► beside the others: files, submodules ──► marker
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_ports::CreatedWorkspace;

use super::paths::{self, FOLDER};
use super::undo_removal;
use crate::error::TreeError;
use crate::git_workspaces::GitWorkspaces;
use crate::marker::{CreationIntent, TreeMarker};
use crate::own_tree::{OwnTree, wait_for_git};
use crate::repository::{ListedWorktree, Repository, at, same};
use crate::start::{self, BranchOrigin, TreeStart, made};
use crate::{checkout, config, read_only};
use ao_git::GitError;

/// Creates the worktree, or completes it, or finds it complete. The caller holds the queue of its path.
pub(super) async fn create(
    shared: &GitWorkspaces,
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<CreatedWorkspace, TreeError> {
    if undo_removal::is_under_way(repository, session) {
        // A removal was interrupted. The session is needed after all, so the rest of its tree is restored.
        undo_removal::wait_for_removal(repository, session).await?;
        let _turn = shared.queues.turn(&repository.common_dir).await;
        undo_removal::take_back(repository, session).await?;
    }
    let intent = match found(repository, path, session, plan)? {
        FoundTree::Whole(marker) => {
            // An agent that is started again must not work in a folder that has replaced the tree.
            OwnTree::worktree(repository, path, session)?;
            settle(repository, path, session).await?;
            return Ok(made(path, &marker.base));
        }
        FoundTree::Begun(intent) => {
            wait_for_git(path, repository.git_dir_of(path).as_deref()).await?;
            Some(intent)
        }
        FoundTree::Nothing => {
            start::fetch_for(repository, session, plan, &shared.fetches, &shared.options).await?;
            None
        }
    };
    let intent = {
        let _turn = shared.queues.turn(&repository.common_dir).await;
        register(repository, path, session, plan, intent).await?
    };
    finish(shared, repository, session, &intent).await?;
    Ok(made(path, &intent.base))
}

/// The existing state.
enum FoundTree {
    Nothing,
    /// A creation of ours that was interrupted.
    Begun(CreationIntent),
    Whole(TreeMarker),
}

fn found(
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<FoundTree, TreeError> {
    let marker = match repository.git_dir_of(path) {
        Some(git_dir) => TreeMarker::read(&git_dir)?,
        None => None,
    };
    if let Some(marker) = marker {
        if marker.session != session {
            return Err(TreeError::Taken { path: path.to_owned() });
        }
        if path.exists() {
            return Ok(FoundTree::Whole(marker));
        }
    }
    let intent = CreationIntent::read(&repository.common_dir, session)?
        .filter(|intent| intent.path == path && intent.branch == plan.branch);
    Ok(intent.map_or(FoundTree::Nothing, FoundTree::Begun))
}

/// Registers the worktree with git, with its branch and without files, or determines what is left to do of that.
async fn register(
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
    intent: Option<CreationIntent>,
) -> Result<CreationIntent, TreeError> {
    let listed = repository.worktrees().await?;
    let here = at(&listed, path);
    let marked = match repository.git_dir_of(path) {
        Some(git_dir) => TreeMarker::read(&git_dir)?.is_some(),
        None => false,
    };
    match (here, intent) {
        (Some(half_made), Some(intent)) if path.exists() => {
            resume(repository, half_made, &intent).await?;
            return Ok(intent);
        }
        // Only its entry is left; git removes that, and there is no folder to lose.
        (Some(gone), intent) if (marked || intent.is_some()) && !path.exists() => {
            forget_entry(repository, gone).await?;
        }
        (Some(_), _) => return Err(TreeError::NotOurs { path: path.to_owned() }),
        (None, _) if path.exists() && !paths::is_empty_folder(path) => {
            return Err(TreeError::NotOurs { path: path.to_owned() });
        }
        (None, _) => {}
    }
    if let Some(other) = listed.iter().find(|it| it.is_on(&plan.branch) && !same(&it.path, path)) {
        return Err(TreeError::BranchInUse { branch: plan.branch.clone(), other: other.path.clone() });
    }
    let start = start::choose(repository, session, plan).await?;
    hide_folder(repository)?;
    config::allow_own_settings(repository).await?;
    let intent = CreationIntent {
        path: path.to_owned(),
        branch: plan.branch.clone(),
        new_branch: matches!(start.branch, BranchOrigin::New | BranchOrigin::Tracking),
        base: start.commit.clone(),
        base_branch: plan.base_branch.clone(),
        snapshot: start.snapshot.clone(),
        read_only: matches!(plan.origin, Origin::Read { .. }),
    };
    intent.write(&repository.common_dir, session)?;
    add(repository, path, plan, &start).await?;
    settle(repository, path, session).await?;
    Ok(intent)
}

async fn add(
    repository: &Repository,
    path: &Path,
    plan: &WorkspacePlan,
    start: &TreeStart,
) -> Result<(), TreeError> {
    let tried = |what: &str| TreeError::tried(format!("{what} `{}`", plan.branch));
    if let BranchOrigin::Behind { tip } = &start.branch {
        // With the tip that was examined: a commit in between is not overwritten.
        let args = ["update-ref", "-m", "ao: brought up", &start::local(&plan.branch), &start.commit, tip];
        repository.git.write(&args).await.map_err(tried("bring up the branch"))?;
    }
    let (path_text, remote) = (path.to_string_lossy(), start::remote(&plan.branch));
    let how: &[&str] = match &start.branch {
        BranchOrigin::Here | BranchOrigin::Behind { .. } => &[&path_text, &plan.branch],
        BranchOrigin::None => &["--detach", &path_text, &start.commit],
        BranchOrigin::New => &["--no-track", "-b", &plan.branch, &path_text, &start.commit],
        BranchOrigin::Tracking => &["--track", "-b", &plan.branch, &path_text, &remote],
    };
    let args = [&["worktree", "add", "--quiet", "--no-checkout"], how].concat();
    match repository.git.write(&args).await {
        Ok(_) => Ok(()),
        Err(err) => Err(match held_by(&err) {
            // A branch that is being rebased or bisected is on no head, but still in use.
            Some(other) => TreeError::BranchInUse { branch: plan.branch.clone(), other },
            None => tried("make a worktree for the branch")(err),
        }),
    }
}

/// Returns the worktree that holds the branch, if that is git's complaint.
fn held_by(err: &GitError) -> Option<PathBuf> {
    let stderr = err.stderr();
    let (_, place) = ["already used by worktree at '", "already checked out at '"]
        .iter()
        .find_map(|words| stderr.split_once(words))?;
    place.split_once('\'').map(|(place, _)| place.into())
}

/// Resumes a `git worktree add` of ours that was interrupted and has ended since. No agent has worked in it: agents
/// start after the marker is written.
pub(super) async fn resume(
    repository: &Repository,
    half_made: &ListedWorktree,
    intent: &CreationIntent,
) -> Result<(), TreeError> {
    let path = half_made.path.to_string_lossy();
    let tried = || TreeError::tried(format!("go on with the half-made worktree `{path}`"));
    let git = &repository.git;
    if half_made.locked {
        git.write(&["worktree", "unlock", &path]).await.map_err(tried())?;
    }
    if !intent.read_only && repository.commit(&start::local(&intent.branch)).await?.is_none() {
        git.write(&["branch", "--no-track", &intent.branch, &intent.base]).await.map_err(tried())?;
    }
    let Some(git_dir) = repository.git_dir_of(&half_made.path) else {
        return Err(TreeError::NotOurs { path: half_made.path.clone() });
    };
    match fs::remove_file(git_dir.join("index.lock")) {
        Err(err) if err.kind() != ErrorKind::NotFound => {
            Err(TreeError::file("remove the stale lock in", git_dir)(err))
        }
        _ => Ok(()),
    }
}

/// Checks out the files of a registered worktree and writes our marker, which completes it.
pub(super) async fn finish(
    shared: &GitWorkspaces,
    repository: &Repository,
    session: SessionId,
    intent: &CreationIntent,
) -> Result<(), TreeError> {
    let tree = OwnTree::worktree(repository, &intent.path, session)?;
    if !intent.read_only
        && !matches!(ao_git::refs::head(&repository.common_dir, &tree.git_dir), Some(ao_git::refs::HeadPosition::Branch(on)) if on == intent.branch)
    {
        tree.writer()?.write(&["symbolic-ref", "HEAD", &start::local(&intent.branch)]).await?;
    }
    settle(repository, &intent.path, session).await?;
    shared.checkouts.files(&tree, intent.snapshot.as_deref()).await?;
    checkout::submodules(repository, &tree, &shared.queues, &shared.options).await?;
    if intent.read_only {
        read_only::close(&tree.path)?;
    }
    let marker = TreeMarker {
        session,
        base: intent.base.clone(),
        base_branch: intent.base_branch.clone(),
        lent: false,
        read_only: intent.read_only,
    };
    marker.write(&tree.git_dir)?;
    CreationIntent::clear(&repository.common_dir, session)
}

/// Makes git forget a worktree whose folder is gone.
pub(super) async fn forget_entry(repository: &Repository, gone: &ListedWorktree) -> Result<(), TreeError> {
    let path = gone.path.to_string_lossy();
    let tried = || TreeError::tried(format!("forget the worktree `{path}`, whose folder is gone"));
    if gone.locked {
        repository.git.write(&["worktree", "unlock", &path]).await.map_err(tried())?;
    }
    repository.git.write(&["worktree", "remove", &path]).await.map_err(tried())?;
    Ok(())
}

/// Writes the worktree's identity and its push settings, in a file of git that only this worktree reads.
async fn settle(repository: &Repository, path: &Path, session: SessionId) -> Result<(), TreeError> {
    let not_ours = || TreeError::NotOurs { path: path.to_owned() };
    let git_dir = repository.git_dir_of(path).ok_or_else(not_ours)?;
    let file = git_dir.join("config.worktree");
    config::write_identity(&file, session)?;
    config::write_pushing(&file, !config::has_push_remote(repository).await?)
}

/// Hides our folder from the user's `git status`, in a file that belongs to this clone only.
fn hide_folder(repository: &Repository) -> Result<(), TreeError> {
    let line = format!("/{FOLDER}/");
    let path = repository.common_dir.join("info").join("exclude");
    let known = match fs::read_to_string(&path) {
        Ok(known) => known,
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        Err(err) => return Err(TreeError::file("read", path)(err)),
    };
    if known.lines().any(|known| known.trim() == line) {
        return Ok(());
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    fs::create_dir_all(repository.common_dir.join("info")).map_err(TreeError::file("make", &path))?;
    fs::write(&path, format!("{known}{gap}{line}\n")).map_err(TreeError::file("write", path))
}
