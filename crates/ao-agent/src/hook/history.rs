//! The last that was told by hooks, for those who must know before they act.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use ao_core::{Attempt, SessionId, Timestamp};

/// How many turns of each agent are remembered. Only the last few deliveries are ever asked for again.
const TURNS_KEPT: usize = 16;
/// How many agents are remembered; the one that was silent for longest is forgotten first.
const AGENTS_KEPT: usize = 512;

/// A turn as a hook told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) at: Timestamp,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What hooks have told in this life of the daemon, bounded.
///
/// Not stored: what was reported is the engine's to keep, and what was not is still in the spool.
#[derive(Debug, Default)]
pub struct History {
    agents: Mutex<HashMap<(SessionId, Attempt), Told>>,
}

#[derive(Debug, Default)]
struct Told {
    last: Timestamp,
    turns: VecDeque<Turn>,
    /// The question that was last asked.
    question: Option<String>,
}

impl History {
    pub(crate) fn turn(&self, session: SessionId, attempt: Attempt, turn: Turn) {
        let mut agents = self.agents();
        let told = entry(&mut agents, session, attempt, turn.at);
        if told.turns.iter().all(|known| known.name != turn.name) {
            told.turns.push_back(turn);
            if told.turns.len() > TURNS_KEPT {
                told.turns.pop_front();
            }
        }
    }

    pub(crate) fn question(&self, session: SessionId, attempt: Attempt, at: Timestamp, question: &str) {
        entry(&mut self.agents(), session, attempt, at).question = Some(question.to_owned());
    }

    /// The first turn with a text, among those that began no earlier than `since`.
    pub(crate) fn find(
        &self,
        session: SessionId,
        attempt: Attempt,
        since: Timestamp,
        is_it: impl Fn(&str) -> bool,
    ) -> Option<Turn> {
        let agents = self.agents();
        let turns = &agents.get(&(session, attempt))?.turns;
        turns.iter().find(|turn| turn.at >= since && is_it(&turn.text)).cloned()
    }

    /// Whether this is what a hook last said is asked.
    pub(crate) fn asked(&self, session: SessionId, attempt: Attempt, question: &str) -> bool {
        let agents = self.agents();
        agents.get(&(session, attempt)).is_some_and(|told| told.question.as_deref() == Some(question))
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<(SessionId, Attempt), Told>> {
        self.agents.lock().expect("nobody panics while looking one up")
    }
}

fn entry(
    agents: &mut HashMap<(SessionId, Attempt), Told>,
    session: SessionId,
    attempt: Attempt,
    at: Timestamp,
) -> &mut Told {
    if agents.len() >= AGENTS_KEPT && !agents.contains_key(&(session, attempt)) {
        let oldest = agents.iter().min_by_key(|(_, told)| told.last).map(|(key, _)| *key);
        oldest.map(|oldest| agents.remove(&oldest));
    }
    let told = agents.entry((session, attempt)).or_default();
    told.last = told.last.max(at);
    told
}
