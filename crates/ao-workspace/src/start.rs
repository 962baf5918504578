//! Chooses the start of a tree: a new branch off the base, an existing branch, a pull request, or its own last state.

use std::path::Path;

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_ports::CreatedWorkspace;
use tracing::warn;

use crate::error::TreeError;
use crate::options::Options;
use crate::repository::Repository;
use crate::{fetch, rescue};

/// The start of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeStart {
    pub(crate) commit: String,
    pub(crate) branch: BranchOrigin,
    /// A commit whose files are put over those of the branch: uncommitted work of an earlier tree.
    pub(crate) snapshot: Option<String>,
}

/// The origin of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BranchOrigin {
    /// It exists, with that commit as its tip.
    Here,
    /// It exists and is behind; fast-forwarding it to that commit loses nothing.
    Behind { tip: String },
    /// It is created.
    New,
    /// There is none: a read-only tree is on no branch.
    None,
    /// It is created from the remote branch of the same name, and tracks it.
    Tracking,
}

/// Fetches what the tree may start from, if another machine has it. Holds no queue.
pub(crate) async fn fetch_for(
    repository: &Repository,
    session: SessionId,
    plan: &WorkspacePlan,
    fetches: &fetch::RecentFetches,
    options: &Options,
) -> Result<(), TreeError> {
    match &plan.origin {
        _ if plan.rescue.is_some() => {}
        Origin::Base => fetches.branch(repository, &plan.base_branch, options).await,
        Origin::Branch => {
            if repository.commit(&local(&plan.branch)).await?.is_none() {
                fetches.branch(repository, &plan.branch, options).await;
            }
        }
        Origin::Pull { fetch } => {
            let here = repository.commit(&local(&plan.branch)).await?;
            match fetch::pull(repository, session, fetch, &plan.branch, options).await {
                Err(err) if here.is_some() => {
                    warn!(%session, %err, "the pull request could not be fetched; its branch is used as it is");
                }
                fetched => drop(fetched?),
            }
        }
        Origin::Read { .. } | Origin::Tree { .. } => {}
    }
    Ok(())
}

/// Chooses the start of the tree, from the local state.
pub(crate) async fn choose(
    repository: &Repository,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<TreeStart, TreeError> {
    let here = repository.commit(&local(&plan.branch)).await?;
    if let Some(rescue) = &plan.rescue
        && let Some(state) = rescue::state(repository, rescue).await?
    {
        let (commit, branch) = joined(repository, &plan.branch, here, &state.commit).await?;
        // Files of another commit would undo later changes of the branch.
        let snapshot = state.snapshot.filter(|_| commit == state.commit);
        return Ok(TreeStart { commit, branch, snapshot });
    }
    if let Origin::Pull { .. } = plan.origin
        && let Some(head) = repository.commit(&fetch::pull_ref(session)).await?
    {
        let (commit, branch) = joined(repository, &plan.branch, here, &head).await?;
        return Ok(TreeStart { commit, branch, snapshot: None });
    }
    if let Origin::Read { commit, .. } = &plan.origin {
        return match repository.git.commit(commit).await? {
            Some(commit) => Ok(TreeStart { commit, branch: BranchOrigin::None, snapshot: None }),
            None => Err(TreeError::NoBase { path: repository.root.clone(), branch: commit.clone() }),
        };
    }
    if let Some(commit) = here {
        return Ok(TreeStart { commit, branch: BranchOrigin::Here, snapshot: None });
    }
    if plan.origin == Origin::Branch {
        return match repository.commit(&remote(&plan.branch)).await? {
            Some(commit) => Ok(TreeStart { commit, branch: BranchOrigin::Tracking, snapshot: None }),
            None => Err(TreeError::NoBranch { path: repository.root.clone(), branch: plan.branch.clone() }),
        };
    }
    match base(repository, &plan.base_branch).await? {
        Some(commit) => Ok(TreeStart { commit, branch: BranchOrigin::New, snapshot: None }),
        None => {
            let path = repository.root.clone();
            Err(match repository.git.commit("HEAD").await? {
                None => TreeError::Unborn { path },
                Some(_) => TreeError::NoBase { path, branch: plan.base_branch.clone() },
            })
        }
    }
}

/// Returns the commit that new work starts from: of the local and the remote base branch the one that contains the
/// other, so that neither a colleague's push nor an unpushed local commit is left out. If they have diverged, the
/// remote's, because pull requests are compared with that; this is logged.
async fn base(repository: &Repository, branch: &str) -> Result<Option<String>, TreeError> {
    let (here, there) = (repository.commit(&local(branch)).await?, repository.commit(&remote(branch)).await?);
    let (Some(here), Some(there)) = (&here, &there) else { return Ok(here.or(there)) };
    if here == there || is_ancestor(repository, here, there).await? {
        return Ok(Some(there.clone()));
    }
    if is_ancestor(repository, there, here).await? {
        return Ok(Some(here.clone()));
    }
    warn!(
        repository = %repository.root.display(),
        branch,
        "the base branch here and at origin have gone apart; work starts from origin's, without the commits that are only here"
    );
    Ok(Some(there.clone()))
}

/// Decides about a branch that should contain a commit: created there, fast-forwarded there, or left as it is if it has
/// other commits.
async fn joined(
    repository: &Repository,
    branch: &str,
    here: Option<String>,
    wanted: &str,
) -> Result<(String, BranchOrigin), TreeError> {
    let Some(tip) = here else { return Ok((wanted.to_owned(), BranchOrigin::New)) };
    if tip != wanted && is_ancestor(repository, &tip, wanted).await? {
        return Ok((wanted.to_owned(), BranchOrigin::Behind { tip }));
    }
    if tip != wanted && !is_ancestor(repository, wanted, &tip).await? {
        warn!(branch, wanted, "the branch has gone another way meanwhile, and is used as it is");
    }
    Ok((tip, BranchOrigin::Here))
}

async fn is_ancestor(repository: &Repository, older: &str, newer: &str) -> Result<bool, TreeError> {
    Ok(repository.git.asks(&["merge-base", "--is-ancestor", older, newer]).await?)
}

/// Describes a tree that was made at this path.
pub(crate) fn made(path: &Path, base: &str) -> CreatedWorkspace {
    CreatedWorkspace { path: path.display().to_string(), base: base.to_owned(), as_found: false }
}

pub(crate) fn local(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

pub(crate) fn remote(branch: &str) -> String {
    format!("refs/remotes/origin/{branch}")
}
