//! An index of the tasks, pull requests and sessions that wait for something.

use std::collections::{BTreeMap, BTreeSet};

use super::{many, open_pulls};
use crate::forecast::ClashSide;
use crate::pull::Pull;
use crate::schedule::{Obstacle, obstacle};
use crate::session::Phase;
use crate::state::State;
use crate::{ProjectId, PullId, SessionId, TaskId};

/// Everything that waits, indexed by what it waits for, once for all queries.
#[derive(Debug, Default)]
pub(crate) struct Waiters<'a> {
    /// The open tasks that each task blocks.
    tasks: BTreeMap<&'a TaskId, Vec<&'a TaskId>>,
    /// The number of open pull requests whose base is a given branch.
    stacked: BTreeMap<(&'a ProjectId, &'a str), usize>,
    /// The number of clashes of a pull request, or of a session's workspace.
    clashing: BTreeMap<PullId, usize>,
    clashing_sessions: BTreeMap<SessionId, usize>,
    /// A session waits only because all slots are taken: all in total, or those of its project.
    slots: bool,
    slots_in: BTreeSet<&'a ProjectId>,
}

impl<'a> Waiters<'a> {
    pub(crate) fn of(state: &'a State) -> Waiters<'a> {
        let mut found = Waiters::default();
        for (id, facts) in state.tasks.iter().filter(|(_, facts)| !facts.closed) {
            for blocker in &facts.blocked_by {
                found.tasks.entry(blocker).or_default().push(id);
            }
        }
        for pull in open_pulls(state) {
            *found.stacked.entry((&pull.id.project, &pull.facts.base_branch)).or_default() += 1;
        }
        for clash in state.projects.keys().flat_map(|project| state.clashes_in(project)) {
            for side in [&clash.a, &clash.b] {
                match side {
                    ClashSide::Pull(pull) => *found.clashing.entry(pull.clone()).or_default() += 1,
                    ClashSide::Session(id) => *found.clashing_sessions.entry(*id).or_default() += 1,
                }
            }
        }
        for session in state.live().filter(|session| matches!(session.phase, Phase::Queued { .. })) {
            match obstacle(state, session) {
                Some(Obstacle::Cap { .. }) => found.slots = true,
                Some(Obstacle::ProjectCap { .. }) => {
                    found.slots_in.insert(&session.spec.project);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the number of open tasks that cannot begin before this one is closed, directly or indirectly.
    pub(crate) fn behind(&self, task: &TaskId) -> usize {
        let mut found: BTreeSet<&TaskId> = BTreeSet::new();
        let mut next = vec![task];
        while let Some(blocker) = next.pop() {
            let waiting = self.tasks.get(blocker).into_iter().flatten();
            next.extend(waiting.filter(|id| **id != task && found.insert(id)));
        }
        found.len()
    }

    /// Returns the number of things that wait for a pull request: those stacked on it or in conflict with it, the
    /// tasks that its own task blocks, and the next session in line, if its session keeps a slot meanwhile.
    pub(crate) fn behind_pull(&self, state: &State, pull: &Pull) -> u32 {
        // A branch whose base is itself is not stacked.
        let own = pull.facts.base_branch == pull.facts.head_branch;
        let branch = (&pull.id.project, pull.facts.head_branch.as_str());
        let stacked = self.stacked.get(&branch).copied().unwrap_or(0).saturating_sub(usize::from(own));
        let owner = pull.owner.and_then(|owner| state.sessions.get(&owner));
        let tasks = owner.and_then(|owner| owner.spec.task.as_ref()).map_or(0, |task| self.behind(task));
        let of_pull = self.clashing.get(&pull.id).copied().unwrap_or(0);
        let of_session =
            pull.owner.and_then(|owner| self.clashing_sessions.get(&owner)).copied().unwrap_or(0);
        let keeps_slot = owner.is_some_and(|owner| {
            owner.takes_slot() && (self.slots || self.slots_in.contains(&owner.spec.project))
        });
        many(stacked + tasks + of_pull.max(of_session) + usize::from(keeps_slot))
    }
}
