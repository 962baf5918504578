//! Indexes of the state, for queries that would otherwise look at every session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::timers::TimerSet;
use crate::budget::BudgetScope;
use crate::incident::IncidentKey;
use crate::session::{Phase, Session, SessionEvent, SessionRole};
use crate::{ConversationId, JobId, NoticeId, ProjectId, SessionId, TaskId, Timestamp};

/// The indexes. Derived, so they are left out of snapshots and built anew.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StateIndex {
    pub(super) names: BTreeMap<String, SessionId>,
    pub(super) tasks: BTreeMap<TaskId, SessionId>,
    pub(super) paths: BTreeMap<String, SessionId>,
    pub(super) branches: BTreeMap<(ProjectId, String), SessionId>,
    pub(super) conversations: BTreeMap<ConversationId, SessionId>,
    pub(super) live: BTreeMap<ProjectId, BTreeSet<SessionId>>,
    /// The live orchestrator of each project.
    pub(super) orchestrators: BTreeMap<ProjectId, SessionId>,
    /// The keys of past notices.
    pub(super) told: BTreeSet<String>,
    /// Notices of each incident that are not sent yet.
    pub(super) notices: BTreeMap<IncidentKey, BTreeSet<NoticeId>>,
    /// Open jobs by their keys.
    pub(super) jobs: BTreeMap<String, JobId>,
    /// Sessions that wait for a slot, in the order they get one.
    pub(super) waiting: BTreeMap<ProjectId, BTreeSet<QueuePosition>>,
    /// Sessions that may give up their slots.
    pub(super) idle: BTreeSet<SessionId>,
    pub(super) slots: BTreeMap<ProjectId, u32>,
    pub(super) slots_taken: u32,
    pub(super) timers: TimerSet,
    /// The spent budgets: few of all that are counted.
    pub(super) capped: BTreeSet<BudgetScope>,
}

/// A position in the line: higher priority first, then the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueuePosition {
    priority: Reverse<i32>,
    since: Timestamp,
    pub(crate) session: SessionId,
}

/// The part of a session that the indexes hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexFootprint {
    live: bool,
    slot: bool,
    place: Option<QueuePosition>,
    path: Option<String>,
    holds_branch: bool,
    conversation: Option<ConversationId>,
}

impl StateIndex {
    /// Records whether a session may give up its slot. Separate from its footprint, because signals change it.
    pub(super) fn mark_idle(&mut self, session: &Session) {
        match session.may_rest() {
            true => self.idle.insert(session.id),
            false => self.idle.remove(&session.id),
        };
    }

    pub(super) fn enter(&mut self, session: &Session, footprint: IndexFootprint) {
        let (id, spec, index) = (session.id, &session.spec, self);
        if footprint.live {
            index.live.entry(spec.project.clone()).or_default().insert(id);
            if spec.role == SessionRole::Orchestrator {
                index.orchestrators.insert(spec.project.clone(), id);
            }
            if let Some(task) = &spec.task {
                index.tasks.insert(task.clone(), id);
            }
        }
        if footprint.slot {
            *index.slots.entry(spec.project.clone()).or_default() += 1;
            index.slots_taken += 1;
        }
        if let Some(place) = footprint.place {
            index.waiting.entry(spec.project.clone()).or_default().insert(place);
        }
        if footprint.holds_branch {
            index.branches.insert((spec.project.clone(), spec.branch.clone()), id);
        }
        if let Some(path) = footprint.path {
            index.paths.insert(path, id);
        }
        if let Some(conversation) = footprint.conversation {
            index.conversations.insert(conversation, id);
        }
    }

    pub(super) fn leave(&mut self, session: &Session, footprint: IndexFootprint) {
        let (id, spec, index) = (session.id, &session.spec, self);
        if footprint.live {
            take_from(&mut index.live, &spec.project, &id);
            release(&mut index.orchestrators, &spec.project, id);
            if let Some(task) = &spec.task {
                release(&mut index.tasks, task, id);
            }
        }
        if footprint.slot {
            match index.slots.get_mut(&spec.project) {
                Some(taken) if *taken > 1 => *taken -= 1,
                _ => {
                    index.slots.remove(&spec.project);
                }
            }
            index.slots_taken -= 1;
        }
        if let Some(place) = footprint.place {
            take_from(&mut index.waiting, &spec.project, &place);
        }
        if footprint.holds_branch {
            release(&mut index.branches, &(spec.project.clone(), spec.branch.clone()), id);
        }
        if let Some(path) = footprint.path {
            release(&mut index.paths, &path, id);
        }
        if let Some(conversation) = footprint.conversation {
            release(&mut index.conversations, &conversation, id);
        }
    }
}

/// Releases a resource of a session, unless it has a new owner.
pub(super) fn release<K: Ord>(owners: &mut BTreeMap<K, SessionId>, what: &K, owner: SessionId) {
    if owners.get(what) == Some(&owner) {
        owners.remove(what);
    }
}

/// Removes an item from a project's set, and the set with its last item: a rebuilt index has no empty sets.
fn take_from<T: Ord>(sets: &mut BTreeMap<ProjectId, BTreeSet<T>>, project: &ProjectId, one: &T) {
    if let Some(set) = sets.get_mut(project) {
        set.remove(one);
        if set.is_empty() {
            sets.remove(project);
        }
    }
}

impl IndexFootprint {
    pub(super) fn of(session: &Session) -> IndexFootprint {
        let live = session.is_live();
        IndexFootprint {
            live,
            slot: session.takes_slot(),
            place: match session.phase {
                Phase::Queued { since } => Some(QueuePosition {
                    priority: Reverse(session.spec.priority),
                    since,
                    session: session.id,
                }),
                _ => None,
            },
            // A branch stays reserved for as long as the workspace exists.
            holds_branch: live || session.workspace.may_exist(),
            path: session.workspace.path().map(str::to_owned),
            conversation: session.launch.conversation.clone(),
        }
    }
}

impl SessionEvent {
    pub(super) fn leaves_footprint(&self) -> bool {
        !matches!(
            self,
            SessionEvent::SignalSeen { .. }
                | SessionEvent::LookWanted {}
                | SessionEvent::LookFailed { .. }
                | SessionEvent::MessageQueued { .. }
                | SessionEvent::DeliveryStarted { .. }
                | SessionEvent::Written { .. }
                | SessionEvent::DeliveryPaused { .. }
                | SessionEvent::DeliveryRetried { .. }
                | SessionEvent::Accepted { .. }
                | SessionEvent::TakenAfterAll { .. }
                | SessionEvent::Spent { .. }
                | SessionEvent::ToolDenied { .. }
                | SessionEvent::Asked { .. }
                | SessionEvent::AskClosed { .. }
                | SessionEvent::Replied { .. }
                | SessionEvent::TurnEnded { .. }
                | SessionEvent::PlanChanged { .. }
        )
    }
}
