//! Where changes are reviewed, checked and merged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ao_core::order::{MergeOrder, TestOrder};
use ao_core::pull::{Author, PullFacts, PullState, ReviewVerdict};
use ao_core::queue::{Part, TestOutcome};
use ao_core::{Commit, ProjectId, PullId, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::check::{CheckOrder, CheckRun, LogPart, RunFilter};
use crate::tracker::{Hint, Hints, Quota, TrackerError, Webhook, unsupported};

/// What a forge declares it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScmAbilities {
    pub pushes: bool,
    pub drafts: bool,
    pub threads: bool,
    /// Can merge only if the head is still the one that was judged. Without it, we do not merge there.
    pub pinned_merge: bool,
    pub reruns: bool,
    /// Pull requests can be read, discussed and reviewed through it by people.
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
    pub by: Author,
}

/// Which pull requests are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFilter {
    pub state: PullFilterState,
    pub head_branch: Option<String>,
    pub base_branch: Option<String>,
    pub author: Option<String>,
    pub labels: BTreeSet<String>,
    /// At most so many, the newest.
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
    pub author: Author,
    pub labels: BTreeSet<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A pull request with everything that a person wants to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullDetail {
    pub pull: PullId,
    /// With the threads that are resolved too.
    pub facts: PullFacts,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The open pull request whose branch is its base.
    pub stacked_on: Option<PullId>,
    /// Those whose base is its branch.
    pub stacked: Vec<PullId>,
    /// Oldest first, bounded.
    pub commits: Vec<CommitSeen>,
    /// Beside each thread of `facts`, by its id, what only readers need.
    pub threads: BTreeMap<String, ThreadDetail>,
    /// When each review was given, by its id.
    pub reviewed_at: BTreeMap<String, Timestamp>,
    /// When the words of a review were last changed, by its id, if they were.
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

/// What readers want to know of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDetail {
    pub side: Side,
    /// The commit and the line that it was begun on.
    pub commit: Option<Commit>,
    pub begun_line: Option<u32>,
    /// The lines that it was about have changed since.
    pub outdated: bool,
    pub resolved_by: Option<String>,
    /// The text of the line it was begun on, bounded.
    pub context: Option<String>,
    /// When each comment was written, by its id.
    pub at: BTreeMap<String, Timestamp>,
    /// When a comment was last changed, by its id, if it was.
    pub edited: BTreeMap<String, Timestamp>,
}

/// Which file of a diff a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Old,
    #[default]
    New,
}

/// What is to be different about a pull request. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base_branch: Option<String>,
    pub draft: Option<bool>,
    pub add_labels: BTreeSet<String>,
    pub remove_labels: BTreeSet<String>,
    /// `true` closes it without a merge, `false` opens it again.
    pub closed: Option<bool>,
}

/// Something to be said on a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewComment {
    pub pull: PullId,
    pub by: Author,
    pub body: String,
    pub at: CommentPlace,
    /// Marks it, so that a repeated call leaves one.
    pub key: Option<String>,
}

/// Where something is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentPlace {
    /// On the pull request as a whole.
    Pull,
    /// At a line of a file as it is at the head, or at a whole file.
    Line { path: String, line: Option<u32>, side: Side },
    /// In a thread that exists.
    Thread(String),
}

/// A review to be given. Its comments become threads of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewReview {
    pub pull: PullId,
    pub by: Author,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The head that was judged. If it has moved since, the review is refused: nobody approves what was not seen.
    pub head: Option<Commit>,
    pub comments: Vec<ReviewComment>,
    /// Marks it, so that a repeated call gives one.
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    pub path: String,
    pub line: Option<u32>,
    pub side: Side,
    pub body: String,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeOutcome {
    Merged {
        commit: Commit,
        /// Why its branch is still there, if it was to go.
        branch_left: Option<String>,
        /// Those that were to land with it, each with its own commit.
        #[serde(default)]
        with: Vec<(Part, Commit)>,
    },
    /// Head or base is no longer what was tested, or the forge's own rules forbid it. Nothing has changed.
    Refused {
        /// Where the base is instead, if that is why.
        tip: Option<Commit>,
        why: String,
        /// Whether something is in the way that has nothing to do with the change: what was tested still counts, and
        /// lands once that is settled.
        #[serde(default)]
        in_the_way: bool,
    },
}

/// An answer in a review thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    pub pull: PullId,
    pub thread: String,
    pub text: String,
    pub resolve: bool,
    /// Marks it as ours: a repeated call leaves one reply, and reading it back wakes nobody.
    pub key: String,
}

/// A project's repository as a forge goes by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseView {
    /// The tip of the default branch that is trusted; none if there is no such branch.
    pub tip: Option<Commit>,
    /// What was changed and waits for a person's word.
    #[serde(default)]
    pub held: Vec<MovedBase>,
    /// The programs that git may run for this repository, by the settings that name them.
    #[serde(default)]
    pub programs: Vec<(String, String)>,
}

/// A change of a repository that nobody is known to have made who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBase {
    /// What was changed, in a few words.
    pub what: String,
    /// Where the base was, and is, if it is about that.
    pub from: Option<Commit>,
    pub to: Option<Commit>,
    /// The sessions that were at work then, by name.
    pub at_work: Vec<String>,
    /// All of it in words, and what to do.
    pub detail: String,
}

/// The leftovers of merged work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TidyOrder {
    /// Commits of changes that were merged before then are released.
    pub before: Timestamp,
    /// Rescue refs of merged sessions whose workspaces are gone: their commits are kept like those of the change.
    pub rescues: Vec<String>,
}

/// Where changes are reviewed, checked and merged.
#[async_trait]
pub trait Scm: Send + Sync {
    fn abilities(&self) -> ScmAbilities;

    /// Opens a pull request, or returns the one that is open for this head and base.
    async fn open(&self, new: &NewPull) -> Result<PullId, TrackerError>;

    /// The facts about several pull requests in as few calls as the forge allows. Those not found are left out.
    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, TrackerError>;

    /// The open pull requests of a project.
    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, TrackerError>;

    /// The tip of a project's default branch that changes are judged by, of a forge that watches over it.
    async fn base(&self, project: &ProjectId) -> Result<Option<BaseView>, TrackerError> {
        let _ = project;
        Ok(None)
    }

    /// Takes the repository as it is now: a person has confirmed what was changed. Returns what that was.
    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, TrackerError> {
        let _ = project;
        Err(unsupported("confirming a repository"))
    }

    /// Keeps small what is left of merged pull requests, and releases commits that are past their time. Returns the number of
    /// refs that are gone. Cheap while there is nothing to do, so it can be called every minute.
    async fn tidy(&self, project: &ProjectId, order: &TidyOrder) -> Result<usize, TrackerError> {
        let _ = (project, order);
        Ok(0)
    }

    /// Runs the required checks on what would land, if the order says so. Can be called again; equal orders may share one result.
    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError>;

    /// Merges exactly what was tested, or refuses. Called again after a crash, it finds the merge it made.
    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError>;

    /// Asks for a check to be run again on a commit.
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), TrackerError>;

    /// Answers in a thread.
    async fn reply(&self, reply: &ThreadReply) -> Result<(), TrackerError>;

    // ── for people ──

    /// The pull requests that a person asks for, the newest first.
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, TrackerError> {
        let _ = (project, filter);
        Err(unsupported("listing pull requests"))
    }

    /// One pull request with everything that can be read of it.
    async fn show(&self, pull: &PullId) -> Result<PullDetail, TrackerError> {
        let _ = pull;
        Err(unsupported("reading pull requests"))
    }

    /// What a pull request says of itself: its title, its body, and the messages of its commits, bounded.
    async fn words(&self, pull: &PullId) -> Result<String, TrackerError> {
        let shown = self.show(pull).await?;
        let commits = shown.commits.iter().map(|commit| commit.title.as_str());
        let words = [shown.facts.title.as_str(), shown.body.as_str()].into_iter().chain(commits);
        Ok(words.collect::<Vec<_>>().join("\n"))
    }

    /// What it changes, as git tells it, at most so many bytes.
    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, TrackerError> {
        let _ = (pull, limit);
        Err(unsupported("reading diffs"))
    }

    /// The same, of exactly this head on this base, for those who look through it: files that git takes for binary are told
    /// as text, too. Fails if the pull request has moved on from either.
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

    /// Says something. Returns the id of its thread.
    async fn comment(&self, comment: &NewComment) -> Result<String, TrackerError> {
        let _ = comment;
        Err(unsupported("commenting"))
    }

    /// Has a comment, or a review, say something else from now on; it is named by its id. Only whoever said it may, and the
    /// owner. It is a new revision then, unless it says this already.
    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &Author,
        body: &str,
    ) -> Result<(), TrackerError> {
        let _ = (pull, comment, by, body);
        Err(unsupported("editing comments"))
    }

    /// Gives a review in a person's or a reviewer's name; the daemon itself never does. Returns its id.
    async fn review(&self, review: &NewReview) -> Result<String, TrackerError> {
        let _ = review;
        Err(unsupported("reviewing"))
    }

    /// Marks a thread as done with, or as open again.
    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &Author,
        resolved: bool,
    ) -> Result<(), TrackerError> {
        let _ = (pull, thread, by, resolved);
        Err(unsupported("resolving threads"))
    }

    /// Runs of checks, the newest first.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError> {
        let _ = filter;
        Err(unsupported("listing checks"))
    }

    /// One run of a check, by its id.
    async fn run(&self, run: &str) -> Result<CheckRun, TrackerError> {
        let all = self.runs(&RunFilter { limit: usize::MAX, ..RunFilter::default() }).await?;
        all.into_iter()
            .find(|known| known.id == run)
            .ok_or_else(|| TrackerError::not_found(format!("`{run}`")))
    }

    /// Has checks run, and returns their runs at once, most of them not over yet.
    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, TrackerError> {
        let _ = order;
        Err(unsupported("running checks"))
    }

    /// A part of the output of a run. With `wait`, not before there is some, or none will come; can be dropped then.
    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError> {
        let _ = (run, from, limit, wait);
        Err(unsupported("reading the output of checks"))
    }

    // ── news ──

    /// Says what is worth asking about, for as long as it is polled. One that cannot tell by itself returns at once.
    async fn watch(&self, hints: Arc<dyn Hints>) {
        let _ = hints;
    }

    /// Checks a webhook's signature and says what to ask about.
    async fn webhook(&self, webhook: &Webhook) -> Result<Vec<Hint>, TrackerError>;

    /// What the last answers told about our quota.
    fn quota(&self) -> Option<Quota>;
}

/// Why a merge could not be tested or made. Nothing is known about the change itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScmError {
    #[error(transparent)]
    Forge(#[from] TrackerError),
    #[error("{0}")]
    Failed(String),
}
