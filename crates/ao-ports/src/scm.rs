//! Forges: where changes are reviewed, checked and merged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ao_core::order::{MergeOrder, TestOrder};
use ao_core::pull::{AuthorFacts, PullFacts, PullState, ReviewVerdict};
use ao_core::queue::{LanePart, TestOutcome};
use ao_core::{Commit, ProjectId, PullId, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::check::{CheckOrder, CheckRun, LogPart, RunFilter};
use crate::tracker::{HintReceiver, LookHint, Quota, TrackerError, Webhook, unsupported};

/// The declared abilities of a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScmAbilities {
    pub pushes: bool,
    pub drafts: bool,
    pub threads: bool,
    /// Can merge only if the head is still the one that was judged. Without it, `ao` does not merge there.
    pub pinned_merge: bool,
    pub reruns: bool,
    /// People can read, discuss and review pull requests through it.
    pub reviews: bool,
    /// Runs checks itself.
    pub checks: bool,
}

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

/// A filter of pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFilter {
    pub state: PullFilterState,
    pub head_branch: Option<String>,
    pub base_branch: Option<String>,
    pub author: Option<String>,
    pub labels: BTreeSet<String>,
    /// The number of results, the newest.
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullFilterState {
    #[default]
    Open,
    Merged,
    Closed,
    All,
}

/// A pull request in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRow {
    pub pull: PullId,
    pub title: String,
    pub state: PullState,
    pub draft: bool,
    pub head_branch: String,
    pub base_branch: String,
    pub head: Commit,
    pub author: AuthorFacts,
    pub labels: BTreeSet<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A pull request with everything that a person may want to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullDetail {
    pub pull: PullId,
    /// Includes resolved threads.
    pub facts: PullFacts,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The open pull request whose branch is its base.
    pub stacked_on: Option<PullId>,
    /// The pull requests whose base is its branch.
    pub stacked: Vec<PullId>,
    /// Oldest first, bounded.
    pub commits: Vec<CommitSeen>,
    /// Additional details for readers of each thread of `facts`, by its id.
    pub threads: BTreeMap<String, ThreadDetail>,
    /// The time of each review, by its id.
    pub reviewed_at: BTreeMap<String, Timestamp>,
    /// The time at which the text of a review was last edited, by its id.
    pub reworded_at: BTreeMap<String, Timestamp>,
    pub checks: Vec<CheckRun>,
    pub merged_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSeen {
    pub commit: Commit,
    pub title: String,
    pub author: String,
    pub at: Timestamp,
}

/// Details of a thread for readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDetail {
    pub side: DiffSide,
    /// The commit and the line that it was started on.
    pub commit: Option<Commit>,
    pub begun_line: Option<u32>,
    /// The lines that it was about have changed since.
    pub outdated: bool,
    pub resolved_by: Option<String>,
    /// The text of the line it was started on, bounded.
    pub context: Option<String>,
    /// The time of each comment, by its id.
    pub at: BTreeMap<String, Timestamp>,
    /// The time at which a comment was last edited, by its id.
    pub edited: BTreeMap<String, Timestamp>,
}

/// The side of a diff that a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    Old,
    #[default]
    New,
}

/// Changes to a pull request. Absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base_branch: Option<String>,
    pub draft: Option<bool>,
    pub add_labels: BTreeSet<String>,
    pub remove_labels: BTreeSet<String>,
    /// `true` closes it without a merge, `false` reopens it.
    pub closed: Option<bool>,
}

/// A new comment on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewComment {
    pub pull: PullId,
    pub by: AuthorFacts,
    pub body: String,
    pub at: CommentPlace,
    /// Marks it, so that a repeated call leaves one.
    pub key: Option<String>,
}

/// The location of a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentPlace {
    /// On the pull request as a whole.
    Pull,
    /// At a line of a file at the head, or at a whole file.
    Line { path: String, line: Option<u32>, side: DiffSide },
    /// In an existing thread.
    Thread(String),
}

/// A review to be given. Its comments become threads of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    pub pull: PullId,
    pub by: AuthorFacts,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The head that was judged. If it has moved since, the review is refused, so that only what was seen is
    /// approved.
    pub head: Option<Commit>,
    pub comments: Vec<ReviewComment>,
    /// Marks it, so that a repeated call gives one.
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    pub path: String,
    pub line: Option<u32>,
    pub side: DiffSide,
    pub body: String,
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

/// A reply in a review thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    pub pull: PullId,
    pub thread: String,
    pub text: String,
    pub resolve: bool,
    /// Marks it as ours: a repeated call leaves one reply, and reading it back is no news.
    pub key: String,
}

/// The state of a project's repository according to the forge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseView {
    /// The tip of the default branch that is trusted; none if there is no such branch.
    pub tip: Option<Commit>,
    /// Changes that wait for a person's confirmation.
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
    fn abilities(&self) -> ScmAbilities;

    /// Opens a pull request, or returns the one that is open for this head and base.
    async fn open(&self, new: &NewPull) -> Result<PullId, TrackerError>;

    /// Returns the facts about several pull requests in as few calls as the forge allows. Those not found are left
    /// out.
    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, TrackerError>;

    /// Returns the open pull requests of a project.
    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, TrackerError>;

    /// Returns the trusted tip of a project's default branch, if the forge watches over it.
    async fn base(&self, project: &ProjectId) -> Result<Option<BaseView>, TrackerError> {
        let _ = project;
        Ok(None)
    }

    /// Accepts the repository as it is now: a person has confirmed the changes. Returns those changes.
    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, TrackerError> {
        let _ = project;
        Err(unsupported("confirming a repository"))
    }

    /// Compacts what is left of merged pull requests, and releases commits that are past their time. Returns the
    /// number of deleted refs. Cheap while there is nothing to do, so it can be called every minute.
    async fn tidy(&self, project: &ProjectId, order: &TidyOrder) -> Result<usize, TrackerError> {
        let _ = (project, order);
        Ok(0)
    }

    /// Runs the required checks on the merge result, if the order asks for it. Can be called again; equal orders may
    /// share one result.
    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError>;

    /// Merges exactly what was tested, or refuses. Called again after a crash, it finds the merge it made.
    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError>;

    /// Requests another run of a check on a commit.
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), TrackerError>;

    /// Replies in a thread.
    async fn reply(&self, reply: &ThreadReply) -> Result<(), TrackerError>;

    // ── for people ──

    /// Returns the pull requests that match a filter, the newest first.
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, TrackerError> {
        let _ = (project, filter);
        Err(unsupported("listing pull requests"))
    }

    /// Returns one pull request with everything that can be read of it.
    async fn show(&self, pull: &PullId) -> Result<PullDetail, TrackerError> {
        let _ = pull;
        Err(unsupported("reading pull requests"))
    }

    /// Returns the text of a pull request: its title, its body, and the messages of its commits, bounded.
    async fn words(&self, pull: &PullId) -> Result<String, TrackerError> {
        let shown = self.show(pull).await?;
        let commits = shown.commits.iter().map(|commit| commit.title.as_str());
        let words = [shown.facts.title.as_str(), shown.body.as_str()].into_iter().chain(commits);
        Ok(words.collect::<Vec<_>>().join("\n"))
    }

    /// Returns its diff in git's format, of at most `limit` bytes.
    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, TrackerError> {
        let _ = (pull, limit);
        Err(unsupported("reading diffs"))
    }

    /// Returns the diff of exactly this head on this base, for scans: files that git treats as binary are included as
    /// text. Fails if the pull request has moved on from either.
    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, TrackerError> {
        let _ = (pull, head, base, limit);
        Err(unsupported("reading diffs"))
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), TrackerError> {
        let _ = (pull, edit);
        Err(unsupported("editing pull requests"))
    }

    /// Adds a comment. Returns the id of its thread.
    async fn comment(&self, comment: &NewComment) -> Result<String, TrackerError> {
        let _ = comment;
        Err(unsupported("commenting"))
    }

    /// Changes the text of a comment or a review, by its id. Only its author and the owner may. The result is a new
    /// revision, unless the text is the same.
    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), TrackerError> {
        let _ = (pull, comment, by, body);
        Err(unsupported("editing comments"))
    }

    /// Gives a review in the name of a person or a reviewer; the daemon itself never does. Returns its id.
    async fn review(&self, review: &NewReview) -> Result<String, TrackerError> {
        let _ = review;
        Err(unsupported("reviewing"))
    }

    /// Resolves a thread, or reopens it.
    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), TrackerError> {
        let _ = (pull, thread, by, resolved);
        Err(unsupported("resolving threads"))
    }

    /// Returns runs of checks, the newest first.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError> {
        let _ = filter;
        Err(unsupported("listing checks"))
    }

    /// Returns one run of a check, by its id.
    async fn run(&self, run: &str) -> Result<CheckRun, TrackerError> {
        let all = self.runs(&RunFilter { limit: usize::MAX, ..RunFilter::default() }).await?;
        all.into_iter()
            .find(|known| known.id == run)
            .ok_or_else(|| TrackerError::not_found(format!("`{run}`")))
    }

    /// Starts checks, and returns their runs at once, most of them not finished yet.
    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, TrackerError> {
        let _ = order;
        Err(unsupported("running checks"))
    }

    /// Returns a part of the output of a run. With `wait`, waits until there is some, or none will come; can be
    /// dropped then.
    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError> {
        let _ = (run, from, limit, wait);
        Err(unsupported("reading the output of checks"))
    }

    // ── news ──

    /// Sends hints about what to look at, for as long as it is polled. A forge that cannot watch returns at once.
    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        let _ = hints;
    }

    /// Verifies a webhook's signature and returns what to look at.
    async fn webhook(&self, webhook: &Webhook) -> Result<Vec<LookHint>, TrackerError>;

    /// Returns the quota from the last responses.
    fn quota(&self) -> Option<Quota>;
}

/// The reason why a merge could not be tested or made. Reveals nothing about the change itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScmError {
    #[error(transparent)]
    Forge(#[from] TrackerError),
    #[error("{0}")]
    Failed(String),
}
