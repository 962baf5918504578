//! Forges: where changes are reviewed, checked and merged.
//!
//! Every forge has the facts about pull requests and merges them ([`Scm`]). It may have two further parts, and declares a
//! missing one by `None`: [`ScmReviews`] and [`ScmChecks`].

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_core::order::{MergeOrder, TestOrder};
use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::queue::{LanePart, MergeAbilities, TestOutcome};
use ao_core::{Commit, ProjectId, PullId, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::check::ScmChecks;
use crate::reviews::ScmReviews;
use crate::service::{HintReceiver, ServiceError};

/// The reason why a forge did not do it.
pub type ScmError = ServiceError;

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPull {
    pub project: ProjectId,
    pub session: Option<SessionId>,
    pub head_branch: String,
    pub base_branch: String,
    /// Empty for the first line of the newest commit.
    pub title: String,
    pub body: String,
    pub draft: bool,
    pub labels: BTreeSet<String>,
    pub by: AuthorFacts,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        commit: Commit,
        /// The tip of the base now. It is past `commit` if an earlier call made the merge and the base moved since.
        tip: Commit,
        /// The reason why its branch still exists, if it was to be deleted.
        branch_left: Option<String>,
        /// The parts that landed with it, each with its own commit.
        #[serde(default)]
        with: Vec<(LanePart, Commit)>,
    },
    /// The head or the base has moved since the test, or the forge's own rules forbid it. Nothing has changed.
    Refused {
        /// The present tip of the base, if that is the reason.
        tip: Option<Commit>,
        why: String,
        /// Something unrelated to the change blocks it: the test result still counts, and it lands once that is
        /// settled.
        #[serde(default)]
        in_the_way: bool,
    },
}

/// The state of a project's repository according to the forge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseView {
    /// The tip of the default branch that is trusted; none if there is no such branch.
    pub tip: Option<Commit>,
    /// Changes that wait for a person's confirmation, if the forge watches over its repository.
    #[serde(default)]
    pub held: Vec<MovedBase>,
    /// The programs that git may run for this repository, by the settings that name them.
    #[serde(default)]
    pub programs: Vec<(String, String)>,
}

/// A change of a repository without a known, authorized author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBase {
    /// A short description of the change.
    pub what: String,
    /// The former and present tip of the base, if it is about that.
    pub from: Option<Commit>,
    pub to: Option<Commit>,
    /// The sessions that were at work then, by name.
    pub at_work: Vec<String>,
    /// A full description, with the next step.
    pub detail: String,
}

/// An order to clean up after merged work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TidyOrder {
    /// Commits of changes that were merged before then are released.
    pub before: Timestamp,
    /// Rescue refs of merged sessions whose workspaces are gone: their commits are kept like those of the change.
    pub rescues: Vec<String>,
}

/// A forge: where changes are reviewed, checked and merged.
#[async_trait]
pub trait Scm: Send + Sync {
    /// Returns the guarantees of [`merge`](Scm::merge): by default none, and then nothing is merged here.
    fn merge_abilities(&self) -> MergeAbilities {
        MergeAbilities::NONE
    }

    /// Returns the part in which people read, discuss and review pull requests, if the forge has it.
    fn reviews(&self) -> Option<&dyn ScmReviews> {
        None
    }

    /// Returns the part that runs checks, if the forge has it.
    fn checks(&self) -> Option<&dyn ScmChecks> {
        None
    }

    /// Opens a pull request, or returns the one that is open for this head and base.
    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError>;

    /// Returns the facts about several pull requests in as few calls as the forge allows. Those not found are left
    /// out.
    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError>;

    /// Returns the open pull requests of a project.
    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError>;

    /// Returns the present tip of a project's default branch, as far as it can be trusted.
    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError>;

    /// Returns a plain file as a commit has it, if it has it: at most `limit` bytes. A folder or a link is refused.
    async fn file_at(
        &self,
        project: &ProjectId,
        commit: &Commit,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ScmError>;

    /// Accepts the repository as it is now: a person has confirmed the changes. Returns those changes, which are none
    /// at a forge that holds nothing back.
    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, ScmError> {
        let _ = project;
        Ok(vec![])
    }

    /// Compacts what is left of merged pull requests, and releases commits that are past their time. Returns the
    /// number of deleted refs. Cheap while there is nothing to do, so it can be called every minute.
    async fn tidy(&self, project: &ProjectId, order: &TidyOrder) -> Result<usize, ScmError> {
        let _ = (project, order);
        Ok(0)
    }

    /// Runs the required checks on the merge result, if the order asks for it. Can be called again; equal orders may
    /// share one result.
    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        let _ = order;
        Err(ScmError::unsupported("testing a merge"))
    }

    /// Merges what was tested, or refuses: with each guarantee of its [`MergeAbilities`]. Called again after a crash,
    /// it finds the merge it made.
    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let _ = order;
        Err(ScmError::unsupported("merging"))
    }

    /// Deletes the branch of a pull request that was merged with this head. Returns why the branch stays, if it does:
    /// one that has moved on from the head is never deleted. A branch that is gone is no error.
    async fn delete_branch(&self, pull: &PullId, head: &Commit) -> Result<Option<String>, ScmError> {
        let _ = (pull, head);
        Err(ScmError::unsupported("deleting a branch"))
    }

    /// Sends hints about what to look at, for as long as it is polled. A forge that cannot watch returns at once.
    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        let _ = hints;
    }
}

impl dyn Scm + '_ {
    /// Returns the reviews, or the error of a forge without them.
    pub fn need_reviews(&self) -> Result<&dyn ScmReviews, ScmError> {
        self.reviews().ok_or_else(|| ScmError::unsupported("reading and reviewing pull requests"))
    }

    /// Returns the checks, or the error of a forge without them.
    pub fn need_checks(&self) -> Result<&dyn ScmChecks, ScmError> {
        self.checks().ok_or_else(|| ScmError::unsupported("running checks"))
    }
}
