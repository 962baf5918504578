//! A pull request: the facts from the forge, its owner, and its present problems.
//!
//! ```text
//! forge ──whole look──▶ decide ──what changed──▶ evolve ──▶ Pull ──▶ problems(), approvals(), green()
//! ```
//!
//! Looks are complete and are compared with the known facts, so a repeated webhook, a poll without news and an answer
//! that was overtaken all have no effect. Status is never stored: problems, approvals and greenness are functions of
//! the facts. This module does not react to problems, nor remember messages about them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::policy::ScanResult;
use crate::{Commit, PullId, SessionId, TaskId, Timestamp};

mod asks;
mod decide;
mod diff;
mod evolve;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod maker;
mod owner;
mod problems;
mod runs;
mod verdicts;

pub(crate) use decide::decide;
pub(crate) use evolve::evolve;
pub(crate) use facts::TEXT_LIMIT;
pub use facts::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, CommentFacts, Mergeable, PullFacts,
    PullState, ReviewFacts, ReviewVerdict, ThreadFacts,
};
pub use maker::PullMaker;
pub(crate) use owner::{owner_of, unclaimed_of};
pub use runs::HeadRuns;
pub use verdicts::ChecksVerdict;

/// One pull request, folded from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub id: PullId,
    /// The session that owns it.
    pub owner: Option<SessionId>,
    /// The newest look, tidied: checks of this head only, open threads only, texts bounded. A merged pull request
    /// keeps only its name and its end.
    pub facts: PullFacts,
    /// The last failure of each check on this head. A re-run clears it only by passing, so that a check going failed,
    /// pending, failed stays one problem.
    pub failures: BTreeMap<String, CheckFacts>,
    /// The runs of each check on this head, as far as they were seen.
    pub runs: BTreeMap<String, HeadRuns>,
    /// The sessions that gave it up, or lost it. Only an explicit claim brings it back to them.
    pub disowned_by: BTreeSet<SessionId>,
    /// The agents of all sessions that ever owned it.
    pub makers: BTreeSet<PullMaker>,
    /// The tasks of the sessions that own it. Stored with it, because sessions are archived.
    pub tasks: BTreeMap<SessionId, TaskId>,
    /// One of them was seen to have made it, rather than to have taken it on.
    pub made_by_ours: bool,
    /// The conflict of this head, kept while the forge computes, for the same reason.
    pub conflict: Option<PullConflict>,
    /// The last head that was seen to merge without a conflict.
    pub clean_head: Option<Commit>,
    /// Findings in the lines that this head adds, if they were scanned.
    pub scan: Option<ScanResult>,
    /// Time of its last event.
    pub changed_at: Timestamp,
}

/// A conflict, with the commits on which it was first seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullConflict {
    /// The base at that time. Later moves of the base leave the task what it is, so they are no new conflict.
    pub base: Commit,
    pub head: Commit,
    pub files: Vec<String>,
}

/// Input for a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullInput {
    /// A look at the forge.
    Seen(Box<PullFacts>),
    /// A session takes ownership.
    Claim { session: SessionId },
    /// A session gives up its ownership.
    Release { session: SessionId },
    /// The added lines of a head were scanned.
    Scanned(Box<ScanResult>),
}

/// Event of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullEvent {
    /// First seen. Checks, reviews and threads follow as events of their own.
    Opened { facts: Box<PullFacts> },
    /// Its title or URL was changed.
    Retitled { title: String, url: String },
    /// New commits: checks and conflicts of the old head no longer apply.
    HeadMoved {
        head: Commit,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        /// The first line of its message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The branch has another name or repository but the same commits.
    BranchRenamed { branch: String, repo: Option<String> },
    /// The tip of its base is another commit.
    BaseMoved { base: Commit },
    /// It targets another branch than before.
    Retargeted {
        branch: String,
        #[serde(default = "facts::origin", skip_serializing_if = "facts::is_origin")]
        remote: Option<String>,
    },
    /// It has become a draft, or is none any more.
    DraftChanged { draft: bool },
    /// The author gained or lost standing.
    AuthorChanged { author: AuthorFacts },
    /// It has other labels.
    LabelsChanged { labels: BTreeSet<String> },
    /// It changes other files or lines.
    Resized { size: ChangeSize },
    /// The forge reports if it can be merged.
    MergeabilitySeen { mergeable: Mergeable },
    /// Checks were configured for it for the first time, or all of them were removed.
    ChecksConfigured { none: bool },
    /// A check is new or has another state.
    CheckReported { check: CheckFacts },
    /// A check is not reported any more.
    CheckVanished { check: String },
    /// A review is new or was edited. `place` is its position in time among all reviews.
    ReviewGiven { place: usize, review: ReviewFacts },
    /// A review was dismissed or deleted.
    ReviewWithdrawn { review: String },
    /// An open thread is new, reopened, or has moved within the file.
    ThreadSeen { thread: String, path: Option<String>, line: Option<u32> },
    /// A comment is new or was edited. `place` is its position within the thread.
    CommentSeen { thread: String, place: usize, comment: CommentFacts },
    /// A comment was deleted.
    CommentDeleted { thread: String, comment: String },
    /// A thread was resolved or deleted: either way it needs no action any more.
    ThreadResolved { thread: String },
    /// It was merged, as this commit.
    Merged { commit: Commit },
    /// It was closed without a merge.
    Closed {},
    /// It is open again.
    Reopened {},
    /// Ends the news of one look, with the time of that look. A look without news leaves no trace, not even this one:
    /// sixty quiet pull requests polled all day would fill the log.
    Seen { observed_at: Timestamp },
    /// A session has become its owner.
    Claimed { session: SessionId },
    /// A session has given it up.
    Released { session: SessionId },
    /// The lines that the head adds were scanned.
    Scanned { scan: Box<ScanResult> },
}

/// Refusal of a request about a pull request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullRefusal {
    #[error("no such pull request is known yet; it appears once the forge has been looked at")]
    Unknown,
    #[error("the pull request belongs to `{by}`; release it there first")]
    Owned { by: SessionId },
    #[error(
        "the pull request is by `{login}`, who is a stranger here; only its branch name may be one of ours"
    )]
    Stranger { login: String },
}

impl Pull {
    /// Returns the pull request after this one look, without an owner, to judge facts that were just read.
    pub fn at_a_look(id: &PullId, facts: &PullFacts) -> Pull {
        Pull::new(id, facts.tidied(), facts.observed_at)
    }

    /// Returns a pull request of which only these facts are known.
    fn new(id: &PullId, facts: PullFacts, changed_at: Timestamp) -> Pull {
        Pull {
            id: id.clone(),
            owner: None,
            facts,
            failures: BTreeMap::new(),
            runs: BTreeMap::new(),
            disowned_by: BTreeSet::new(),
            makers: BTreeSet::new(),
            tasks: BTreeMap::new(),
            made_by_ours: false,
            conflict: None,
            clean_head: None,
            scan: None,
            changed_at,
        }
    }

    pub fn is_open(&self) -> bool {
        self.facts.state == PullState::Open
    }

    pub fn is_merged(&self) -> bool {
        matches!(self.facts.state, PullState::Merged { .. })
    }
}
