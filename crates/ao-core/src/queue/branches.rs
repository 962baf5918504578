//! The queues of a project: one for its default branch, and one for each other branch that a request is to land on.

use std::iter::once;

use super::{MergeQueue, QueueEntry, QueueEvent, QueueInput, evolve};
use crate::project::Project;
use crate::{PullId, Timestamp};

impl Project {
    /// Returns the queues, the one of the default branch first.
    pub fn queues(&self) -> impl Iterator<Item = &MergeQueue> {
        once(&self.queue).chain(self.other_queues.values())
    }

    /// Returns the queue that a pull request is in.
    pub fn queue_with(&self, pull: &PullId) -> Option<&MergeQueue> {
        self.queues().find(|queue| queue.entry(pull).is_some())
    }

    /// Returns the entry of a pull request, from any queue.
    pub fn queued(&self, pull: &PullId) -> Option<&QueueEntry> {
        self.queues().find_map(|queue| queue.entry(pull))
    }

    /// Returns the queue of a branch. A branch other than the default one has a queue only while something is to land
    /// on it.
    fn queue_of(&self, branch: Option<&String>) -> Option<&MergeQueue> {
        branch.map_or(Some(&self.queue), |branch| self.other_queues.get(branch))
    }

    /// Returns the queues that an input is for. A late input, whose pull request has left all queues, goes to the
    /// queue of the default branch, which ignores it.
    pub(super) fn queues_for(
        &self,
        input: &QueueInput,
        base_branch: impl Fn(&PullId) -> Option<String>,
    ) -> Vec<MergeQueue> {
        match input {
            QueueInput::Look {} => self.queues().cloned().collect(),
            QueueInput::BaseMoved { branch, .. } => {
                self.queue_of(branch.as_ref()).cloned().into_iter().collect()
            }
            QueueInput::Pause { .. } | QueueInput::Resume {} | QueueInput::Enqueue { .. } => {
                vec![self.queue.clone()]
            }
            QueueInput::MergeNow { pull, .. } => {
                let branch = base_branch(pull).filter(|branch| *branch != self.config.default_branch);
                let fresh = || MergeQueue { branch: branch.clone(), ..MergeQueue::default() };
                vec![self.queue_of(branch.as_ref()).cloned().unwrap_or_else(fresh)]
            }
            QueueInput::Prioritize { pull, .. }
            | QueueInput::Remove { pull, .. }
            | QueueInput::HeadMoved { pull, .. }
            | QueueInput::Tested { pull, .. }
            | QueueInput::Landed { pull, .. }
            | QueueInput::LandRefused { pull, .. }
            | QueueInput::TestLimited { pull, .. }
            | QueueInput::LandLimited { pull, .. }
            | QueueInput::Verdict { pull, .. }
            | QueueInput::EffectFailed { pull, .. } => {
                vec![self.queue_with(pull).unwrap_or(&self.queue).clone()]
            }
        }
    }

    /// Folds an event into the queue that it is about.
    pub(crate) fn evolve_queue(&mut self, event: &QueueEvent, at: Timestamp) {
        let branch = match event {
            QueueEvent::Enqueued { branch, .. } | QueueEvent::BaseMoved { branch, .. } => branch.clone(),
            event => {
                event.pull().and_then(|pull| self.queue_with(pull)).and_then(|queue| queue.branch.clone())
            }
        };
        let Some(branch) = branch else { return evolve(&mut self.queue, event, at) };
        let fresh = || MergeQueue { branch: Some(branch.clone()), ..MergeQueue::default() };
        let queue = self.other_queues.entry(branch.clone()).or_insert_with(fresh);
        evolve(queue, event, at);
        if queue.entries.is_empty() {
            self.other_queues.remove(&branch);
        }
    }
}

impl QueueEvent {
    /// Returns the pull request that the event is about, or one of them.
    fn pull(&self) -> Option<&PullId> {
        match self {
            QueueEvent::Enqueued { pull, .. }
            | QueueEvent::Reprioritized { pull, .. }
            | QueueEvent::Removed { pull, .. }
            | QueueEvent::TestStarted { pull, .. }
            | QueueEvent::TestPassed { pull, .. }
            | QueueEvent::TestFailed { pull, .. }
            | QueueEvent::LandStarted { pull, .. }
            | QueueEvent::Cleared { pull, .. }
            | QueueEvent::Voided { pull, .. }
            | QueueEvent::Held { pull, .. }
            | QueueEvent::TryFailed { pull, .. }
            | QueueEvent::InTheWay { pull, .. }
            | QueueEvent::TestResumed { pull }
            | QueueEvent::Rejected { pull, .. }
            | QueueEvent::Landed { pull, .. } => Some(pull),
            QueueEvent::Split { pulls, .. } => pulls.first(),
            QueueEvent::Paused { .. } | QueueEvent::Resumed {} | QueueEvent::BaseMoved { .. } => None,
        }
    }
}
