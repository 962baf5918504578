//! What a tree begins with: a new branch off the base, a branch that exists, a pull request, or its own last state.

use ao_core::SessionId;
use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use tracing::warn;

use crate::error::TreeError;
use crate::options::Options;
use crate::repository::Repository;
use crate::{fetch, rescue};

/// What a tree begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) commit: String,
    pub(crate) branch: Branch,
    /// A commit whose files are put over those of the branch: what was never committed in an earlier tree.
    pub(crate) snapshot: Option<String>,
}

/// Where the branch comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branch {
    /// It exists, and stands on that commit.
    Here,
    /// It exists and is behind; nothing is lost if it goes on to that commit.
    Behind {
        tip: String,
    },
    New,
    /// There is none: what is only read is on no branch.
    None,
    /// It is made from the remote's branch of the same name, and follows it.
    Tracking,
}

/// Brings what the tree may begin with here, as far as another machine has it. Holds no queue.
pub(crate) async fn fetch_for(
    repository: &Repository,
    session: SessionId,
    plan: &WorkspacePlan,
    fetches: &fetch::Fetches,
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

/// Chooses what the tree begins with, from what is here.
pub(crate) async fn choose(
    repository: &Repository,
    session: SessionId,
    plan: &WorkspacePlan,
) -> Result<Start, TreeError> {
    let here = repository.commit(&local(&plan.branch)).await?;
    if let Some(rescue) = &plan.rescue
        && let Some(state) = rescue::state(repository, rescue).await?
    {
        let (commit, branch) = joined(repository, &plan.branch, here, &state.commit).await?;
        // Files of another commit would undo what the branch has got since.
        let snapshot = state.snapshot.filter(|_| commit == state.commit);
        return Ok(Start { commit, branch, snapshot });
    }
    if let Origin::Pull { .. } = plan.origin
        && let Some(head) = repository.commit(&fetch::pull_ref(session)).await?
    {
        let (commit, branch) = joined(repository, &plan.branch, here, &head).await?;
        return Ok(Start { commit, branch, snapshot: None });
    }
    if let Origin::Read { commit, .. } = &plan.origin {
        return match repository.git.commit(commit).await? {
            Some(commit) => Ok(Start { commit, branch: Branch::None, snapshot: None }),
            None => Err(TreeError::NoBase { path: repository.root.clone(), branch: commit.clone() }),
        };
    }
    if let Some(commit) = here {
        return Ok(Start { commit, branch: Branch::Here, snapshot: None });
    }
    if plan.origin == Origin::Branch {
        return match repository.commit(&remote(&plan.branch)).await? {
            Some(commit) => Ok(Start { commit, branch: Branch::Tracking, snapshot: None }),
            None => Err(TreeError::NoBranch { path: repository.root.clone(), branch: plan.branch.clone() }),
        };
    }
    match base(repository, &plan.base_branch).await? {
        Some(commit) => Ok(Start { commit, branch: Branch::New, snapshot: None }),
        None => {
            let path = repository.root.clone();
            Err(match repository.git.commit("HEAD").await? {
                None => TreeError::Unborn { path },
                Some(_) => TreeError::NoBase { path, branch: plan.base_branch.clone() },
            })
        }
    }
}

/// The commit that new work starts from: of the base branch here and at the remote the one that has the other, so that
/// neither a colleague's push nor a commit that a person has not pushed yet is left out. If each has what the other has
/// not, the remote's, because pull requests are compared with that; and it is said.
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

/// A branch that is to have a commit: made there, or gone on to there, or left as it is if it has more of its own.
async fn joined(
    repository: &Repository,
    branch: &str,
    here: Option<String>,
    wanted: &str,
) -> Result<(String, Branch), TreeError> {
    let Some(tip) = here else { return Ok((wanted.to_owned(), Branch::New)) };
    if tip != wanted && is_ancestor(repository, &tip, wanted).await? {
        return Ok((wanted.to_owned(), Branch::Behind { tip }));
    }
    if tip != wanted && !is_ancestor(repository, wanted, &tip).await? {
        warn!(branch, wanted, "the branch has gone another way meanwhile, and is used as it is");
    }
    Ok((tip, Branch::Here))
}

async fn is_ancestor(repository: &Repository, older: &str, newer: &str) -> Result<bool, TreeError> {
    Ok(repository.git.asks(&["merge-base", "--is-ancestor", older, newer]).await?)
}

pub(crate) fn local(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

pub(crate) fn remote(branch: &str) -> String {
    format!("refs/remotes/origin/{branch}")
}
