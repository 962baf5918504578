//! Stored form of a pull request.

use std::collections::BTreeSet;

use ao_core::pull::{AuthorFacts, ChangeSize, Mergeable, PullState, ReviewVerdict};
use ao_core::{Commit, SessionId, Timestamp};
use ao_ports::{DiffSide, LandingStrategy};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PullRecord {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) draft: bool,
    pub(super) labels: BTreeSet<String>,
    pub(super) author: AuthorFacts,
    pub(super) session: Option<SessionId>,

    pub(super) head_branch: String,
    /// The remote that has the branch, if it is neither local nor at origin.
    pub(super) head_repo: Option<String>,
    pub(super) head: Commit,
    pub(super) head_author: Option<String>,
    /// The subject of its commit message.
    pub(super) head_title: Option<String>,
    /// Commit time of the head, in seconds.
    pub(super) head_at: i64,
    /// Its branch is gone. The head is pinned, so nothing is lost.
    pub(super) gone: bool,

    pub(super) base_branch: String,
    pub(super) base_remote: Option<String>,
    /// The tip of the base branch as of the last look.
    pub(super) base: Commit,
    /// The head of the pull request that it was stacked on, once that one is merged. A squash leaves none of those
    /// commits in the base, so its own change starts here.
    pub(super) since: Option<Commit>,
    /// The fork point; absent if head and base have nothing in common.
    pub(super) fork: Option<Commit>,

    pub(super) state: PullState,
    pub(super) mergeable: Mergeable,
    pub(super) size: ChangeSize,
    /// True if the change could not be measured, so that its size is meaningless.
    pub(super) unmeasured: bool,
    /// The merge that was just made. Not stored: git prunes it some day.
    #[serde(skip)]
    pub(super) fresh: Option<FreshMerge>,
    /// The head that checks were started on.
    pub(super) checked: Option<Commit>,
    /// The merge that is in progress, or was made.
    pub(super) landing: Option<PendingLanding>,
    pub(super) merged_by: Option<String>,
    pub(super) reviews: Vec<ReviewRecord>,
    /// Total number of threads and comments so far, from which their ids are made.
    pub(super) threads: u32,
    pub(super) comments: u32,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// A head merged onto its base: the tree, and a commit that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FreshMerge {
    pub(super) tree: String,
    pub(super) commit: Commit,
}

/// A merge, recorded before the base moves, so that after a crash its commit can be attributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingLanding {
    pub(super) head: Commit,
    pub(super) base: Commit,
    pub(super) tree: String,
    pub(super) strategy: LandingStrategy,
    /// The future tip of the base.
    pub(super) commit: Commit,
    pub(super) by: Option<String>,
    pub(super) delete_branch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReviewRecord {
    pub(super) id: String,
    pub(super) by: AuthorFacts,
    pub(super) verdict: ReviewVerdict,
    pub(super) commit: Commit,
    /// The base branch and the fork point at the time of the review.
    pub(super) base_branch: Option<String>,
    pub(super) fork: Option<Commit>,
    pub(super) body: String,
    pub(super) at: Timestamp,
    pub(super) key: Option<String>,
    pub(super) edits: EditCount,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadRecord {
    pub(super) number: u32,
    /// Absent if it is about the pull request as a whole.
    pub(super) begun: Option<ThreadAnchor>,
    /// Its position at the current head; absent if its lines have changed.
    pub(super) now: Option<ThreadPosition>,
    pub(super) resolved: bool,
    pub(super) resolved_by: Option<String>,
    pub(super) comments: Vec<CommentRecord>,
}

/// The lines that a thread was started on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadAnchor {
    /// The commit in which the file has that line.
    pub(super) commit: Commit,
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) side: DiffSide,
    pub(super) context: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadPosition {
    pub(super) path: String,
    pub(super) line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommentRecord {
    pub(super) id: String,
    pub(super) by: AuthorFacts,
    pub(super) body: String,
    pub(super) at: Timestamp,
    pub(super) key: Option<String>,
    pub(super) edits: EditCount,
}

/// The number of edits of a text, and the time of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct EditCount {
    pub(super) count: u32,
    pub(super) last: Option<Timestamp>,
}

impl PullRecord {
    pub(super) fn is_open(&self) -> bool {
        self.state == PullState::Open
    }

    /// Returns the paths that it touches, if they are known.
    pub(super) fn touched(&self) -> Option<&[String]> {
        (self.fork.is_some() && !self.unmeasured).then_some(self.size.files.as_slice())
    }

    /// Returns true if something about it is still unknown, so that the next look retries.
    pub(super) fn is_unclear(&self) -> bool {
        self.unmeasured || self.mergeable == Mergeable::Unknown || self.head_author.is_none()
    }
}

impl ThreadRecord {
    pub(super) fn id(&self) -> String {
        format!("t{}", self.number)
    }
}

impl EditCount {
    /// Returns the revision of the current text.
    pub(super) fn revision(self) -> String {
        (u64::from(self.count) + 1).to_string()
    }
}
