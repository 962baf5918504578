//! Who gets a free slot: within the caps, the most urgent of the project that has the fewest.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::forecast::{InUse, may_wait};
use crate::session::{Phase, Session, room};
use crate::state::State;
use crate::{ProjectId, SessionId, TaskId};

/// Why a session waits in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    Cap {
        max: u32,
    },
    ProjectCap {
        max: u32,
    },
    Memory {
        free_mb: u64,
    },
    BlockedBy(TaskId),
    Held(String),
    Account(String),
    /// All ports of its project are in use.
    Ports,
    /// The hooks that may object to its start are being asked.
    Asked,
    /// Its task names files that another session changes just now.
    Collides {
        with: SessionId,
        files: Vec<String>,
    },
}

/// Whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turns<'a> {
    /// Those that get a slot now, in order.
    pub(crate) admitted: Vec<&'a Session>,
    /// Those that would, if nobody objected; hooks are to be asked about them.
    pub(crate) asked: Vec<&'a Session>,
}

/// Whose turn it is now. Who has to be asked about takes no slot meanwhile and lets the others pass.
pub(crate) fn admit(state: &State) -> Turns<'_> {
    let mut turns = Turns::default();
    let mut taken_in: BTreeMap<&ProjectId, u32> = BTreeMap::new();
    // Each project with the number of slots that it may have, and who waits.
    let mut lines: Vec<(&ProjectId, u32, Vec<&Session>)> = Vec::new();
    if state.scarce_mb.is_some() {
        return turns;
    }
    for (project, line) in state.waiting() {
        let in_use = OnceCell::new();
        let ready: Vec<&Session> = line
            .iter()
            .rev()
            .filter_map(|place| state.sessions.get(&place.session).map(|session| &**session))
            .filter(|session| {
                let in_use = || in_use.get_or_init(|| InUse::in_project(state, project));
                own_obstacle(state, session, in_use).is_none()
            })
            .collect();
        if !ready.is_empty() {
            let taken = state.slots_taken_in(project);
            let cap = state.projects.get(project).and_then(|known| known.max_live).unwrap_or(u32::MAX);
            taken_in.insert(project, taken);
            lines.push((project, cap.min(taken.saturating_add(room(state, project))), ready));
        }
    }
    let free = state.settings.max_live.saturating_sub(state.slots_taken()) as usize;
    while turns.admitted.len() < free {
        let fairest = lines
            .iter_mut()
            .filter(|(project, cap, line)| !line.is_empty() && taken_in[*project] < *cap)
            .min_by_key(|(project, _, line)| {
                (taken_in[*project], line.last().map(|next| std::cmp::Reverse(next.spec.priority)))
            });
        let Some((project, _, line)) = fairest else { break };
        let next = line.pop().expect("empty lines were left out");
        if state.awaits_word(next) {
            // No more than could start at once: a long line is not a reason to ask a thousand questions.
            if turns.asked.len() < free {
                turns.asked.push(next);
            }
            continue;
        }
        *taken_in.get_mut(*project).expect("every line has its count") += 1;
        turns.admitted.push(next);
    }
    turns
}

/// Why a queued session does not run, if it does not; what a person is shown.
pub fn obstacle(state: &State, session: &Session) -> Option<Obstacle> {
    if !matches!(session.phase, Phase::Queued { .. }) {
        return None;
    }
    let project_cap = state.projects.get(&session.spec.project).and_then(|project| project.max_live);
    let in_use = OnceCell::new();
    let in_use = || in_use.get_or_init(|| InUse::in_project(state, &session.spec.project));
    own_obstacle(state, session, in_use)
        .or_else(|| state.scarce_mb.map(|free_mb| Obstacle::Memory { free_mb }))
        .or_else(|| {
            project_cap
                .filter(|max| state.slots_taken_in(&session.spec.project) >= *max)
                .map(|max| Obstacle::ProjectCap { max })
        })
        .or_else(|| (room(state, &session.spec.project) == 0).then_some(Obstacle::Ports))
        .or_else(|| {
            let max = state.settings.max_live;
            (state.slots_taken() >= max).then_some(Obstacle::Cap { max })
        })
        .or_else(|| state.awaits_word(session).then_some(Obstacle::Asked))
}

/// What keeps this session in particular from running, whatever the caps.
/// `in_use` is asked only if the session is one that waits for files.
fn own_obstacle<'a>(
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

/// The task that has to be closed before this one is begun.
fn blocker(state: &State, session: &Session) -> Option<Obstacle> {
    let task = session.spec.task.as_ref().and_then(|task| state.tasks.get(task))?;
    task.blocked_by
        .iter()
        .find(|blocker| state.tasks.get(blocker).is_none_or(|blocker| !blocker.closed))
        .map(|blocker| Obstacle::BlockedBy(blocker.clone()))
}

impl Session {
    /// Whose quota it uses: the account it was given, or one that all sessions of its agent share.
    pub fn account(&self) -> &str {
        self.spec.agent.account.as_deref().unwrap_or(&self.spec.agent.name)
    }
}
