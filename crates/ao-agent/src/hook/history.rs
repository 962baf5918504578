//! The last that was told by hooks, for those who must know before they act.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use ao_core::{Attempt, SessionId, Timestamp};

use crate::text::letters;

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

    /// What a hook last said is asked, if the agent's later words are the same question.
    ///
    /// A dialog is told by several sources, each in its own words; a person is to hear of it once.
    pub(crate) fn same_question(&self, session: SessionId, attempt: Attempt, words: &str) -> Option<String> {
        let agents = self.agents();
        let known = agents.get(&(session, attempt))?.question.clone()?;
        let (one, other) = (letters(&known), letters(words));
        let core = known.split_once(": ").map_or(one.clone(), |(_, what)| letters(what));
        (one.contains(&other) || (!core.is_empty() && other.contains(&core))).then_some(known)
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

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: (SessionId, Attempt) = (SessionId(1), Attempt(1));

    #[test]
    fn only_turns_since_the_text_was_typed_are_found() {
        let history = History::default();
        let (session, attempt) = AGENT;
        for (at, name) in [(1, "first"), (5, "second")] {
            let turn = Turn { at: Timestamp(at), name: name.into(), text: "continue".into() };
            history.turn(session, attempt, turn);
        }
        let found = history.find(session, attempt, Timestamp(3), |text| text == "continue");
        assert_eq!(found.map(|turn| turn.name).as_deref(), Some("second"));
        assert_eq!(history.find(session, attempt, Timestamp(6), |_| true), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let history = History::default();
        for number in 0..2 * AGENTS_KEPT as u64 {
            history.question(SessionId(number), Attempt(1), Timestamp(number as i64), "May I?");
        }
        assert_eq!(history.agents().len(), AGENTS_KEPT);
        assert!(!history.asked(SessionId(0), Attempt(1), "May I?"));
    }
}
