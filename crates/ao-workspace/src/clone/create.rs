//! Creates a clone. Until it is complete it has another name, so a clone at its final path is complete.

use std::fs;
use std::path::Path;

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_ports::CreatedWorkspace;

use super::{paths, settings};
use crate::error::TreeError;
use crate::git_workspaces::GitWorkspaces;
use crate::marker::{CreationIntent, TreeMarker};
use crate::own_tree::{OwnTree, wait_for_git};
use crate::repository::Repository;
use crate::start::{self, BranchOrigin, TreeStart, made};
use crate::{checkout, config, size};

/// Creates the clone, or finds it complete. The caller holds the queue of its path.
pub(super) async fn create(
    shared: &GitWorkspaces,
    source: &Repository,
    path: &Path,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<CreatedWorkspace, TreeError> {
    if let Some(marker) = TreeMarker::read(&path.join(".git"))? {
        if marker.session != session {
            return Err(TreeError::CloneTaken { path: path.to_owned() });
        }
        return Ok(made(path, &marker.base));
    }
    if path.symlink_metadata().is_ok() {
        return Err(TreeError::NotOurs { path: path.to_owned() });
    }
    start::fetch_for(source, session, plan, &shared.fetches, &shared.options).await?;
    let start = start::choose(source, session, plan).await?;
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(TreeError::file("make", folder))?;
    let partial = paths::being_made(folder, session);
    discard(source, &partial, session).await?;
    let intent = CreationIntent {
        path: partial.clone(),
        branch: plan.branch.clone(),
        new_branch: true,
        base: start.commit.clone(),
        base_branch: plan.base_branch.clone(),
        snapshot: start.snapshot.clone(),
        read_only: false,
    };
    intent.write(&source.common_dir, session)?;
    copy(source, &partial, plan).await?;
    let tree = OwnTree::clone_of(source, &partial, session)?;
    furnish(shared, source, &tree, session, plan, &start).await?;
    let marker = TreeMarker {
        session,
        base: start.commit.clone(),
        base_branch: plan.base_branch.clone(),
        lent: false,
        read_only: false,
    };
    marker.write(&tree.git_dir)?;
    fs::rename(&partial, path).map_err(TreeError::file("move into place", &partial))?;
    CreationIntent::clear(&source.common_dir, session)?;
    Ok(made(path, &start.commit))
}

/// Removes the leftovers of an interrupted creation under its temporary name. No agent has worked there.
pub(super) async fn discard(
    source: &Repository,
    partial: &Path,
    session: SessionId,
) -> Result<(), TreeError> {
    let begun =
        CreationIntent::read(&source.common_dir, session)?.is_some_and(|intent| intent.path == partial);
    if partial.symlink_metadata().is_err() {
        return Ok(());
    }
    if !begun {
        return Err(TreeError::NotOurs { path: partial.to_owned() });
    }
    wait_for_git(partial, None).await?;
    size::delete(partial.to_owned()).await.map_err(TreeError::file("remove the half-made clone", partial))
}

/// Copies the repository, without files.
async fn copy(source: &Repository, partial: &Path, plan: &WorkspacePlan) -> Result<(), TreeError> {
    let (from, to) = (source.root.to_string_lossy(), partial.to_string_lossy());
    // Without a template: the user's hooks and other template files are meant for the user's own repositories.
    let args = ["clone", "--quiet", "--local", "--no-checkout", "--template=", "--", &from, &to];
    source
        .git
        .write(&args)
        .await
        .map_err(TreeError::tried(format!("clone `{from}` for the branch `{}`", plan.branch)))?;
    config::close(&partial.join(".git").join("config"))
}

/// Makes a relative URL valid in another folder.
fn from_here(source: &Repository, address: String) -> String {
    match address.starts_with("./") || address.starts_with("../") {
        true => source.root.join(address).to_string_lossy().into_owned(),
        false => address,
    }
}

/// Turns a bare copy into the session's workspace.
async fn furnish(
    shared: &GitWorkspaces,
    source: &Repository,
    tree: &OwnTree,
    session: SessionId,
    plan: &WorkspacePlan,
    start: &TreeStart,
) -> Result<(), TreeError> {
    let what = || TreeError::tried(format!("prepare the clone `{}`", tree.path.display()));
    if let Some(origin) = config::origin(source).await? {
        // So far `origin` is the source, whose branches are not the remote's; its remote-tracking refs are.
        let known = "+refs/remotes/origin/*:refs/remotes/origin/*";
        let args =
            ["fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance"];
        tree.writer()?.write(&[&args[..], &["origin", known]].concat()).await.map_err(what())?;
        let git = tree.writer()?;
        let origin = from_here(source, origin);
        // Not by `git remote set-url`: a URL may contain a token, and arguments are visible to all users.
        git.write(&["config", "--local", "--unset-all", "remote.origin.url"]).await.map_err(what())?;
        config::append(&tree.git_dir.join("config"), &config::section("remote.origin", &[("url", &origin)]))?;
        // It pointed to the branch that the source has checked out, which is the user's business.
        let (head, base) = ("refs/remotes/origin/HEAD", start::remote(&plan.base_branch));
        match source.commit(&base).await? {
            Some(_) => git.write(&["symbolic-ref", head, &base]).await.map_err(what())?,
            None => git.write(&["remote", "set-head", "origin", "--delete"]).await.map_err(what())?,
        };
    }
    if let Some(snapshot) = &start.snapshot {
        let from = source.root.to_string_lossy();
        let rescue = plan.rescue.as_deref().unwrap_or(snapshot);
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
        tree.writer()?.write(&[&args[..], &[&from, rescue]].concat()).await.map_err(what())?;
    }
    settings::bring(source, &tree.git_dir).await?;
    config::write_identity(&tree.git_dir.join("config"), session)?;
    config::write_pushing(&tree.git_dir.join("config"), false)?;
    let git = tree.writer()?;
    let track = matches!(start.branch, BranchOrigin::Tracking);
    git.write(&["update-ref", &start::local(&plan.branch), &start.commit]).await.map_err(what())?;
    git.write(&["symbolic-ref", "HEAD", &start::local(&plan.branch)]).await.map_err(what())?;
    if track {
        let upstream = format!("--set-upstream-to=origin/{}", plan.branch);
        git.write(&["branch", "--quiet", &upstream]).await.map_err(what())?;
    }
    shared.checkouts.files(tree, start.snapshot.as_deref()).await?;
    let own = Repository {
        root: tree.path.clone(),
        common_dir: tree.git_dir.clone(),
        git: tree.git().clone(),
        settings: source.settings.clone(),
    };
    checkout::submodules(&own, tree, &shared.queues, &shared.options).await
}
