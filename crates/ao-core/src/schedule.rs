//! Assignment of free slots: within the caps, to the most urgent session of the project that has the fewest.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::assign::SpecialistAgent;
use crate::forecast::{InUse, may_wait};
use crate::session::{AfterStop, Phase, Session, port_holders, room};
use crate::state::{QueuePosition, State};
use crate::{ProjectId, SessionId, TaskId, Timestamp};

/// The obstacle that a queued session, or a task without a session, waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The host already runs its maximum of sessions.
    Cap { max: u32 },
    /// The project already runs its maximum of sessions.
    ProjectCap { max: u32 },
    /// The specialist already runs its maximum of sessions.
    SpecialistCap { id: String, max: u32 },
    /// There is too little free memory.
    Memory { free_mb: u64 },
    /// Another task has to be done first.
    BlockedBy(TaskId),
    /// It is on hold, for this reason.
    Held(String),
    /// The provider refuses this account.
    Account(String),
    /// Every port that it could have is leased to these.
    Ports { holders: Vec<SessionId> },
    /// The hooks that may object to its start are being asked.
    Asked,
    /// Its task names files that another session is changing.
    Collides { with: SessionId, files: Vec<String> },
    /// The author of the task may not set agents to work.
    Untrusted { author: String },
    /// No specialist matches the task, and only specialists may work.
    NoSpecialist,
    /// The task could not be assigned to an agent.
    NotAssigned { why: String },
    /// The task already had its session; a person has to start another one.
    Worked,
    /// A person has stopped all work of the project.
    Stopped { by: String },
    /// Its session is being created.
    Begun,
}

impl Obstacle {
    /// Returns true if it is less in the way of a project's next session once this one has given its slot back.
    fn ends_with(&self, session: &Session, project: &ProjectId) -> bool {
        match self {
            Obstacle::Cap { .. } => true,
            Obstacle::ProjectCap { .. } | Obstacle::Ports { .. } => session.spec.project == *project,
            Obstacle::SpecialistCap { id, .. } => {
                session.spec.agent.specialist.as_deref() == Some(id.as_str())
            }
            _ => false,
        }
    }
}

/// The sessions whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turns<'a> {
    /// The sessions that get a slot now, in order.
    pub(crate) admitted: Vec<&'a Session>,
    /// The sessions that hooks have to be asked about first.
    pub(crate) asked: Vec<&'a Session>,
    /// The idle sessions that give up a slot, each with one that needs it.
    pub(crate) yielding: Vec<(&'a Session, &'a Session)>,
}

/// The slots in use: in total, and by project and specialist.
#[derive(Debug, Clone)]
pub(crate) struct Slots<'a> {
    state: &'a State,
    taken: u32,
    /// Includes the slots that sessions hold now.
    as_now: bool,
    /// Slots taken in addition.
    in_project: BTreeMap<ProjectId, u32>,
    /// Slots given back.
    given: BTreeMap<ProjectId, u32>,
    of_specialist: BTreeMap<String, u32>,
    /// Number of further sessions that the ports of each project suffice for.
    ports: BTreeMap<ProjectId, u32>,
}

/// Returns the sessions whose turn it is now. One whose hooks are asked takes no slot meanwhile and lets the others pass.
pub(crate) fn admit(state: &State, now: Timestamp) -> Turns<'_> {
    let mut turns = Turns::default();
    if state.scarce_mb.is_some() {
        return turns;
    }
    let mut lines: Vec<(&ProjectId, Vec<&Session>)> = Vec::new();
    for (project, line) in state.waiting() {
        let ready = ready_of(state, project, line);
        if !ready.is_empty() {
            lines.push((project, ready));
        }
    }
    if lines.is_empty() {
        return turns;
    }
    let mut slots = Slots::now(state);
    let mut kept: Vec<&Session> = Vec::new();
    let free = state.settings.max_live.saturating_sub(state.slots_taken()) as usize;
    while let Some((project, line)) = fairest(&slots, &mut lines, |session| session.spec.priority) {
        let next = line.pop().expect("empty lines were left out");
        let specialist = next.spec.agent.specialist.as_deref();
        if slots.full(project, specialist).is_some() {
            kept.push(next);
            continue;
        }
        if state.awaits_word(next) {
            // No more than could start at once: a long line is no reason to ask a thousand questions.
            if turns.asked.len() < free {
                turns.asked.push(next);
            }
            continue;
        }
        slots.take(project, specialist);
        turns.admitted.push(next);
    }
    kept.extend(lines.into_iter().flat_map(|(_, line)| line.into_iter().rev()));
    turns.yielding = yielding(state, now, slots, kept);
    turns
}

/// Returns a session that would give way now, and the one that would get its slot.
pub fn would_yield(state: &State, now: Timestamp) -> Option<(SessionId, SessionId)> {
    let turns = admit(state, now);
    turns.yielding.first().map(|(idle, next)| (idle.id, next.id))
}

/// Returns the sessions that give way to those that only the caps keep waiting. None does if that would not be enough, nor as
/// long as slots are about to be free anyhow.
fn yielding<'a>(
    state: &'a State,
    now: Timestamp,
    mut slots: Slots<'a>,
    mut kept: Vec<&'a Session>,
) -> Vec<(&'a Session, &'a Session)> {
    let mut idle = idle(state, now);
    if idle.is_empty() || kept.is_empty() {
        return vec![];
    }
    idle.sort_by_key(|session| session.rest_order());
    for leaving in state.live().filter(|session| is_leaving(state, session)) {
        slots.give(leaving);
    }
    let since = |session: &Session| match session.phase {
        Phase::Queued { since } => since,
        _ => now,
    };
    kept.sort_by_key(|session| {
        (slots.taken_in(&session.spec.project), Reverse(session.spec.priority), since(session), session.id)
    });
    let mut yielding = Vec::new();
    // A long line is mostly of one kind: if no session can make room for one entry, the similar ones behind it have
    // none either.
    let mut hopeless = BTreeSet::new();
    for next in kept {
        let (project, specialist) = (&next.spec.project, next.spec.agent.specialist.as_deref());
        if idle.is_empty() {
            break;
        }
        if hopeless.contains(&(project, specialist)) {
            continue;
        }
        let (mut then, mut left, mut leaves) = (slots.clone(), idle.clone(), Vec::new());
        while let Some(obstacle) = then.full(project, specialist) {
            let Some(at) = left.iter().position(|session| obstacle.ends_with(session, project)) else {
                break;
            };
            let leaving = left.remove(at);
            then.give(leaving);
            leaves.push((leaving, next));
        }
        if then.full(project, specialist).is_some() {
            hopeless.insert((project, specialist));
            continue;
        }
        then.take(project, specialist);
        (slots, idle) = (then, left);
        yielding.extend(leaves);
    }
    yielding
}

/// Returns the sessions that could give up their slots now.
pub(crate) fn idle(state: &State, now: Timestamp) -> Vec<&Session> {
    let idle = state.idle();
    idle.filter(|session| session.may_rest() && !session.is_typed_on(now, &state.settings)).collect()
}

/// Returns true if its slot is about to be free: its process is being ended, and that has not failed again and again.
fn is_leaving(state: &State, session: &Session) -> bool {
    match &session.phase {
        Phase::Stopping { then: AfterStop::Retry { .. }, .. } => false,
        Phase::Stopping { tries, .. } => *tries < state.settings.setup_tries,
        _ => false,
    }
}

/// Returns the line whose turn it is: that of the project with the fewest slots, and among those the one with the
/// most urgent entry. `None` if the caps hold all entries.
pub(crate) fn fairest<'l, 'a, T>(
    slots: &Slots<'_>,
    lines: &'l mut [(&'a ProjectId, Vec<T>)],
    priority: impl Fn(&T) -> i32,
) -> Option<(&'a ProjectId, &'l mut Vec<T>)> {
    lines
        .iter_mut()
        .filter(|(project, line)| !line.is_empty() && slots.full(project, None).is_none())
        .min_by_key(|(project, line)| {
            (slots.taken_in(project), line.last().map(|next| Reverse(priority(next))))
        })
        .map(|(project, line)| (*project, line))
}

/// Returns the queued sessions without an obstacle of their own: their projects and specialists.
pub(crate) fn ready(state: &State) -> impl Iterator<Item = (&ProjectId, Option<&str>)> {
    let lines = state.waiting().flat_map(|(project, line)| ready_of(state, project, line));
    lines.map(|session| (&session.spec.project, session.spec.agent.specialist.as_deref()))
}

/// Returns the sessions of one project's line without an obstacle of their own, the next one last.
fn ready_of<'a>(state: &'a State, project: &ProjectId, line: &BTreeSet<QueuePosition>) -> Vec<&'a Session> {
    let in_use = OnceCell::new();
    line.iter()
        .rev()
        .filter_map(|place| state.sessions.get(&place.session).map(|session| &**session))
        .filter(|session| {
            let in_use = || in_use.get_or_init(|| InUse::in_project(state, project));
            own_obstacle(state, session, in_use).is_none()
        })
        .collect()
}

/// Returns why a queued session does not run, if it does not; what a person is shown.
pub fn obstacle(state: &State, session: &Session) -> Option<Obstacle> {
    obstacle_within(state, session, &OnceCell::new())
}

/// Like `obstacle`, for a caller that asks about many and counts the slots once.
pub(crate) fn obstacle_within<'s>(
    state: &'s State,
    session: &Session,
    slots: &OnceCell<Slots<'s>>,
) -> Option<Obstacle> {
    if !matches!(session.phase, Phase::Queued { .. }) {
        return None;
    }
    let in_use = OnceCell::new();
    let in_use = || in_use.get_or_init(|| InUse::in_project(state, &session.spec.project));
    own_obstacle(state, session, in_use)
        .or_else(|| state.scarce_mb.map(|free_mb| Obstacle::Memory { free_mb }))
        .or_else(|| {
            slots
                .get_or_init(|| Slots::now(state))
                .full(&session.spec.project, session.spec.agent.specialist.as_deref())
        })
        .or_else(|| state.awaits_word(session).then_some(Obstacle::Asked))
}

/// Returns what keeps this session in particular from running, whatever the caps.
/// `in_use` is asked only if the session is one that waits for files.
pub(crate) fn own_obstacle<'a>(
    state: &'a State,
    session: &Session,
    in_use: impl FnOnce() -> &'a InUse<'a>,
) -> Option<Obstacle> {
    if let Some(hold) = session.holds.values().next() {
        return Some(Obstacle::Held(hold.why.clone()));
    }
    if state.accounts.contains_key(session.account()) {
        return Some(Obstacle::Account(session.account().to_owned()));
    }
    blocker(state, session).or_else(|| {
        let collision = may_wait(session).then(in_use)?.collision(session)?;
        Some(Obstacle::Collides { with: collision.with, files: collision.files })
    })
}

/// Returns the task that has to be closed before this one begins.
fn blocker(state: &State, session: &Session) -> Option<Obstacle> {
    let task = session.spec.task.as_ref().and_then(|task| state.tasks.get(task))?;
    state.open_blockers(task).next().map(|blocker| Obstacle::BlockedBy(blocker.clone()))
}

impl<'a> Slots<'a> {
    /// Counts the slots that are taken now.
    pub(crate) fn now(state: &'a State) -> Slots<'a> {
        let mut slots = Slots::free(state);
        slots.taken = state.slots_taken();
        slots.as_now = true;
        let bounded = state.projects.iter().filter(|(_, project)| project.config.ports.is_some());
        slots.ports = bounded.map(|(id, _)| (id.clone(), room(state, id))).collect();
        // Counted only if a specialist has a limit, to avoid a walk through thousands of sessions.
        if state
            .projects
            .values()
            .any(|project| project.config.specialists.iter().any(|s| s.max_parallel.is_some()))
        {
            for session in state.live().filter(|session| session.takes_slot()) {
                slots.count_specialist(session.spec.agent.specialist.as_deref());
            }
        }
        slots
    }

    /// Starts with no slots and no ports taken.
    pub(crate) fn free(state: &'a State) -> Slots<'a> {
        Slots {
            state,
            taken: 0,
            as_now: false,
            in_project: BTreeMap::new(),
            given: BTreeMap::new(),
            of_specialist: BTreeMap::new(),
            ports: BTreeMap::new(),
        }
    }

    /// Returns what keeps one more from its slot, the nearest cap first.
    pub(crate) fn full(&self, project: &ProjectId, specialist: Option<&str>) -> Option<Obstacle> {
        let known = self.state.projects.get(project);
        if let Some((id, max)) =
            specialist.and_then(|id| Some((id, cap_of(known?.config.specialists.iter(), id)?)))
            && self.of_specialist.get(id).copied().unwrap_or(0) >= max
        {
            return Some(Obstacle::SpecialistCap { id: id.to_owned(), max });
        }
        if let Some(max) =
            known.and_then(|known| known.config.max_live).filter(|max| self.taken_in(project) >= *max)
        {
            return Some(Obstacle::ProjectCap { max });
        }
        if self.ports.get(project) == Some(&0) {
            return Some(Obstacle::Ports { holders: port_holders(self.state, project) });
        }
        let max = self.state.settings.max_live;
        (self.taken >= max).then_some(Obstacle::Cap { max })
    }

    pub(crate) fn take(&mut self, project: &ProjectId, specialist: Option<&str>) {
        self.taken = self.taken.saturating_add(1);
        *self.in_project.entry(project.clone()).or_default() += 1;
        if let Some(left) = self.ports.get_mut(project) {
            *left = left.saturating_sub(1);
        }
        self.count_specialist(specialist);
    }

    /// Gives back what a session holds now.
    pub(crate) fn give(&mut self, session: &Session) {
        let project = &session.spec.project;
        self.taken = self.taken.saturating_sub(1);
        *self.given.entry(project.clone()).or_default() += 1;
        if let Some(left) = self.ports.get_mut(project).filter(|_| !session.ports.held.is_empty()) {
            *left = left.saturating_add(1);
        }
        if let Some(id) = session.spec.agent.specialist.as_deref()
            && let Some(taken) = self.of_specialist.get_mut(id)
        {
            *taken = taken.saturating_sub(1);
        }
    }

    pub(crate) fn taken_in(&self, project: &ProjectId) -> u32 {
        let now = if self.as_now { self.state.slots_taken_in(project) } else { 0 };
        let of = |slots: &BTreeMap<ProjectId, u32>| slots.get(project).copied().unwrap_or(0);
        now.saturating_add(of(&self.in_project)).saturating_sub(of(&self.given))
    }

    /// Returns how many more of a specialist's sessions may run.
    pub(crate) fn room_for(&self, specialist: &SpecialistAgent) -> u32 {
        let taken = self.of_specialist.get(&specialist.id).copied().unwrap_or(0);
        specialist.max_parallel.map_or(u32::MAX, |max| max.saturating_sub(taken))
    }

    fn count_specialist(&mut self, specialist: Option<&str>) {
        if let Some(id) = specialist {
            *self.of_specialist.entry(id.to_owned()).or_default() += 1;
        }
    }
}

fn cap_of<'s>(mut specialists: impl Iterator<Item = &'s SpecialistAgent>, id: &str) -> Option<u32> {
    specialists.find(|specialist| specialist.id == id).and_then(|specialist| specialist.max_parallel)
}

impl Session {
    /// Returns whose quota it uses: the account it was given, or one that all sessions of its agent share.
    pub fn account(&self) -> &str {
        self.spec.agent.account.as_deref().unwrap_or(&self.spec.agent.name)
    }
}
