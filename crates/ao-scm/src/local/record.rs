//! What is kept of a pull request, as it is written. What comes to it later is optional, so that old records can be read.

use std::collections::BTreeSet;

use ao_core::pull::{Author, ChangeSize, Mergeable, PullState, ReviewVerdict};
use ao_core::{Commit, SessionId, Timestamp};
use ao_ports::{Side, Strategy};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PullRecord {
    pub(super) number: u64,
    pub(super) title: String,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) draft: bool,
    #[serde(default)]
    pub(super) labels: BTreeSet<String>,
    pub(super) author: Author,
    #[serde(default)]
    pub(super) session: Option<SessionId>,

    pub(super) head_branch: String,
    /// The remote whose branch it is, if it is neither the repository's own nor origin's.
    #[serde(default)]
    pub(super) head_repo: Option<String>,
    pub(super) head: Commit,
    #[serde(default)]
    pub(super) head_author: Option<String>,
    /// The first line of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head_title: Option<String>,
    /// When the head was committed, in seconds.
    #[serde(default)]
    pub(super) head_at: i64,
    /// Its branch is gone. The head is pinned, so nothing is lost.
    #[serde(default)]
    pub(super) gone: bool,

    pub(super) base_branch: String,
    #[serde(default)]
    pub(super) base_remote: Option<String>,
    /// The tip of the base branch when it was last looked at.
    pub(super) base: Commit,
    /// The head of the pull request that it stood on, once that one is merged. A squash leaves none of its commits in the
    /// base, so this is what its own change begins at.
    #[serde(default)]
    pub(super) since: Option<Commit>,
    /// Where its own change begins; absent if head and base have nothing in common.
    #[serde(default)]
    pub(super) fork: Option<Commit>,

    pub(super) state: PullState,
    pub(super) mergeable: Mergeable,
    #[serde(default)]
    pub(super) size: ChangeSize,
    /// What it changes could not be told, so that its size says nothing.
    #[serde(default)]
    pub(super) unmeasured: bool,
    /// What merging has just given. Not kept: git forgets it some day.
    #[serde(skip)]
    pub(super) fresh: Option<Fresh>,
    /// The head that checks were started on.
    #[serde(default)]
    pub(super) checked: Option<Commit>,
    /// The merge that is being made, or was made.
    #[serde(default)]
    pub(super) landing: Option<Landing>,
    #[serde(default)]
    pub(super) merged_by: Option<String>,
    #[serde(default)]
    pub(super) reviews: Vec<ReviewRecord>,
    /// How many threads and comments it ever had, from which their ids are made.
    #[serde(default)]
    pub(super) threads: u32,
    #[serde(default)]
    pub(super) comments: u32,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// A head merged onto its base: the tree, and a commit that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fresh {
    pub(super) tree: String,
    pub(super) commit: Commit,
}

/// What is about to land, written down before the base moves, so that after a crash it is known whose commit that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Landing {
    pub(super) head: Commit,
    pub(super) base: Commit,
    pub(super) tree: String,
    pub(super) strategy: Strategy,
    /// Where the base will be.
    pub(super) commit: Commit,
    #[serde(default)]
    pub(super) by: Option<String>,
    #[serde(default)]
    pub(super) delete_branch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReviewRecord {
    pub(super) id: String,
    pub(super) by: Author,
    pub(super) verdict: ReviewVerdict,
    pub(super) commit: Commit,
    /// What it was to be merged into then, and where its change began.
    #[serde(default)]
    pub(super) base_branch: Option<String>,
    #[serde(default)]
    pub(super) fork: Option<Commit>,
    #[serde(default)]
    pub(super) body: String,
    pub(super) at: Timestamp,
    #[serde(default)]
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) edits: Edits,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ThreadRecord {
    pub(super) number: u32,
    /// Absent if it is about the pull request as a whole.
    #[serde(default)]
    pub(super) begun: Option<Begun>,
    /// Where it is at the present head; absent if its lines have changed.
    #[serde(default)]
    pub(super) now: Option<Place>,
    #[serde(default)]
    pub(super) resolved: bool,
    #[serde(default)]
    pub(super) resolved_by: Option<String>,
    pub(super) comments: Vec<CommentRecord>,
}

/// What a thread was begun on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The commit in which the file has that line.
    pub(super) commit: Commit,
    pub(super) path: String,
    #[serde(default)]
    pub(super) line: Option<u32>,
    #[serde(default)]
    pub(super) side: Side,
    #[serde(default)]
    pub(super) context: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) path: String,
    #[serde(default)]
    pub(super) line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommentRecord {
    pub(super) id: String,
    pub(super) by: Author,
    pub(super) body: String,
    pub(super) at: Timestamp,
    #[serde(default)]
    pub(super) key: Option<String>,
    #[serde(default)]
    pub(super) edits: Edits,
}

/// How often something was said otherwise, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Edits {
    pub(super) count: u32,
    #[serde(default)]
    pub(super) last: Option<Timestamp>,
}

impl PullRecord {
    pub(super) fn is_open(&self) -> bool {
        self.state == PullState::Open
    }

    /// The paths that it touches, if that is known.
    pub(super) fn touched(&self) -> Option<&[String]> {
        (self.fork.is_some() && !self.unmeasured).then_some(self.size.files.as_slice())
    }

    /// Whether something about it could not be told, so that it has to be tried again.
    pub(super) fn is_unclear(&self) -> bool {
        self.unmeasured || self.mergeable == Mergeable::Unknown || self.head_author.is_none()
    }
}

impl ThreadRecord {
    pub(super) fn id(&self) -> String {
        format!("t{}", self.number)
    }
}

impl Edits {
    /// What is said now, told from what was said before.
    pub(super) fn revision(self) -> String {
        (u64::from(self.count) + 1).to_string()
    }
}
