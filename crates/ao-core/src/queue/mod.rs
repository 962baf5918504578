//! The merge queue of a project: lands pull requests, each tested as it will really be.
//!
//! ```text
//!  waits ──▶ in a lane: Testing ──green──▶ Tested ──first, policy holds, no hook objects──▶ Landing ──▶ landed
//!    ▲           │         │                 │                                               │
//!    │           │         └─red, conflict──▶ Failed, until nothing is ahead of it any more  │
//!    │           │                             ├─alone: rejected, with what was seen         │
//!    └─voided────┴─────────────────────────────┴─with others: halved, and tested anew        │
//!    └─the base moved by another hand ◀──────────────────────────────────────────────────────┘
//! ```
//!
//! A lane is tested on the base and everything in the lanes before it, so several are under way at a time. A result counts
//! for exactly those heads on that base: when a lane lands, those behind it keep theirs, and when it falls, theirs is void.
//! A [`MergeRequest`] of a person goes before all others, has the queue to itself, and is rejected where others would wait.
//!
//! What the queue wants done is derived from its state by [`MergeQueue::work`], so after a crash the same work is simply
//! wanted again.

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
pub use lane::{Lane, LaneState, Part};
pub(crate) use of_project::decide_in_project;
pub use request::{HeadBranch, MergeRequest, Strategy};
pub use rules::{QueueRules, Update};

/// How often an entry may break for reasons that are not its own before it is given up.
pub const MAX_TRIES: u32 = 3;

/// How long a landing waits for what is in its way, at first and at most: twice as long each time.
const AGAIN: Duration = Duration::from_secs(15);
const AGAIN_AT_MOST: Duration = Duration::from_secs(300);

/// How many earlier bases are remembered, so that a look from before is not taken for news.
const BASES_KEPT: usize = 32;

/// The pull requests that want to land on one base branch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MergeQueue {
    /// The branch that its entries land on, if that is not the default branch of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Requests first, then by urgency, then by who came first. Those that are in no lane wait.
    pub entries: Vec<Entry>,
    /// What is in work, in the order in which it will land.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Lane>,
    /// Why nothing is started.
    pub paused: Option<String>,
    /// The tip of the base branch, as last seen.
    pub base: Option<Commit>,
    /// Where the base was before, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Commit>,
    /// Whether a change of the policy has landed that nobody has read yet. Nothing is begun or landed before that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub policy_due: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub pull: PullId,
    /// What was asked to land. Another head is another question.
    pub head: Commit,
    /// Higher goes first.
    pub priority: i32,
    pub since: Timestamp,
    /// How often its work broke for reasons that are not its own.
    pub tries: u32,
    /// Why policy made it step aside when its turn came. It keeps its place, because a freeze ends and a check that
    /// is run again passes.
    pub held: Option<String>,
    /// Whether the hooks that may object have been asked about this head, and did not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
    /// With how many at most it is tested at once, itself among them: less and less, once it was in a batch that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// How many of the tries were landings. A green test says nothing of those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub landings: u32,
    /// What keeps it from landing although it is green.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_the_way: Option<InTheWay>,
    /// The request of the person who wants it merged at once, if that is how it came here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<MergeRequest>,
}

/// Something that keeps the base from being moved, whatever is to land: nobody's fault who is in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InTheWay {
    pub why: String,
    /// How often it was found there.
    pub times: u32,
    pub again_at: Timestamp,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Something that the queue wants done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Merge those ahead and then `head` into `base` somewhere clean, run the checks, and tell the tree that was tested.
    Test { pull: PullId, head: Commit, base: Commit, ahead: Vec<Part>, tries: u32 },
    /// Land exactly `tree`, with those of its batch before it, and only if heads and base are still where they were.
    Land { pull: PullId, head: Commit, base: Commit, with: Vec<Part>, tree: String, tries: u32 },
}

/// What can be said to the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueInput {
    /// One that is in the queue with this head already keeps its place, unless a priority other than 0 says otherwise.
    Enqueue {
        pull: PullId,
        head: Commit,
        priority: i32,
    },
    /// A person wants it merged at once. One that is in the queue already is taken to its front.
    MergeNow {
        pull: PullId,
        head: Commit,
        request: MergeRequest,
    },
    Prioritize {
        pull: PullId,
        priority: i32,
    },
    Remove {
        pull: PullId,
        why: String,
    },
    Pause {
        why: String,
    },
    Resume {},
    /// Something that policy looks at may have changed, if only the time.
    Look {},
    HeadMoved {
        pull: PullId,
        head: Commit,
    },
    BaseMoved {
        base: Commit,
        /// The branch that moved, if that is not the default branch of the project.
        branch: Option<String>,
    },
    Tested {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// What was merged before it, in order.
        ahead: Vec<Part>,
        /// The checks were run. Without them, it was only worked out what would land.
        checks: bool,
        result: TestOutcome,
    },
    Landed {
        pull: PullId,
        head: Commit,
        commit: Commit,
        head_branch: Option<HeadBranch>,
        /// Those that have landed with it, before it, each with its own commit.
        with: Vec<(Part, Commit)>,
    },
    /// Head or base was no longer where it had been, or something is in the way.
    LandRefused {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// Where the base is instead, if that was seen.
        tip: Option<Commit>,
        why: String,
        /// Whether that has nothing to do with what was to land.
        in_the_way: bool,
    },
    /// The hooks that may object were asked about a head.
    Verdict {
        pull: PullId,
        head: Commit,
        objection: Option<String>,
    },
    /// The work itself broke, which says nothing about the pull request. `tries` is that of the work, so that one
    /// failure heard twice counts once.
    EffectFailed {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// What was to be merged before it.
        ahead: Vec<Part>,
        tries: u32,
        why: String,
    },
}

/// Outcome of the test of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    Green {
        tree: String,
    },
    Red {
        output: String,
        /// Commits that have landed since the change began, in words. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        between: String,
    },
    Conflict {
        files: Vec<String>,
        /// The pull request ahead that could not be merged, if it was not the last one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull: Option<PullId>,
    },
}

/// What happened to the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueEvent {
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
    Reprioritized {
        pull: PullId,
        priority: i32,
    },
    Removed {
        pull: PullId,
        why: String,
    },
    Paused {
        why: String,
    },
    Resumed {},
    BaseMoved {
        base: Commit,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// A lane is begun: these heads, one after another, on what is ahead of them.
    TestStarted {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// What is in the lanes before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ahead: Vec<Part>,
        /// Those of the same batch, before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<Part>,
        /// Whether it changes the policy that those behind it are judged by.
        #[serde(default, skip_serializing_if = "is_false")]
        policy: bool,
    },
    TestPassed {
        pull: PullId,
        head: Commit,
        base: Commit,
        tree: String,
    },
    /// Its lane has failed, but something is ahead of it that may be why.
    TestFailed {
        pull: PullId,
        head: Commit,
        result: TestOutcome,
    },
    /// A batch failed, so these are tested with fewer others from now on.
    Split {
        pulls: Vec<PullId>,
        most: u32,
        why: String,
    },
    LandStarted {
        pull: PullId,
        head: Commit,
        base: Commit,
        tree: String,
    },
    /// The hooks that may object were asked about this head, and do not.
    Cleared {
        pull: PullId,
        head: Commit,
    },
    /// What was tested or begun of its lane no longer counts; all that is in it waits again.
    Voided {
        pull: PullId,
        why: String,
    },
    /// Its turn came but policy does not hold. Told once, not at every look.
    Held {
        pull: PullId,
        why: String,
    },
    /// The work broke and is wanted again.
    TryFailed {
        pull: PullId,
        tries: u32,
        why: String,
        #[serde(default, skip_serializing_if = "is_false")]
        landing: bool,
    },
    /// Its lane stays green and is landed later.
    InTheWay {
        pull: PullId,
        why: String,
        times: u32,
        again_at: Timestamp,
    },
    Rejected {
        pull: PullId,
        head: Commit,
        reason: Rejection,
    },
    Landed {
        pull: PullId,
        head: Commit,
        commit: Commit,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_branch: Option<HeadBranch>,
    },
}

/// Why a pull request left the queue without landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The checks failed on what would have landed, and this is what they said.
    Red {
        output: String,
        /// Commits that have landed since the change began, in words. May be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        between: String,
    },
    Conflict {
        files: Vec<String>,
    },
    /// The work broke too often to go on.
    Broken {
        why: String,
    },
    /// A hook objects to the merge.
    Vetoed {
        why: String,
    },
    /// It was requested to land at once, and something keeps it from that.
    Held {
        why: String,
    },
}

/// Why a request to the queue was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueRefusal {
    #[error("`{pull}` may not be merged: {why}")]
    NotAllowed { pull: PullId, why: String },
    #[error("`{pull}` is not in the merge queue")]
    NotQueued { pull: PullId },
}

impl MergeQueue {
    pub fn entry(&self, pull: &PullId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.pull == *pull)
    }

    /// The lane that a pull request is in.
    pub fn lane_of(&self, pull: &PullId) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.has(pull))
    }

    /// Returns the work that is wanted now; while paused, only that of a request.
    pub fn work(&self) -> Vec<Work> {
        let wanted =
            self.lanes.iter().filter(|lane| self.paused.is_none() || self.request_of(lane).is_some());
        wanted.filter_map(|lane| lane.work(self.tries_of(lane))).collect()
    }

    /// The request that a lane is for.
    pub fn request_of(&self, lane: &Lane) -> Option<&MergeRequest> {
        self.entry(&lane.last()?.pull)?.request.as_ref()
    }

    fn runs_checks(&self, lane: &Lane) -> bool {
        self.request_of(lane).is_none_or(MergeRequest::runs_checks)
    }

    /// What is green and first and waits for the word of hooks, if there are any: head, and the base that it stands on.
    pub(crate) fn awaits_word(&self) -> impl Iterator<Item = (&PullId, &Commit, &Commit)> {
        let first = self.lanes.first().filter(|lane| matches!(lane.state, LaneState::Tested { .. }));
        first.into_iter().flat_map(|lane| {
            let unheard = lane.parts.iter().filter(|part| !self.is_cleared(part));
            unheard.map(|part| (&part.pull, &part.head, &lane.on))
        })
    }

    fn is_cleared(&self, part: &Part) -> bool {
        self.entry(&part.pull).is_some_and(|entry| entry.cleared)
    }

    /// Whether a test still says something: also while nothing new is begun.
    pub fn is_testing(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        ahead: &[Part],
        checks: bool,
    ) -> bool {
        self.in_test(pull, head, base, ahead, checks).is_some()
    }

    /// The lane whose test this is.
    fn in_test(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        ahead: &[Part],
        checks: bool,
    ) -> Option<&Lane> {
        self.led_by(pull, head).filter(|lane| {
            let testing = matches!(lane.state, LaneState::Testing {});
            testing && lane.base == *base && lane.before() == ahead && self.runs_checks(lane) == checks
        })
    }

    fn led_by(&self, pull: &PullId, head: &Commit) -> Option<&Lane> {
        let leads = |last: &Part| last.pull == *pull && last.head == *head;
        self.lanes.iter().find(|lane| lane.last().is_some_and(leads))
    }

    /// When a landing is tried again that something was in the way of.
    pub(crate) fn again_at(&self) -> Option<Timestamp> {
        let first = self.lanes.first().filter(|lane| matches!(lane.state, LaneState::Tested { .. }))?;
        let in_the_way = self.in_the_way_of(first).filter(|_| self.paused.is_none())?;
        Some(in_the_way.again_at)
    }

    /// What keeps a lane from landing, if anything was found.
    pub fn in_the_way_of(&self, lane: &Lane) -> Option<&InTheWay> {
        self.entry(&lane.last()?.pull)?.in_the_way.as_ref()
    }

    /// How often the work of a lane broke.
    fn tries_of(&self, lane: &Lane) -> u32 {
        lane.last().and_then(|last| self.entry(&last.pull)).map_or(0, |entry| entry.tries)
    }

    /// What the first lane stands on. While one lands, its result says where the base is, whoever has seen it move.
    fn anchor(&self) -> Option<&Commit> {
        let landing = self.lanes.first().filter(|lane| lane.is_landing());
        landing.map(|lane| &lane.on).or(self.base.as_ref())
    }
}
