//! Compares what the engine knows with what the forge and the tracker have.

use std::collections::BTreeMap;

use ao_core::pull::{CheckState, PullFacts, PullState};
use ao_ports::{LookHint, TaskSeen};

use super::Invariant::ChangesSeen;
use crate::universe::UniverseState;

/// The time in milliseconds in which a change is seen after a hint, while nothing fails.
pub(crate) const PROMPT: u64 = 30_000;

/// Checks that all changes but the latest were seen.
pub(crate) fn all_seen(inner: &mut UniverseState) {
    let (now, outside, shadow) = (inner.elapsed(), &inner.outside, &inner.log.shadow);
    let settled = |hint: &LookHint| outside.changed.get(hint).is_none_or(|at| at + PROMPT <= now);
    let pulls = outside.pulls.iter().filter(|(pull, _)| settled(&LookHint::Pull((*pull).clone())));
    let unseen = pulls.filter_map(|(pull, facts)| {
        let known = shadow.pulls.get(pull).map(|known| &known.facts);
        let same = match facts.state {
            PullState::Open => known.is_some_and(|known| part(known) == part(facts)),
            // Nothing else matters any more.
            _ => known.is_none_or(|known| known.state != PullState::Open),
        };
        (!same).then(|| format!("{pull} is {:?}, and known as {:?}", part(facts), known.map(part)))
    });
    let tasks = outside.tasks.iter().filter(|(task, _)| settled(&LookHint::Task((*task).clone())));
    let untold = tasks.filter_map(|(task, TaskSeen { facts, .. })| {
        let blocked_by = outside.open_blockers(task);
        let known = shadow.tasks.get(task);
        let picked_up =
            shadow.projects.get(&task.project).is_some_and(|project| project.config.auto_assign.is_some());
        let same = match known {
            Some(known) => {
                (&known.title, known.closed, &known.blocked_by) == (&facts.title, facts.closed, &blocked_by)
            }
            None => facts.closed || !picked_up,
        };
        (!same).then(|| format!("{task} is {facts:?}, and known as {known:?}"))
    });
    if let Some(what) = unseen.chain(untold).next() {
        inner.broken(ChangesSeen, what);
    }
}

/// The part of a pull request that is compared: all that does not depend on the time of the look.
#[derive(Debug, PartialEq)]
struct ComparedPull<'a> {
    title: &'a str,
    head: &'a str,
    state: &'a PullState,
    checks: BTreeMap<&'a str, &'a CheckState>,
    reviews: usize,
    threads: Vec<(&'a str, bool, usize)>,
}

fn part(facts: &PullFacts) -> ComparedPull<'_> {
    let checks = facts.checks.iter().filter(|check| check.commit == facts.head);
    let threads = facts.threads.iter().filter(|thread| !thread.resolved);
    ComparedPull {
        title: &facts.title,
        head: facts.head.as_str(),
        state: &facts.state,
        checks: checks.map(|check| (check.name.as_str(), &check.state)).collect(),
        reviews: facts.reviews.len(),
        threads: threads.map(|it| (it.id.as_str(), it.resolved, it.comments.len())).collect(),
    }
}
