//! The plan: running work, the work that runs next, and the reasons why the rest waits.
//!
//! ```text
//!  running ─ they end ─► round 1 ─ they end ─► round 2 ─► …      what waits for a person has no round
//! ```
//!
//! Derived from the state as if all sessions took equally long and every task were closed after its session. It
//! promises and decides nothing: `schedule.rs` gives out the slots, by the same rules.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::assign::{Intake, promised};
use crate::schedule::{Obstacle, Slots, fairest, obstacle_within};
use crate::session::{Phase, Session, SessionRole};
use crate::state::State;
use crate::task::Task;
use crate::{ProjectId, SessionId, TaskId, Timestamp};

/// Running work, the order of the rest, and what waits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkPlan {
    /// Work that has a slot, the oldest first.
    pub running: Vec<PlannedWork>,
    /// Work that gets a slot automatically, in order.
    pub next: Vec<PlannedWork>,
    /// Work that waits for something else. Work that has begun and whose process has ended comes first, without an
    /// obstacle: the status of its session shows what it waits for.
    pub waiting: Vec<PlannedWork>,
}

/// A session, or a task that has none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWork {
    pub project: ProjectId,
    pub task: Option<TaskId>,
    pub session: Option<SessionId>,
    pub title: String,
    /// The specialist or agent; the project's own if absent.
    pub agent: Option<String>,
    /// The reason for the choice of agent.
    pub chosen: Option<String>,
    pub priority: i32,
    /// The number of rounds before it begins: 0 if it runs, absent if unknown.
    pub round: Option<u32>,
    /// The reason why it does not run now.
    pub obstacle: Option<Obstacle>,
    /// The tasks that have to be closed first.
    pub blocked_by: Vec<TaskId>,
}

/// Derives the plan from the state, for one project or for all.
pub fn plan(state: &State, now: Timestamp, project: Option<&ProjectId>) -> WorkPlan {
    let mut plan = WorkPlan::default();
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    // The tasks that are closed once the running sessions have ended.
    let mut done: BTreeSet<TaskId> = BTreeSet::new();
    let slots = OnceCell::new();
    for session in
        state.live().filter(|session| session.spec.role == SessionRole::Worker || session.takes_slot())
    {
        match session.phase {
            Phase::Queued { since } => waiting.push(of_session(state, session, since, &slots)),
            _ => {
                done.extend(session.spec.task.clone());
                let begun = of_session(state, session, session.created, &slots).planned;
                match session.takes_slot() {
                    true => plan.running.push(PlannedWork { round: Some(0), ..begun }),
                    false => plan.waiting.push(begun),
                }
            }
        }
    }
    let intakes: Vec<Intake<'_>> =
        state.projects.keys().filter_map(|id| Intake::of(state, id, now)).collect();
    if !intakes.is_empty() {
        let slots = promised(state, now);
        let tasks = intakes.iter().flat_map(|intake| intake.wanted().map(move |task| (intake, task)));
        waiting.extend(tasks.filter_map(|(intake, (id, facts))| of_task(state, intake, id, facts, &slots)));
    }
    rounds(state, &mut waiting, done);
    waiting.sort_by_key(|waiting| (waiting.planned.round.unwrap_or(u32::MAX), waiting.turn));
    for Waiting { planned, .. } in waiting {
        match planned.round {
            Some(_) => plan.next.push(planned),
            None => plan.waiting.push(planned),
        }
    }
    // All are planned together, because they share the slots; the filter applies to the result.
    if let Some(project) = project {
        for list in [&mut plan.running, &mut plan.next, &mut plan.waiting] {
            list.retain(|planned| planned.project == *project);
        }
    }
    plan
}

/// A session or task that waits for its turn.
struct Waiting<'a> {
    planned: PlannedWork,
    facts: Option<&'a Task>,
    /// It waits only for room, and for tasks that come before it.
    goes_by_itself: bool,
    /// Its position in the line of its project: sessions before tasks, then by age.
    place: (Reverse<i32>, u8, Timestamp, usize, String),
    /// Its number among all that were given a round.
    turn: usize,
}

fn of_session<'a>(
    state: &'a State,
    session: &'a Session,
    since: Timestamp,
    slots: &OnceCell<Slots<'a>>,
) -> Waiting<'a> {
    let spec = &session.spec;
    let facts = spec.task.as_ref().and_then(|task| state.tasks.get(task));
    let obstacle = obstacle_within(state, session, slots);
    Waiting {
        goes_by_itself: passes(obstacle.as_ref()),
        place: (Reverse(spec.priority), 0, since, 0, spec.name.clone()),
        planned: PlannedWork {
            project: spec.project.clone(),
            task: spec.task.clone(),
            session: Some(session.id),
            title: spec.title.clone(),
            agent: Some(spec.agent.specialist.as_ref().unwrap_or(&spec.agent.name).clone()),
            chosen: None,
            priority: spec.priority,
            round: None,
            obstacle,
            blocked_by: blockers(state, facts),
        },
        facts,
        turn: usize::MAX,
    }
}

/// A task that is picked up automatically, unless it has a session.
fn of_task<'a>(
    state: &'a State,
    intake: &Intake<'a>,
    id: &'a TaskId,
    facts: &'a Task,
    slots: &Slots<'_>,
) -> Option<Waiting<'a>> {
    if state.live_session_of(id).is_some() {
        return None;
    }
    let obstacle = intake.obstacle(id, facts, slots);
    let choice = intake.choose(facts, Some(slots));
    Some(Waiting {
        goes_by_itself: passes(obstacle.as_ref()),
        place: (Reverse(facts.priority), 1, Timestamp(0), id.key.len(), id.key.clone()),
        planned: PlannedWork {
            project: id.project.clone(),
            task: Some(id.clone()),
            session: None,
            title: facts.title.clone(),
            agent: choice.as_ref().and_then(|choice| choice.id().map(str::to_owned)),
            chosen: choice.map(|choice| choice.why(&facts.labels)),
            priority: facts.priority,
            round: None,
            obstacle,
            blocked_by: blockers(state, Some(facts)),
        },
        facts: Some(facts),
        turn: usize::MAX,
    })
}

fn blockers(state: &State, facts: Option<&Task>) -> Vec<TaskId> {
    facts.into_iter().flat_map(|facts| state.open_blockers(facts)).cloned().collect()
}

/// Returns whether an obstacle disappears as other sessions end.
fn passes(obstacle: Option<&Obstacle>) -> bool {
    use Obstacle as O;
    match obstacle {
        None => true,
        Some(
            O::Cap { .. }
            | O::ProjectCap { .. }
            | O::SpecialistCap { .. }
            | O::Memory { .. }
            | O::BlockedBy(_)
            | O::Ports { .. }
            | O::Asked
            | O::Collides { .. }
            | O::Begun,
        ) => true,
        Some(_) => false,
    }
}

/// Assigns a round to all work that goes by itself.
fn rounds(state: &State, waiting: &mut [Waiting<'_>], mut done: BTreeSet<TaskId>) {
    let mut order: Vec<usize> = (0..waiting.len()).filter(|n| waiting[*n].goes_by_itself).collect();
    // The next one last, because lines are taken from their end.
    order.sort_by(|a, b| waiting[*b].place.cmp(&waiting[*a].place));
    let mut turn = 0;
    for round in 1.. {
        let free = |n: &usize| {
            waiting[*n].facts.is_none_or(|facts| state.open_blockers(facts).all(|b| done.contains(b)))
        };
        let mut lines: BTreeMap<&ProjectId, Vec<usize>> = BTreeMap::new();
        let projects: Vec<ProjectId> = order.iter().map(|n| waiting[*n].planned.project.clone()).collect();
        for (n, project) in order.iter().zip(&projects).filter(|(n, _)| free(n)) {
            lines.entry(project).or_default().push(*n);
        }
        let mut lines: Vec<(&ProjectId, Vec<usize>)> = lines.into_iter().collect();
        let mut slots = Slots::free(state);
        let mut begun: Vec<usize> = Vec::new();
        while let Some((project, line)) = fairest(&slots, &mut lines, |n| waiting[*n].planned.priority) {
            let next = line.pop().expect("empty lines were left out");
            let agent = waiting[next].planned.agent.as_deref();
            if slots.full(project, agent).is_none() {
                slots.take(project, agent);
                begun.push(next);
            }
        }
        if begun.is_empty() {
            return;
        }
        for n in &begun {
            let planned = &mut waiting[*n].planned;
            planned.round = Some(round);
            done.extend(planned.task.clone());
            waiting[*n].turn = turn;
            turn += 1;
        }
        order.retain(|n| !begun.contains(n));
    }
}
