//! The merge queue of a project: lands pull requests one at a time, each tested as it will really be.
//!
//! ```text
//! Waiting ──▶ Testing ──green──▶ Tested ──policy still holds, no hook objects──▶ Landing ──▶ landed
//!    ▲           │  │               │                                             │
//!    └─base moved┴──┼───────────────┼─────────────────────────────────────────────┘
//!                   └─red, conflict, broken too often, an objection──▶ rejected, with what was seen
//! ```
//!
//! A result counts for exactly one head on one base. What the queue wants done is derived from its state by
//! [`MergeQueue::work`], so after a crash the same work is simply wanted again. It runs one entry at a time; batches
//! would become a state that names several pulls, and `work` would ask for their common test.

use serde::{Deserialize, Serialize};

use crate::{Commit, PullId, Timestamp};

#[cfg(test)]
mod bench;
mod decide;
mod evolve;
mod steps;

pub(crate) use decide::decide;
pub(crate) use evolve::evolve;

/// How often an entry may break for reasons that are not its own before it is given up.
pub const MAX_TRIES: u32 = 3;

/// The pull requests that want to land on one base branch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MergeQueue {
    /// In the order in which they will have their turn; at most one of them is not waiting.
    pub entries: Vec<Entry>,
    /// Why nothing is started.
    pub paused: Option<String>,
    /// The tip of the base branch, as last seen.
    pub base: Option<Commit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub pull: PullId,
    /// What was asked to land. Another head is another question.
    pub head: Commit,
    /// Higher goes first.
    pub priority: i32,
    pub since: Timestamp,
    pub state: EntryState,
    /// How often its work broke for reasons that are not its own.
    pub tries: u32,
    /// Why policy made it step aside when its turn came. It keeps its place, because a freeze ends and a check that
    /// is run again passes.
    pub held: Option<String>,
    /// Whether the hooks that may object have been asked about this head, and did not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cleared: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    Waiting,
    Testing {
        base: Commit,
    },
    /// Green, but not to be landed yet: the queue was paused meanwhile, or hooks are asked whether it may.
    Tested {
        base: Commit,
        tree: String,
    },
    Landing {
        base: Commit,
        tree: String,
    },
}

/// The one thing that the queue wants done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Merge `head` into `base` somewhere clean, run the checks, and tell the tree that was tested.
    Test { pull: PullId, head: Commit, base: Commit, tries: u32 },
    /// Land exactly `tree`, and only if head and base are still where they were.
    Land { pull: PullId, head: Commit, base: Commit, tree: String, tries: u32 },
}

/// What can be said to the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueInput {
    Enqueue {
        pull: PullId,
        head: Commit,
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
    },
    Tested {
        pull: PullId,
        head: Commit,
        base: Commit,
        result: TestResult,
    },
    Landed {
        pull: PullId,
        head: Commit,
        commit: Commit,
    },
    /// Head or base was no longer where it had been.
    LandRefused {
        pull: PullId,
        head: Commit,
        base: Commit,
        /// Where the base is instead, if that was seen.
        tip: Option<Commit>,
        why: String,
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
        tries: u32,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    Green { tree: String },
    Red { output: String },
    Conflict { files: Vec<String> },
}

/// What happened to the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueEvent {
    Enqueued {
        pull: PullId,
        head: Commit,
        priority: i32,
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
    },
    TestStarted {
        pull: PullId,
        head: Commit,
        base: Commit,
    },
    TestPassed {
        pull: PullId,
        head: Commit,
        base: Commit,
        tree: String,
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
    /// What was tested or begun no longer counts; the entry waits again.
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
    },
}

/// Why a pull request left the queue without landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The checks failed on what would have landed, and this is what they said.
    Red {
        output: String,
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

    /// Returns the one thing wanted now; nothing while paused, without entries, or before the base is known.
    pub fn work(&self) -> Option<Work> {
        if self.paused.is_some() {
            return None;
        }
        let Entry { pull, head, state, tries, .. } = self.active()?;
        let (pull, head, tries) = (pull.clone(), head.clone(), *tries);
        match state {
            EntryState::Testing { base } => Some(Work::Test { pull, head, base: base.clone(), tries }),
            EntryState::Landing { base, tree } => {
                Some(Work::Land { pull, head, base: base.clone(), tree: tree.clone(), tries })
            }
            EntryState::Waiting | EntryState::Tested { .. } => None,
        }
    }

    /// What is green and waits for the word of hooks, if there are any: its head, and the base that it was tested on.
    pub(crate) fn awaits_word(&self) -> Option<(&PullId, &Commit, &Commit)> {
        let entry = self.active().filter(|entry| !entry.cleared)?;
        match &entry.state {
            EntryState::Tested { base, .. } => Some((&entry.pull, &entry.head, base)),
            _ => None,
        }
    }

    /// The entry whose turn it is. Once begun it is finished, even if a more urgent one comes along.
    fn active(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.state != EntryState::Waiting)
    }
}

impl EntryState {
    /// The base that the state was reached on.
    fn base(&self) -> Option<&Commit> {
        match self {
            EntryState::Waiting => None,
            EntryState::Testing { base }
            | EntryState::Tested { base, .. }
            | EntryState::Landing { base, .. } => Some(base),
        }
    }
}
