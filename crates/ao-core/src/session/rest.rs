//! Rest: an agent that only waits for others gives its slot to one that could work, and resumes when there is news
//! for it.
//!
//! Its process is ended; its workspace and its conversation stay. A message puts it back into the queue.

use std::cmp::Reverse;

use super::{Phase, Session, SessionRole};
use crate::evidence::AgentActivity;
use crate::settings::DaemonSettings;
use crate::{SessionId, Timestamp};

impl Session {
    /// Returns true if it may give its slot away: its turn is over, no message waits for it, and it waits for others. An
    /// orchestrator is there for a person and stays.
    ///
    /// One that has nothing to show yet may be about to go on, so it counts only after it has been idle for long, and only if
    /// it would know afterwards what it was about.
    pub fn may_rest(&self) -> bool {
        let waits_for_others = !self.pulls.is_empty()
            || (self.spec.agent.abilities.resume
                && (self.spec.role == SessionRole::Reviewer || self.lingers == Some(self.activity_since)));
        matches!(self.phase, Phase::Running { .. })
            && self.judgement.activity == AgentActivity::Idle
            && !self.is_at_it()
            && self.outbox.is_empty()
            && self.dialogs.answer.is_none()
            && self.spec.role != SessionRole::Orchestrator
            && waits_for_others
    }

    /// Returns true if a person types at it, or has just done so.
    pub(crate) fn is_typed_on(&self, now: Timestamp, settings: &DaemonSettings) -> bool {
        self.evidence.human_typed.is_some_and(|typed| now < typed + settings.human_quiet)
    }

    /// Returns the order in which sessions give way: those that can resume their conversation, then the longest idle.
    pub(crate) fn rest_order(&self) -> (Reverse<bool>, Timestamp, SessionId) {
        (Reverse(self.spec.agent.abilities.resume), self.activity_since, self.id)
    }
}
