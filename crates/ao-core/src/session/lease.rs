//! Port leases of sessions. A lease is a fact of the log, so it is freed with the slot, crash or not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Session;
use crate::setup::PortRange;
use crate::state::State;
use crate::{ProjectId, SessionId};

/// The ports of a session, by the variables that carry them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortLease {
    /// Its own while it has a slot.
    pub held: BTreeMap<String, u16>,
    /// Those that it had before, which what it has started may still use. It gets them again if they are free.
    pub before: BTreeMap<String, u16>,
    /// Ports that another program was found to listen on.
    pub refused: BTreeSet<u16>,
}

impl PortLease {
    /// Gives the ports back. Those that were refused may be free by the next time.
    pub(super) fn give_back(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.before = held;
        }
        self.refused.clear();
    }
}

/// The ports in use, while slots are given out.
pub(crate) struct PortLeases<'a> {
    state: &'a State,
    /// Computed only if a project needs ports at all.
    taken: Option<BTreeSet<u16>>,
}

impl<'a> PortLeases<'a> {
    pub(crate) fn new(state: &'a State) -> PortLeases<'a> {
        PortLeases { state, taken: None }
    }

    /// Returns the ports for a session with this lease, none if its project wants none; `None` if there are not enough free
    /// ones.
    pub(crate) fn take(&mut self, session: &Session, lease: &PortLease) -> Option<BTreeMap<String, u16>> {
        let Some(range) = range(self.state, &session.spec.project) else { return Some(BTreeMap::new()) };
        let taken = self.taken.get_or_insert_with(|| taken(self.state, Some(session.id)));
        let free = |port: &u16| !taken.contains(port) && !lease.refused.contains(port);
        let all = range.first..=range.end();
        let before = &lease.before;
        let same = before.keys().eq(BTreeSet::from_iter(&range.names))
            && before.values().all(|port| free(port) && all.contains(port));
        let ports: BTreeMap<String, u16> = if same {
            before.clone()
        } else if range.exclusive {
            range.names.iter().cloned().zip(all).filter(|(_, port)| free(port)).collect()
        } else {
            range.names.iter().cloned().zip(all.filter(free)).collect()
        };
        if ports.len() < range.names.len() {
            return None;
        }
        taken.extend(ports.values());
        Some(ports)
    }
}

/// Returns how many more sessions of a project could have their ports.
pub(crate) fn room(state: &State, project: &ProjectId) -> u32 {
    let Some(range) = range(state, project) else { return u32::MAX };
    let taken = taken(state, None);
    let free = (range.first..=range.end()).filter(|port| !taken.contains(port)).count();
    (free / range.names.len()) as u32
}

/// Returns the sessions that hold ports of a project's range.
pub(crate) fn port_holders(state: &State, project: &ProjectId) -> Vec<SessionId> {
    let Some(range) = range(state, project) else { return vec![] };
    let all = range.first..=range.end();
    let holds =
        |holder: &&Session| holder.takes_slot() && holder.ports.held.values().any(|port| all.contains(port));
    state.live().filter(holds).map(|holder| holder.id).collect()
}

fn range<'a>(state: &'a State, project: &ProjectId) -> Option<&'a PortRange> {
    state.projects.get(project)?.config.ports.as_ref().filter(|range| !range.names.is_empty())
}

fn taken(state: &State, but_for: Option<SessionId>) -> BTreeSet<u16> {
    let holders = state.live().filter(|holder| holder.takes_slot() && Some(holder.id) != but_for);
    holders.flat_map(|holder| holder.ports.held.values().copied()).collect()
}
