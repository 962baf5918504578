//! A lane: pull requests that are tested, and land, as one.

use serde::{Deserialize, Serialize};

use super::{QueueWork, TestOutcome};
use crate::{Commit, PullId};

/// One head of one pull request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LanePart {
    pub pull: PullId,
    pub head: Commit,
}

/// Pull requests that are tested together, on the base and everything in the lanes before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The base and the parts that the test was started on. They never change, because the result is about them.
    pub base: Commit,
    pub ahead: Vec<LanePart>,
    /// The lane's own parts, in the order in which they land. The last one identifies the lane.
    pub parts: Vec<LanePart>,
    /// The present equivalent of `base` and `ahead`: parts that were ahead may have landed, which moved the base.
    pub on: Commit,
    pub left: Vec<LanePart>,
    pub state: LaneState,
    /// The lane changes the policy. Such a lane has one part, and none behind it.
    pub policy: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneState {
    /// Its test is under way.
    Testing {},
    /// Green, but not landing yet: others are ahead, the queue is paused, or hooks have to answer first.
    Tested { tree: String },
    /// Red or in conflict, with others ahead of it that may be the cause.
    Failed { result: TestOutcome },
    /// It is being merged.
    Landing { tree: String },
}

impl Lane {
    pub(super) fn new(base: Commit, ahead: Vec<LanePart>, parts: Vec<LanePart>, policy: bool) -> Lane {
        let (on, left) = (base.clone(), ahead.clone());
        Lane { base, ahead, parts, on, left, state: LaneState::Testing {}, policy }
    }

    pub fn has(&self, pull: &PullId) -> bool {
        self.parts.iter().any(|part| part.pull == *pull)
    }

    /// Returns the part that identifies the lane.
    pub fn last(&self) -> Option<&LanePart> {
        self.parts.last()
    }

    pub fn is_landing(&self) -> bool {
        matches!(self.state, LaneState::Landing { .. })
    }

    pub(super) fn is_testing(&self) -> bool {
        matches!(self.state, LaneState::Testing {})
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, LaneState::Failed { .. })
    }

    /// Returns the parts that land together with the last one, before it.
    pub(super) fn others(&self) -> &[LanePart] {
        self.parts.split_last().map(|(_, others)| others).unwrap_or_default()
    }

    /// Returns everything that is merged before the last part for the test.
    pub(super) fn before(&self) -> Vec<LanePart> {
        [&self.ahead, self.others()].concat()
    }

    pub(super) fn work(&self, tries: u32) -> Option<QueueWork> {
        let LanePart { pull, head } = self.last()?.clone();
        match &self.state {
            LaneState::Testing {} => {
                Some(QueueWork::Test { pull, head, base: self.base.clone(), ahead: self.before(), tries })
            }
            LaneState::Landing { tree } => {
                let (base, with) = (self.on.clone(), self.others().to_vec());
                Some(QueueWork::Land { pull, head, base, with, tree: tree.clone(), tries })
            }
            LaneState::Tested { .. } | LaneState::Failed { .. } => None,
        }
    }
}
