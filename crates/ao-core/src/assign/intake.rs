//! Picks the next tasks that have no session yet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{AutoAssign, Choice, SpecialistAgent, choose};
use crate::budget::BudgetScope;
use crate::job::{JobOrder, Requester};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::schedule::{Obstacle, Slots, fairest};
use crate::state::State;
use crate::task::{self, Task};
use crate::{ProjectId, TaskId, Timestamp};

/// The delay before a task that could not be assigned is tried again, at the next event.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(600);

/// A task and the agent it is assigned to.
#[derive(Debug, Clone)]
pub(crate) struct Pick<'a> {
    pub(crate) task: &'a TaskId,
    facts: &'a Task,
    choice: Choice<'a>,
}

/// The tasks of a project that may begin, the next one last.
type Line<'a> = Vec<(&'a TaskId, &'a Task)>;

/// Returns the tasks to assign now, with their agents, and no more than there is room for. The others stay tasks, so
/// that their text and priority stay the tracker's.
pub(crate) fn picks(state: &State, now: Timestamp) -> Vec<Pick<'_>> {
    let takes = |project: &Project| project.config.auto_assign.is_some() && project.stopped.is_none();
    // This runs at every turn, mostly with all slots taken; then no task is examined.
    if state.scarce_mb.is_some()
        || state.slots_taken() >= state.settings.max_live.saturating_add(state.idle().count() as u32)
        || !state.projects.values().any(takes)
    {
        return vec![];
    }
    let mut slots = promised(state, now);
    let open = state.projects.iter().filter(|(id, project)| takes(project) && slots.full(id, None).is_none());
    let intakes: BTreeMap<&ProjectId, Intake<'_>> =
        open.filter_map(|(id, _)| Some((id, Intake::of(state, id, now)?))).collect();
    let mut lines: Vec<(&ProjectId, Line<'_>)> =
        intakes.iter().map(|(id, intake)| (*id, intake.line())).collect();
    let mut picks = Vec::new();
    while let Some((id, line)) = fairest(&slots, &mut lines, |(_, facts)| facts.priority) {
        let (task, facts) = line.pop().expect("empty lines were left out");
        let Some(choice) = intakes[id].choose(facts, Some(&slots)) else { continue };
        if slots.full(id, choice.id()).is_none() {
            slots.take(id, choice.id());
            picks.push(Pick { task, facts, choice });
        }
    }
    picks
}

/// Returns whether a project has a task left to work on: it will begin automatically, waits for others, or could not
/// be assigned. A task that already had its session is left to a person, and so is one that is never picked up.
pub(crate) fn has_next(state: &State, id: &ProjectId, now: Timestamp) -> bool {
    let Some(intake) = Intake::of(state, id, now) else { return false };
    let left =
        |kept: Option<Kept<'_>>| !matches!(kept, Some(Kept::Worked | Kept::Untrusted | Kept::NoSpecialist));
    intake.ordered.iter().any(|task| task.project == *id)
        || intake.wanted().any(|(task, facts)| left(intake.kept(task, facts)))
}

/// Returns whether a picked task should still begin, by the latest facts: its project picks up this task; it is open
/// and has no session; and neither its author nor a blocker, an account or a budget holds it. Room is not checked,
/// because it is reserved for the pick.
pub fn still_wanted(state: &State, task: &TaskId, now: Timestamp) -> bool {
    let Some(mut intake) = Intake::of(state, &task.project, now) else { return false };
    // The pick itself is no reason against it.
    intake.ordered.remove(task);
    let facts = state.tasks.get(task).filter(|facts| intake.auto.wants(&facts.labels));
    facts.is_some_and(|facts| intake.kept(task, facts).is_none())
}

/// Returns the slots that are taken or promised. Slots of idle agents count as free, because they yield on demand.
pub(crate) fn promised(state: &State, now: Timestamp) -> Slots<'_> {
    let mut slots = Slots::now(state);
    for idle in crate::schedule::idle(state, now) {
        slots.give(idle);
    }
    for (project, specialist) in crate::schedule::ready(state) {
        slots.take(project, specialist);
    }
    for job in state.jobs.values() {
        if let JobOrder::Assign { task, agent, .. } = &job.order {
            slots.take(&task.project, agent.as_deref());
        }
    }
    slots
}

pub(crate) fn tasks_of<'a>(
    state: &'a State,
    project: &'a ProjectId,
) -> impl Iterator<Item = (&'a TaskId, &'a Task)> {
    let first = TaskId { project: project.clone(), key: String::new() };
    state.tasks.range(first..).take_while(move |(task, _)| task.project == *project)
}

/// Returns the reason why an open task of a project with automatic assignment has no session yet; `None` if it has
/// one, or if it is not picked up at all.
pub fn task_obstacle(state: &State, task: &TaskId, now: Timestamp) -> Option<Obstacle> {
    let intake = Intake::of(state, &task.project, now)?;
    intake.obstacle(task, state.tasks.get(task)?, &promised(state, now))
}

/// The facts that decide about the tasks of one project, gathered once for all of them.
#[derive(Debug)]
pub(crate) struct Intake<'a> {
    state: &'a State,
    id: &'a ProjectId,
    project: &'a Project,
    auto: &'a AutoAssign,
    now: Timestamp,
    /// The tasks whose sessions are being created.
    ordered: BTreeSet<&'a TaskId>,
    /// The reason why a budget holds everything.
    spent: Option<&'a str>,
    /// The tasks that are held by their own budgets, with the reason.
    spent_tasks: BTreeMap<&'a TaskId, &'a str>,
}

/// The reason that holds one task, apart from the caps.
#[derive(Debug, Clone, Copy)]
enum Kept<'a> {
    Begun,
    Worked,
    Stopped(&'a str),
    Untrusted,
    BlockedBy(&'a TaskId),
    NoSpecialist,
    NotAssigned(&'a str),
    Account(&'a str),
    Held(&'a str),
}

impl<'a> Intake<'a> {
    /// Returns `None` if the project picks up no tasks.
    pub(crate) fn of(state: &'a State, id: &ProjectId, now: Timestamp) -> Option<Intake<'a>> {
        let (id, project) = state.projects.get_key_value(id)?;
        let auto = project.config.auto_assign.as_ref()?;
        let ordered = state.jobs.values().filter_map(|job| match &job.order {
            JobOrder::Assign { task, .. } => Some(task),
            _ => None,
        });
        let (mut spent, mut spent_tasks) = (None, BTreeMap::new());
        for (budget, cap) in state.capped() {
            match budget {
                BudgetScope::Task(task) => {
                    spent_tasks.insert(task, cap.why.as_str());
                }
                BudgetScope::Project(of) | BudgetScope::ProjectDay(of) if of != id => {}
                BudgetScope::Project(_) | BudgetScope::ProjectDay(_) | BudgetScope::Day => {
                    spent = spent.or(Some(cap.why.as_str()));
                }
            }
        }
        Some(Intake { state, id, project, auto, now, ordered: ordered.collect(), spent, spent_tasks })
    }

    /// Returns the reason why an open task that is picked up has no session yet.
    pub(crate) fn obstacle(&self, task: &TaskId, facts: &'a Task, slots: &Slots<'_>) -> Option<Obstacle> {
        let wanted = !facts.closed && self.auto.wants(&facts.labels);
        if !wanted || self.state.live_session_of(task).is_some() {
            return None;
        }
        match self.kept(task, facts) {
            Some(kept) => Some(kept.told(facts)),
            None => self
                .state
                .scarce_mb
                .map(|free_mb| Obstacle::Memory { free_mb })
                .or_else(|| slots.full(self.id, self.choose(facts, Some(slots))?.id())),
        }
    }

    /// Chooses the agent for a task. Without `slots`, all rooms count as equal.
    ///
    /// This is the one place that decides who may work: among equal matches, an agent with an unusable account is
    /// chosen only if there is no other.
    pub(crate) fn choose(&self, facts: &Task, slots: Option<&Slots<'_>>) -> Option<Choice<'a>> {
        let room = |specialist: &SpecialistAgent| {
            let usable = !self.state.accounts.contains_key(&specialist.account);
            usable.then(|| slots.map_or(0, |slots| slots.room_for(specialist)))
        };
        choose(self.auto, &self.project.config.specialists, &facts.labels, room)
    }

    /// Returns the open tasks that are picked up here, whether or not they are held.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&'a TaskId, &'a Task)> {
        let auto = self.auto;
        tasks_of(self.state, self.id).filter(|(_, facts)| !facts.closed && auto.wants(&facts.labels))
    }

    /// Returns the tasks that wait for nothing but room.
    fn line(&self) -> Line<'a> {
        let mut line: Line<'a> =
            self.wanted().filter(|(task, facts)| self.kept(task, facts).is_none()).collect();
        // The most urgent is last; of equally urgent ones the oldest, which has the lowest number.
        line.sort_by_key(|(task, facts)| (facts.priority, Reverse(task.key.len()), Reverse(&task.key)));
        line
    }

    fn kept(&self, id: &TaskId, facts: &'a Task) -> Option<Kept<'a>> {
        let state = self.state;
        if self.ordered.contains(id) || state.live_session_of(id).is_some() {
            return Some(Kept::Begun);
        }
        if facts.closed || state.worked.contains(id) {
            return Some(Kept::Worked);
        }
        if !(self.auto.approves(&facts.labels) || task::may_begin_unasked(facts)) {
            return Some(Kept::Untrusted);
        }
        if let Some(blocker) = state.open_blockers(facts).next() {
            return Some(Kept::BlockedBy(blocker));
        }
        let Some(choice) = self.choose(facts, None) else { return Some(Kept::NoSpecialist) };
        if let Some(known) = state.unassigned.get(id).filter(|known| self.now.since(known.at) < AGAIN) {
            return Some(Kept::NotAssigned(&known.why));
        }
        if let Some(stopped) = &self.project.stopped {
            return Some(Kept::Stopped(&stopped.by));
        }
        let account = choice.account(self.auto);
        if state.accounts.contains_key(account) {
            return Some(Kept::Account(account));
        }
        self.spent_tasks.get(id).copied().or(self.spent).map(Kept::Held)
    }
}

impl Kept<'_> {
    fn told(self, facts: &Task) -> Obstacle {
        match self {
            Kept::Begun => Obstacle::Begun,
            Kept::Worked => Obstacle::Worked,
            Kept::Stopped(by) => Obstacle::Stopped { by: by.to_owned() },
            Kept::Untrusted => {
                let author = facts.author.as_ref().map(crate::outside::signed);
                Obstacle::Untrusted { author: author.unwrap_or_else(|| "an unknown author".into()) }
            }
            Kept::BlockedBy(blocker) => Obstacle::BlockedBy(blocker.clone()),
            Kept::NoSpecialist => Obstacle::NoSpecialist,
            Kept::NotAssigned(why) => Obstacle::NotAssigned { why: why.to_owned() },
            Kept::Account(account) => Obstacle::Account(account.to_owned()),
            Kept::Held(why) => Obstacle::Held(why.to_owned()),
        }
    }
}

/// Returns the job that assigns a task to an agent.
pub(crate) fn order(pick: &Pick<'_>) -> (String, JobOrder, Requester) {
    let order = JobOrder::Assign {
        task: pick.task.clone(),
        agent: pick.choice.id().map(str::to_owned),
        why: pick.choice.why(&pick.facts.labels),
    };
    (format!("assign {}", pick.task), order, Requester::Task(pick.task.clone()))
}

impl State {
    /// Checks whether work on a task may begin on the request of an agent or program: its author is trusted, or a
    /// person with the right to label has put the approval label of the project on it. An automatic start needs more,
    /// see [`task::may_begin_unasked`].
    pub fn may_pick_up(&self, task: &TaskId, facts: &Task) -> Result<(), Refusal> {
        let auto = self.projects.get(&task.project).and_then(|project| project.config.auto_assign.as_ref());
        match auto.is_some_and(|auto| auto.approves(&facts.labels)) {
            true => Ok(()),
            false => task::may_pick_up(task, facts),
        }
    }

    /// Returns the tasks that have to be closed before this one can begin.
    pub fn open_blockers<'a>(&'a self, facts: &'a Task) -> impl Iterator<Item = &'a TaskId> {
        let open = |blocker: &&TaskId| self.tasks.get(blocker).is_none_or(|known| !known.closed);
        facts.blocked_by.iter().filter(open)
    }
}
