//! The merge queue of a project: lands pull requests, each tested on exactly the base it lands on.
//!
//! ```text
//!  waits ──▶ in a lane: Testing ──green──▶ Tested ──first, policy holds, no hook objects──▶ Landing ──▶ landed
//!    ▲           │         │                 │                                               │
//!    │           │         └─red, conflict──▶ Failed, until nothing is ahead of it any more  │
//!    │           │                             ├─alone: rejected, with the output            │
//!    └─voided────┴─────────────────────────────┴─with others: halved, and tested again       │
//!    └─the base was moved by others ◀────────────────────────────────────────────────────────┘
//! ```
//!
//! A lane is tested on the base and everything in the lanes before it, so several tests run at a time. A result
//! counts for exactly those heads on that base: when a lane lands, the results behind it stay valid; when it fails,
//! they are void. A person's [`MergeRequest`] goes first, has the queue to itself, and is rejected where other
//! entries would wait.
//!
//! [`MergeQueue::work`] derives the wanted work from the state, so after a crash the same work is wanted again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Commit, PullId, Timestamp};

#[cfg(test)]
mod bench;
mod branches;
mod decide;
mod evolve;
mod lane;
mod of_project;
mod order;
#[cfg(test)]
mod props;
mod request;
mod rules;
mod settle;
mod steps;

use decide::{QueueContext, decide};
pub(crate) use evolve::evolve;
pub use lane::{Lane, LanePart, LaneState};
pub(crate) use of_project::decide_in_project;
pub use request::{HeadBranch, LandingStrategy, MergeRequest};
pub use rules::{BranchUpdate, MergeAbilities, QueueRules};

/// The number of times an entry's work may break through no fault of its own before the entry is given up.
pub const MAX_TRIES: u32 = 3;

/// The delay before a blocked landing is retried, at first and at most. It doubles each time.
const AGAIN: Duration = Duration::from_secs(15);
const AGAIN_AT_MOST: Duration = Duration::from_secs(300);

/// The number of earlier bases that are remembered, so that a stale look is not mistaken for a move.
const BASES_KEPT: usize = 32;

/// The pull requests that want to land on one base branch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MergeQueue {
    /// The branch that its entries land on, if that is not the default branch of the project.
    pub branch: Option<String>,
    /// The entries, sorted by request, then priority, then age. Those that are in no lane wait.
    pub entries: Vec<QueueEntry>,
    /// The lanes under way, in the order in which they will land.
    pub lanes: Vec<Lane>,
    /// The reason why nothing is started.
    pub paused: Option<String>,
    /// The tip of the base branch, as last seen.
    pub base: Option<Commit>,
    /// Earlier tips of the base, the latest last.
    pub past: Vec<Commit>,
    /// A policy change has landed and was not read yet. Nothing is started or landed before that.
    pub policy_due: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEntry {
    pub pull: PullId,
    /// The head that was asked to land. Another head needs another request.
    pub head: Commit,
    /// A higher number goes first.
    pub priority: i32,
    pub since: Timestamp,
    /// The number of times its work broke through no fault of its own.
    pub tries: u32,
    /// The reason why policy held it back when its turn came. It keeps its position, because a freeze ends and a
    /// retried check may pass.
    pub held: Option<String>,
    /// The hooks that may object were asked about this head, and did not.
    pub cleared: bool,
    /// The largest batch it is tested in, itself included. It shrinks each time such a batch fails.
    pub most: Option<u32>,
    /// The part of `tries` that were landings. A green test does not reset these.
    pub landings: u32,
    /// The obstacle that keeps it from landing although it is green.
    pub in_the_way: Option<InTheWay>,
    /// The request of the person who wants it merged at once, if it was enqueued by one.
    pub request: Option<MergeRequest>,
}

/// An obstacle to moving the base that is unrelated to the entries, such as a dirty main checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InTheWay {
    pub why: String,
    /// The number of attempts that it blocked; 0 for a rate limit of the forge, which passes by itself.
    pub times: u32,
    pub again_at: Timestamp,
}

/// Work that the queue wants done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueWork {
    /// Merge those ahead and then `head` into `base` in a clean tree, run the checks, and return the tree that was
    /// tested.
    Test { pull: PullId, head: Commit, base: Commit, ahead: Vec<LanePart>, tries: u32 },
    /// Land exactly `tree`, with the rest of its batch before it, and only if heads and base have not moved.
    Land { pull: PullId, head: Commit, base: Commit, with: Vec<LanePart>, tree: String, tries: u32 },
}

/// An input of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueInput {
    /// Adds an entry. An entry with the same head keeps its position, unless a priority other than 0 is given.
    Enqueue { pull: PullId, head: Commit, priority: i32 },
    /// Merges it at once, for a person. An existing entry moves to the front.
    MergeNow { pull: PullId, head: Commit, request: MergeRequest },
    /// Changes the priority of an entry.
    Prioritize { pull: PullId, priority: i32 },
    /// Removes an entry.
    Remove { pull: PullId, why: String },
    /// Starts nothing new until it is resumed.
    Pause { why: String },
    /// Continues after a pause.
    Resume {},
    /// A fact that policy depends on may have changed, if only the time.
    Look {},
    /// An entry has another head.
    HeadMoved { pull: PullId, head: Commit },
    /// The base branch has another tip.
    BaseMoved {
        base: Commit,
        /// The branch that moved, if that is not the default branch of the project.
        branch: Option<String>,
    },
    /// A test has ended.
    Tested {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// The parts that were merged before it, in order.
        ahead: Vec<LanePart>,
        /// The checks were run. Without them, only the tree that would land was computed.
        checks: bool,
        result: TestOutcome,
    },
    /// A lane was merged.
    Landed {
        pull: PullId,
        head: Commit,
        commit: Commit,
        /// The tip of the base now, which may be past `commit`.
        tip: Commit,
        head_branch: Option<HeadBranch>,
        /// The parts that landed with it, before it, each with its own commit.
        with: Vec<(LanePart, Commit)>,
    },
    /// The head or the base had moved, or something blocks the landing.
    LandRefused {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// The actual tip of the base, if it was seen.
        tip: Option<Commit>,
        why: String,
        /// The reason is unrelated to the change.
        in_the_way: bool,
    },
    /// The forge takes no call for a while, so a test has not begun.
    TestLimited {
        pull: PullId,
        head: Commit,
        base: Commit,
        ahead: Vec<LanePart>,
        checks: bool,
        after: Duration,
    },
    /// The forge takes no call for a while, so nothing has landed.
    LandLimited { pull: PullId, head: Commit, base: Commit, after: Duration },
    /// The hooks that may object were asked about a head.
    Verdict { pull: PullId, head: Commit, objection: Option<String> },
    /// The work itself broke, for reasons unrelated to the pull request. `tries` is that of the work, so that one
    /// failure reported twice counts once.
    EffectFailed {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// The parts that were to be merged before it.
        ahead: Vec<LanePart>,
        tries: u32,
        why: String,
    },
}

/// Outcome of the test of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// The checks passed on this tree.
    Green { tree: String },
    /// The checks failed, with this output.
    Red {
        output: String,
        /// Commits that have landed since the change began, in words. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        between: String,
    },
    /// These files conflict.
    Conflict {
        files: Vec<String>,
        /// The pull request ahead that could not be merged, if it was not the last one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullId>,
    },
}

/// An event of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueEvent {
    /// An entry was added.
    Enqueued {
        pull: PullId,
        head: Commit,
        priority: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<MergeRequest>,
        /// The branch that it lands on, if that is not the default branch of the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// An entry has another priority.
    Reprioritized { pull: PullId, priority: i32 },
    /// An entry was removed.
    Removed { pull: PullId, why: String },
    /// Nothing new is started.
    Paused { why: String },
    /// The pause is over.
    Resumed {},
    /// The base branch has another tip.
    BaseMoved {
        base: Commit,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A lane was started: these heads, one after another, on what is ahead of them.
    TestStarted {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// The parts in the lanes before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ahead: Vec<LanePart>,
        /// The earlier parts of the same batch.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<LanePart>,
        /// The lane changes the policy that later entries are judged by.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        policy: bool,
    },
    /// A lane is green.
    TestPassed { pull: PullId, head: Commit, base: Commit, tree: String },
    /// Its lane failed, but something ahead of it may be the cause.
    TestFailed { pull: PullId, head: Commit, result: TestOutcome },
    /// A batch failed, so these are tested in smaller batches from now on.
    Split { pulls: Vec<PullId>, most: u32, why: String },
    /// A lane is being merged.
    LandStarted { pull: PullId, head: Commit, base: Commit, tree: String },
    /// The hooks that may object were asked about this head, and did not.
    Cleared { pull: PullId, head: Commit },
    /// The test of its lane no longer counts; all parts of it wait again.
    Voided { pull: PullId, why: String },
    /// Its turn came but policy does not hold. Emitted once, not at every look.
    Held { pull: PullId, why: String },
    /// The work broke and will be retried.
    TryFailed {
        pull: PullId,
        tries: u32,
        why: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        landing: bool,
    },
    /// Something blocks the landing or the test. Its lane stays as it is and goes on later.
    InTheWay { pull: PullId, why: String, times: u32, again_at: Timestamp },
    /// Nothing blocks the test any longer.
    TestResumed { pull: PullId },
    /// An entry has left the queue without landing.
    Rejected { pull: PullId, head: Commit, reason: QueueRejection },
    /// An entry has landed.
    Landed {
        pull: PullId,
        head: Commit,
        commit: Commit,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_branch: Option<HeadBranch>,
    },
}

/// The reason why a pull request left the queue without landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueRejection {
    /// The checks failed on the merge result, with this output.
    Red {
        output: String,
        /// Commits that have landed since the change began, in words. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        between: String,
    },
    /// It conflicts with the base in these files.
    Conflict { files: Vec<String> },
    /// The work broke too often to go on.
    Broken { why: String },
    /// A hook objects to the merge.
    Vetoed { why: String },
    /// It was requested to land at once, and something prevents that.
    Held { why: String },
}

/// The reason why the queue refused a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueRefusal {
    #[error("`{pull}` may not be merged: {why}")]
    NotAllowed { pull: PullId, why: String },
    #[error("`{pull}` is not in the merge queue")]
    NotQueued { pull: PullId },
}

impl MergeQueue {
    pub fn entry(&self, pull: &PullId) -> Option<&QueueEntry> {
        self.entries.iter().find(|entry| entry.pull == *pull)
    }

    /// Returns the lane that a pull request is in.
    pub fn lane_of(&self, pull: &PullId) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.has(pull))
    }

    /// Returns the work that is wanted now; while paused, only that of a request.
    pub fn work(&self) -> Vec<QueueWork> {
        let wanted =
            self.lanes.iter().filter(|lane| self.paused.is_none() || self.request_of(lane).is_some());
        let wanted = wanted.filter(|lane| !lane.is_testing() || self.in_the_way_of(lane).is_none());
        wanted.filter_map(|lane| lane.work(self.tries_of(lane))).collect()
    }

    /// Returns the request that a lane is for.
    pub fn request_of(&self, lane: &Lane) -> Option<&MergeRequest> {
        self.entry(&lane.last()?.pull)?.request.as_ref()
    }

    fn runs_checks(&self, lane: &Lane) -> bool {
        self.request_of(lane).is_none_or(MergeRequest::runs_checks)
    }

    /// Returns the parts of the first green lane that hooks have not cleared yet: pull request, head, and base.
    pub(crate) fn awaits_word(&self) -> impl Iterator<Item = (&PullId, &Commit, &Commit)> {
        let first = self.lanes.first().filter(|lane| matches!(lane.state, LaneState::Tested { .. }));
        first.into_iter().flat_map(|lane| {
            let unheard = lane.parts.iter().filter(|part| !self.is_cleared(part));
            unheard.map(|part| (&part.pull, &part.head, &lane.on))
        })
    }

    fn is_cleared(&self, part: &LanePart) -> bool {
        self.entry(&part.pull).is_some_and(|entry| entry.cleared)
    }

    /// Returns the lane that a test belongs to, if the result would still count, also while nothing new is started.
    pub fn in_test(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        ahead: &[LanePart],
        checks: bool,
    ) -> Option<&Lane> {
        self.led_by(pull, head).filter(|lane| {
            lane.is_testing()
                && lane.base == *base
                && lane.before() == ahead
                && self.runs_checks(lane) == checks
        })
    }

    fn led_by(&self, pull: &PullId, head: &Commit) -> Option<&Lane> {
        let leads = |last: &LanePart| last.pull == *pull && last.head == *head;
        self.lanes.iter().find(|lane| lane.last().is_some_and(leads))
    }

    /// Returns the time at which a blocked landing or test is retried.
    pub(crate) fn again_at(&self) -> Option<Timestamp> {
        let tests = self.lanes.iter().filter(|lane| lane.is_testing());
        let tests = tests.filter_map(|lane| Some(self.in_the_way_of(lane)?.again_at));
        tests.chain(self.land_again_at()).min().filter(|_| self.paused.is_none())
    }

    fn land_again_at(&self) -> Option<Timestamp> {
        let first = self.lanes.first().filter(|lane| matches!(lane.state, LaneState::Tested { .. }))?;
        Some(self.in_the_way_of(first)?.again_at)
    }

    /// Returns the known obstacle to landing or testing a lane.
    pub fn in_the_way_of(&self, lane: &Lane) -> Option<&InTheWay> {
        self.entry(&lane.last()?.pull)?.in_the_way.as_ref()
    }

    /// Returns the number of times the work of a lane broke.
    fn tries_of(&self, lane: &Lane) -> u32 {
        lane.last().and_then(|last| self.entry(&last.pull)).map_or(0, |entry| entry.tries)
    }

    /// Returns the commit that the first lane is based on. While one lands, its own result determines the base, even
    /// if a look has seen it move.
    fn anchor(&self) -> Option<&Commit> {
        let landing = self.lanes.first().filter(|lane| lane.is_landing());
        landing.map(|lane| &lane.on).or(self.base.as_ref())
    }
}
