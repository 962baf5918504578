//! The order of the queue: request, then priority, then fewest conflicts, then age.

use std::cmp::Reverse;
use std::time::Duration;

use super::{MergeQueue, QueueEntry};
use crate::state::State;
use crate::{ProjectId, PullId, Timestamp};

/// The waiting time after which an entry is no longer overtaken because of its conflicts.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

impl MergeQueue {
    /// Returns the waiting entries, in the order in which they are started.
    pub(crate) fn waiting(
        &self,
        now: Timestamp,
        clash: &dyn Fn(&PullId, &PullId) -> bool,
    ) -> Vec<&QueueEntry> {
        let mut waiting: Vec<(usize, &QueueEntry)> = self
            .entries
            .iter()
            .filter(|entry| self.lane_of(&entry.pull).is_none())
            .map(|entry| (self.clashes(entry, now, clash), entry))
            .collect();
        waiting.sort_by_key(|(clashes, entry)| {
            (entry.request.is_none(), Reverse(entry.priority), *clashes, entry.since, entry.pull.clone())
        });
        waiting.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Returns the number of entries it conflicts with. If it lands first, each of them has to be reworked.
    fn clashes(&self, entry: &QueueEntry, now: Timestamp, clash: &dyn Fn(&PullId, &PullId) -> bool) -> usize {
        if now.since(entry.since) >= PATIENCE {
            return 0;
        }
        let others = self.entries.iter().filter(|other| other.pull != entry.pull);
        others.filter(|other| clash(&entry.pull, &other.pull)).count()
    }
}

impl State {
    /// Returns everything in the queues of a project, in the order in which it would land if all tests passed.
    pub fn merge_order(&self, project: &ProjectId) -> Vec<PullId> {
        let Some(project) = self.projects.get(project) else { return vec![] };
        let clash = |a: &PullId, b: &PullId| self.may_clash(a, b);
        let in_order = |queue: &MergeQueue| -> Vec<PullId> {
            let in_work = queue.lanes.iter().flat_map(|lane| lane.parts.iter().map(|part| part.pull.clone()));
            let waiting = queue.waiting(self.at, &clash).into_iter().map(|entry| entry.pull.clone());
            in_work.chain(waiting).collect()
        };
        project.queues().flat_map(in_order).collect()
    }

    /// Returns whether two pull requests are predicted to conflict.
    pub(crate) fn may_clash(&self, a: &PullId, b: &PullId) -> bool {
        self.clash_between(a, b).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::bench::*;

    fn order(queue: &MergeQueue, now: i64, clashing: &[(u64, u64)]) -> Vec<u64> {
        let clash = |a: &PullId, b: &PullId| {
            let pair = (a.number.min(b.number), a.number.max(b.number));
            clashing.contains(&pair)
        };
        queue.waiting(Timestamp(now), &clash).into_iter().map(|entry| entry.pull.number).collect()
    }

    #[test]
    fn who_conflicts_with_fewest_goes_first_among_equals_and_only_for_a_while() {
        let inputs: Vec<_> = (1..=4).map(|n| enqueue(n, &format!("h{n}"), i32::from(n == 4))).collect();
        let bench = bench(&inputs);
        assert_eq!(order(&bench.queue, 9, &[]), [4, 1, 2, 3]);
        assert_eq!(order(&bench.queue, 9, &[(1, 2), (1, 3)]), [4, 2, 3, 1]);
        assert_eq!(order(&bench.queue, 9, &[(1, 2)]), [4, 3, 1, 2], "urgency first, then age");
        assert_eq!(
            order(&bench.queue, 9, &[(1, 4), (2, 4), (3, 4)]),
            [4, 1, 2, 3],
            "nobody overtakes the urgent one"
        );
        let late = PATIENCE.as_millis() as i64 + 1;
        assert_eq!(order(&bench.queue, late, &[(1, 2), (1, 3)]), [4, 1, 2, 3], "it has waited long enough");
    }
}
