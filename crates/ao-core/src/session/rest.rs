//! Rest: an agent that only waits for others gives its slot to one that could work, and resumes when there is news
//! for it.
//!
//! Its process is ended; its workspace and its conversation stay. A message puts it back into the queue.

use std::cmp::Reverse;

use super::{Phase, Role, Session};
use crate::evidence::Activity;
use crate::settings::Settings;
use crate::{SessionId, Timestamp};

impl Session {
    /// Returns whether it may give up its slot: its turn is over, no message waits, and it waits for others. An
    /// orchestrator is there for a person and stays.
    ///
    /// A session without a result may be about to continue, so it counts only after a long idle time, and only if it
    /// would remember its conversation afterwards.
    pub fn may_rest(&self) -> bool {
        let waits_for_others = !self.pulls.is_empty()
            || (self.spec.agent.abilities.resume
                && (self.spec.role == Role::Reviewer || self.lingers == Some(self.activity_since)));
        matches!(self.phase, Phase::Running { .. })
            && self.judgement.activity == Activity::Idle
            && !self.is_at_it()
            && self.outbox.is_empty()
            && self.answer.is_none()
            && self.spec.role != Role::Orchestrator
            && waits_for_others
    }

    /// Returns whether a person is typing to it, or has just done so.
    pub(crate) fn is_typed_on(&self, now: Timestamp, settings: &Settings) -> bool {
        self.evidence.human_typed.is_some_and(|typed| now < typed + settings.human_quiet)
    }

    /// Returns the order of giving way: agents that can resume first, then the one that has waited longest.
    pub(crate) fn rest_order(&self) -> (Reverse<bool>, Timestamp, SessionId) {
        (Reverse(self.spec.agent.abilities.resume), self.activity_since, self.id)
    }
}
