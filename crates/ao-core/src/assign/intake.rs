//! Whose turn it is among the tasks that nobody works on.

use std::cmp::Reverse;

use super::{AutoAssign, Choice, choose};
use crate::budget::Budget;
use crate::errand::{Behalf, Order};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::schedule::{Obstacle, Slots, fairest};
use crate::state::State;
use crate::task::{self, Task};
use crate::{ProjectId, TaskId, Timestamp};

/// A task that could not be given to anybody is tried again after this long, when something happens.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(600);

/// A task and who gets it.
#[derive(Debug, Clone)]
pub(crate) struct Pick<'a> {
    pub(crate) task: &'a TaskId,
    pub(crate) choice: Choice<'a>,
}

/// The tasks of a project that may begin, the next one last.
pub(crate) type Line<'a> = Vec<(&'a TaskId, &'a Task)>;

/// The tasks that are to be given to agents now, and to whom. No more than have room: the others stay tasks, and their
/// words and priorities what the tracker says.
pub(crate) fn picks(state: &State, now: Timestamp) -> Vec<Pick<'_>> {
    let takers = || {
        state.projects.iter().filter_map(|(id, project)| Some((id, project, project.auto_assign.as_ref()?)))
    };
    if takers().next().is_none() || state.scarce_mb.is_some() {
        return vec![];
    }
    let mut slots = promised(state);
    let mut lines: Vec<(&ProjectId, Line<'_>)> =
        takers().map(|(id, project, auto)| (id, line_of(state, id, project, auto, now))).collect();
    let mut picks = Vec::new();
    while let Some((id, line)) = fairest(&slots, &mut lines, |(_, facts)| facts.priority) {
        let (task, facts) = line.pop().expect("empty lines were left out");
        let project = &state.projects[id];
        let auto = project.auto_assign.as_ref().expect("others have no line");
        let room = |specialist: &super::Specialist| slots.room_for(specialist);
        let Some(choice) = choose(auto, &project.specialists, &facts.labels, room) else { continue };
        if slots.full(id, choice.id()).is_none() {
            slots.take(id, choice.id());
            picks.push(Pick { task, choice });
        }
    }
    picks
}

/// Whether a project has a task that begins by itself as soon as there is room.
pub(crate) fn has_next(state: &State, id: &ProjectId, now: Timestamp) -> bool {
    let Some(project) = state.projects.get(id) else { return false };
    let Some(auto) = &project.auto_assign else { return false };
    let begun = |order: &Order| matches!(order, Order::Assign { task, .. } if task.project == *id);
    state.errands.values().any(|errand| begun(&errand.order))
        || !line_of(state, id, project, auto, now).is_empty()
}

/// The slots that are taken, or will be by those that are already on their way.
pub(crate) fn promised(state: &State) -> Slots<'_> {
    let mut slots = Slots::now(state);
    for (project, specialist) in crate::schedule::ready(state) {
        slots.take(project, specialist);
    }
    for errand in state.errands.values() {
        if let Order::Assign { task, agent, .. } = &errand.order {
            slots.take(&task.project, agent.as_deref());
        }
    }
    slots
}

/// The tasks of a project that nothing keeps but room.
pub(crate) fn line_of<'a>(
    state: &'a State,
    id: &'a ProjectId,
    project: &'a Project,
    auto: &'a AutoAssign,
    now: Timestamp,
) -> Line<'a> {
    let mut line: Line<'a> = tasks_of(state, id)
        .filter(|(task, facts)| {
            auto.wants(&facts.labels) && own_obstacle(state, project, auto, task, facts, now).is_none()
        })
        .collect();
    // The most urgent is last; of as urgent ones the oldest, which has the lowest number.
    line.sort_by_key(|(task, facts)| (facts.priority, Reverse(task.key.len()), Reverse(&task.key)));
    line
}

pub(crate) fn tasks_of<'a>(
    state: &'a State,
    project: &'a ProjectId,
) -> impl Iterator<Item = (&'a TaskId, &'a Task)> {
    let first = TaskId { project: project.clone(), key: String::new() };
    state.tasks.range(first..).take_while(move |(task, _)| task.project == *project)
}

/// Why nobody works yet on an open task of a project that picks up tasks by itself: absent if it is not one of those that are
/// picked up, or if somebody does.
pub fn task_obstacle(state: &State, task: &TaskId, now: Timestamp) -> Option<Obstacle> {
    let project = state.projects.get(&task.project)?;
    let auto = project.auto_assign.as_ref()?;
    let facts = state.tasks.get(task).filter(|facts| !facts.closed && auto.wants(&facts.labels))?;
    if state.live_session_of(task).is_some() {
        return None;
    }
    own_obstacle(state, project, auto, task, facts, now)
        .or_else(|| state.scarce_mb.map(|free_mb| Obstacle::Memory { free_mb }))
        .or_else(|| {
            let slots = promised(state);
            let choice =
                choose(auto, &project.specialists, &facts.labels, |specialist| slots.room_for(specialist))?;
            slots.full(&task.project, choice.id())
        })
}

/// What keeps this task in particular, whatever the caps.
fn own_obstacle(
    state: &State,
    project: &Project,
    auto: &AutoAssign,
    id: &TaskId,
    facts: &Task,
    now: Timestamp,
) -> Option<Obstacle> {
    if state.is_ordered(&key(id)) || state.live_session_of(id).is_some() {
        return Some(Obstacle::Begun);
    }
    if facts.closed || state.worked.contains(id) {
        return Some(Obstacle::Worked);
    }
    if state.may_pick_up(id, facts).is_err() {
        let author = facts.author.as_ref().map_or_else(|| "somebody unknown".into(), crate::outside::signed);
        return Some(Obstacle::Untrusted { author });
    }
    if let Some(blocker) = state.open_blockers(facts).next() {
        return Some(Obstacle::BlockedBy(blocker.clone()));
    }
    let choice = match choose(auto, &project.specialists, &facts.labels, |_| 0) {
        Some(choice) => choice,
        None => return Some(Obstacle::NoSpecialist),
    };
    if let Some(known) = state.unassigned.get(id).filter(|known| now.since(known.at) < AGAIN) {
        return Some(Obstacle::NotAssigned { why: known.why.clone() });
    }
    if state.accounts.contains_key(choice.account(auto)) {
        return Some(Obstacle::Account(choice.account(auto).to_owned()));
    }
    let budgets = [
        Budget::Task(id.clone()),
        Budget::Project(id.project.clone()),
        Budget::ProjectDay(id.project.clone()),
        Budget::Day,
    ];
    let spent = budgets.iter().find_map(|budget| state.purses.get(budget)?.cap.as_ref());
    spent.map(|cap| Obstacle::Held(cap.why.clone()))
}

/// The key of the errand that gives a task to an agent.
pub(crate) fn key(task: &TaskId) -> String {
    format!("assign {task}")
}

/// The errand itself.
pub(crate) fn order(pick: &Pick<'_>) -> (String, Order, Behalf) {
    let order = Order::Assign {
        task: pick.task.clone(),
        agent: pick.choice.id().map(str::to_owned),
        why: pick.choice.why.clone(),
    };
    (key(pick.task), order, Behalf::Task(pick.task.clone()))
}

impl State {
    /// Whether work on a task may begin without a person who answers for it now: its author may set agents to work, or
    /// somebody who may label has put the label on it by which its project is told so.
    pub fn may_pick_up(&self, task: &TaskId, facts: &Task) -> Result<(), Refusal> {
        let auto = self.projects.get(&task.project).and_then(|project| project.auto_assign.as_ref());
        match auto.is_some_and(|auto| auto.approves(&facts.labels)) {
            true => Ok(()),
            false => task::may_pick_up(task, facts),
        }
    }

    /// The tasks that have to be closed before this one can begin.
    pub fn open_blockers<'a>(&'a self, facts: &'a Task) -> impl Iterator<Item = &'a TaskId> {
        let open = |blocker: &&TaskId| self.tasks.get(blocker).is_none_or(|known| !known.closed);
        facts.blocked_by.iter().filter(open)
    }
}
