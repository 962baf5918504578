//! Advice about tasks that wait for each other, so that none of them ever begins.

use std::collections::{BTreeMap, BTreeSet};

use super::{AdviceItem, AdviceKind, AdviceSubject, Known, shell};
use crate::TaskId;
use crate::state::State;

/// Reports tasks that wait for each other. If circles share a task, one of them is reported, and the next once that
/// is fixed.
pub(super) fn circles(known: &Known<'_>) -> Vec<AdviceItem> {
    let of = found(known.state).into_iter().map(|circle| {
        let id = circle[0];
        let back = circle.get(1).unwrap_or(&id);
        let others: BTreeSet<String> = circle[1..].iter().map(ToString::to_string).collect();
        let others: Vec<String> = others.into_iter().collect();
        let what = match others.is_empty() {
            true => format!("{id} is blocked by itself"),
            false => format!("{id} and {} wait for each other", others.join(", ")),
        };
        let why = format!("{id} is blocked by {back}, and that by {id}; none of them ever begins");
        let command =
            format!("ao issue edit {} --not-blocked-by {}", shell(&id.to_string()), shell(&back.key));
        let one = AdviceItem::new(
            AdviceKind::Circle,
            Some(&id.project),
            AdviceSubject::Task(id.clone()),
            what,
            why,
        );
        one.unblocks(known.waiters.behind(id).max(1)).command(command)
    });
    of.collect()
}

/// Returns the circles, each from its first task on, every task blocked by the one after it.
///
/// Walks along every blocker once. Returning to a task on the current path reveals a circle. The path is a list,
/// because chains of tasks may be longer than a stack is deep.
fn found(state: &State) -> Vec<Vec<&TaskId>> {
    let blockers = |id: &TaskId| {
        let open = state.tasks.get(id).filter(|facts| !facts.closed);
        open.into_iter().flat_map(|facts| &facts.blocked_by)
    };
    // The position of a task on the path; `None` once everything behind it has been walked.
    let mut place: BTreeMap<&TaskId, Option<usize>> = BTreeMap::new();
    let mut told: BTreeSet<&TaskId> = BTreeSet::new();
    let mut circles = Vec::new();
    for start in state.tasks.keys() {
        if place.contains_key(start) {
            continue;
        }
        place.insert(start, Some(0));
        let mut way = vec![(start, blockers(start))];
        while let Some((id, ahead)) = way.last_mut() {
            let id = *id;
            let Some(blocker) = ahead.next() else {
                place.insert(id, None);
                way.pop();
                continue;
            };
            match place.get(blocker) {
                None => {
                    place.insert(blocker, Some(way.len()));
                    way.push((blocker, blockers(blocker)));
                }
                Some(None) => {}
                Some(Some(from)) => {
                    let mut circle: Vec<&TaskId> = way[*from..].iter().map(|(id, _)| *id).collect();
                    if circle.iter().any(|id| told.contains(id)) {
                        continue;
                    }
                    let first = (0..circle.len()).min_by_key(|n| circle[*n]).unwrap_or_default();
                    circle.rotate_left(first);
                    told.extend(&circle);
                    circles.push(circle);
                }
            }
        }
    }
    circles
}
