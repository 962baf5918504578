//! Making a worktree, in steps of which each can be found done.
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
use ao_ports::Made;

use super::place::{self, FOLDER};
use super::removing;
use crate::error::TreeError;
use crate::marker::{Intent, Marker};
use crate::own::{OwnTree, nobody_at_work};
use crate::repository::{Listed, Repository, at, same};
use crate::shop::Shop;
use crate::start::{self, Branch, Start};
use crate::{checkout, closed, config};
use ao_git::GitError;

/// Makes the worktree, or finishes it, or finds it made. The caller holds the queue of its place.
pub(super) async fn create(
    shop: &Shop,
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<Made, TreeError> {
    if removing::is_under_way(repository, session) {
        // A removal that was cut off. The session is wanted after all, so what is left of its tree is made whole.
        removing::nobody_removes(repository, session).await?;
        let _turn = shop.queues.turn(&repository.common_dir).await;
        removing::take_back(repository, session).await?;
    }
    let intent = match found(repository, path, session, plan)? {
        Found::Whole(marker) => {
            // An agent that is started again must not be put into whatever has taken the tree's place.
            OwnTree::worktree(repository, path, session)?;
            settle(repository, path, session).await?;
            return Ok(made(path, &marker.base));
        }
        Found::Begun(intent) => {
            nobody_at_work(path, repository.git_dir_of(path).as_deref()).await?;
            Some(intent)
        }
        Found::Nothing => {
            start::fetch_for(repository, session, plan, &shop.fetches, &shop.options).await?;
            None
        }
    };
    let intent = {
        let _turn = shop.queues.turn(&repository.common_dir).await;
        register(repository, path, session, plan, intent).await?
    };
    finish(shop, repository, session, &intent).await?;
    Ok(made(path, &intent.base))
}

fn made(path: &Path, base: &str) -> Made {
    Made { path: path.display().to_string(), base: base.to_owned(), as_found: false }
}

/// What is there already.
enum Found {
    Nothing,
    /// A creation of ours that was cut off.
    Begun(Intent),
    Whole(Marker),
}

fn found(
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<Found, TreeError> {
    let marker = match repository.git_dir_of(path) {
        Some(git_dir) => Marker::read(&git_dir)?,
        None => None,
    };
    if let Some(marker) = marker {
        if marker.session != session {
            return Err(TreeError::Taken { path: path.to_owned() });
        }
        if path.exists() {
            return Ok(Found::Whole(marker));
        }
    }
    let intent = Intent::read(&repository.common_dir, session)?
        .filter(|intent| intent.path == path && intent.branch == plan.branch);
    Ok(intent.map_or(Found::Nothing, Found::Begun))
}

/// Makes the worktree known to git, with its branch and without files, or finds out what is left to do of that.
async fn register(
    repository: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
    intent: Option<Intent>,
) -> Result<Intent, TreeError> {
    let listed = repository.worktrees().await?;
    let here = at(&listed, path);
    let marked = match repository.git_dir_of(path) {
        Some(git_dir) => Marker::read(&git_dir)?.is_some(),
        None => false,
    };
    match (here, intent) {
        (Some(half_made), Some(intent)) if path.exists() => {
            resume(repository, half_made, &intent).await?;
            return Ok(intent);
        }
        // Only its entry is left; git takes that away, and there is no folder to lose.
        (Some(gone), intent) if (marked || intent.is_some()) && !path.exists() => {
            forget_entry(repository, gone).await?;
        }
        (Some(_), _) => return Err(TreeError::NotOurs { path: path.to_owned() }),
        (None, _) if path.exists() && !place::is_empty_folder(path) => {
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
    let intent = Intent {
        path: path.to_owned(),
        branch: plan.branch.clone(),
        new_branch: matches!(start.branch, Branch::New | Branch::Tracking),
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
    start: &Start,
) -> Result<(), TreeError> {
    let tried = |what: &str| TreeError::tried(format!("{what} `{}`", plan.branch));
    if let Branch::Behind { tip } = &start.branch {
        // With the tip that was looked at: a commit that came in between is not passed over.
        let args = ["update-ref", "-m", "ao: brought up", &start::local(&plan.branch), &start.commit, tip];
        repository.git.write(&args).await.map_err(tried("bring up the branch"))?;
    }
    let (path_text, remote) = (path.to_string_lossy(), start::remote(&plan.branch));
    let how: &[&str] = match &start.branch {
        Branch::Here | Branch::Behind { .. } => &[&path_text, &plan.branch],
        Branch::None => &["--detach", &path_text, &start.commit],
        Branch::New => &["--no-track", "-b", &plan.branch, &path_text, &start.commit],
        Branch::Tracking => &["--track", "-b", &plan.branch, &path_text, &remote],
    };
    let args = [&["worktree", "add", "--quiet", "--no-checkout"], how].concat();
    match repository.git.write(&args).await {
        Ok(_) => Ok(()),
        Err(err) => Err(match held_by(&err) {
            // A branch that is being rebased or bisected is on no head, and still somebody's.
            Some(other) => TreeError::BranchInUse { branch: plan.branch.clone(), other },
            None => tried("make a worktree for the branch")(err),
        }),
    }
}

/// The worktree that holds the branch, if that is what git complains of.
fn held_by(err: &GitError) -> Option<PathBuf> {
    let said = err.stderr();
    let (_, place) = ["already used by worktree at '", "already checked out at '"]
        .iter()
        .find_map(|words| said.split_once(words))?;
    place.split_once('\'').map(|(place, _)| place.into())
}

/// Goes on where a `git worktree add` of ours was cut off and has ended since. Nobody has worked in it: the agent starts
/// after the marker.
pub(super) async fn resume(
    repository: &Repository,
    half_made: &Listed,
    intent: &Intent,
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

/// Puts the files into a worktree that git knows, and our marker, and so makes it whole.
pub(super) async fn finish(
    shop: &Shop,
    repository: &Repository,
    session: SessionId,
    intent: &Intent,
) -> Result<(), TreeError> {
    let tree = OwnTree::worktree(repository, &intent.path, session)?;
    if !intent.read_only
        && !matches!(ao_git::refs::head(&repository.common_dir, &tree.git_dir), Some(ao_git::refs::HeadPosition::Branch(on)) if on == intent.branch)
    {
        tree.writer()?.write(&["symbolic-ref", "HEAD", &start::local(&intent.branch)]).await?;
    }
    settle(repository, &intent.path, session).await?;
    shop.checkouts.files(&tree, intent.snapshot.as_deref()).await?;
    checkout::submodules(repository, &tree, &shop.queues, &shop.options).await?;
    if intent.read_only {
        closed::close(&tree.path)?;
    }
    let marker = Marker {
        session,
        base: intent.base.clone(),
        base_branch: intent.base_branch.clone(),
        lent: false,
        read_only: intent.read_only,
    };
    marker.write(&tree.git_dir)?;
    Intent::clear(&repository.common_dir, session)
}

/// Lets git forget a worktree whose folder is gone.
pub(super) async fn forget_entry(repository: &Repository, gone: &Listed) -> Result<(), TreeError> {
    let path = gone.path.to_string_lossy();
    let tried = || TreeError::tried(format!("forget the worktree `{path}`, whose folder is gone"));
    if gone.locked {
        repository.git.write(&["worktree", "unlock", &path]).await.map_err(tried())?;
    }
    repository.git.write(&["worktree", "remove", &path]).await.map_err(tried())?;
    Ok(())
}

/// Gives the worktree its identity, and somewhere to push to. In a file of git's that is this worktree's alone.
async fn settle(repository: &Repository, path: &Path, session: SessionId) -> Result<(), TreeError> {
    let not_ours = || TreeError::NotOurs { path: path.to_owned() };
    let git_dir = repository.git_dir_of(path).ok_or_else(not_ours)?;
    let file = git_dir.join("config.worktree");
    config::write_identity(&file, session)?;
    config::write_pushing(&file, !config::has_push_remote(repository).await?)
}

/// Keeps our folder out of the user's `git status`, in a file that belongs to this clone only.
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
