//! Who waits for which task.

use std::collections::{BTreeMap, BTreeSet};

use crate::TaskId;
use crate::state::State;

/// For each task the open ones that it blocks: what the tasks themselves say, turned round once for all questions.
pub(super) struct Waiters<'a> {
    of: BTreeMap<&'a TaskId, Vec<&'a TaskId>>,
}

impl<'a> Waiters<'a> {
    pub(super) fn of(state: &'a State) -> Waiters<'a> {
        let mut of: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
        for (id, facts) in state.tasks.iter().filter(|(_, facts)| !facts.closed) {
            for blocker in &facts.blocked_by {
                of.entry(blocker).or_default().push(id);
            }
        }
        Waiters { of }
    }

    /// How many open tasks cannot begin before this one is closed, however far down the line.
    pub(super) fn behind(&self, task: &TaskId) -> usize {
        let mut found: BTreeSet<&TaskId> = BTreeSet::new();
        let mut next = vec![task];
        while let Some(blocker) = next.pop() {
            let waiting = self.of.get(blocker).into_iter().flatten();
            next.extend(waiting.filter(|id| **id != task && found.insert(id)));
        }
        found.len()
    }
}
