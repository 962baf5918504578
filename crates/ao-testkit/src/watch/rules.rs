//! The rules, with checks around every step.

use std::fmt;
use std::sync::Arc;

use ao_core::{Effect, Input, Moment, Refusal, Scope, SessionId, StampedEvent, State};
use ao_engine::EngineRules;

use super::Invariant;
use super::alarms::no_dead_ends;
use crate::trace::TraceLine;
use crate::universe::{SimUniverse, UniverseState};

/// Number of inputs without time passing that counts as a loop.
const AT_ONCE: u32 = 4000;

pub(crate) struct WatchedRules {
    pub(crate) universe: Arc<SimUniverse>,
    pub(crate) rules: Arc<dyn EngineRules>,
}

impl EngineRules for WatchedRules {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
        let tick = input == Input::Tick;
        let was_due = tick && state.next_due().is_some_and(|due| due <= moment.at);
        let traced = self.universe.lock().trace.on().then(|| Box::new(input.clone()));
        let outcome = self.rules.step(state, moment, input);
        let mut inner = self.universe.lock();
        inner.steps += 1;
        let at_once = inner.pace();
        if at_once > AT_ONCE {
            inner.broken(Invariant::TimeMoves, format!("{at_once} inputs, and no time passes"));
            // Nothing more can be observed in a world that stands still.
            inner.halt();
        }
        if was_due && outcome.as_ref().is_ok_and(Vec::is_empty) {
            inner.broken(Invariant::TimeMoves, "something was due, and nothing happened".into());
        }
        no_dead_ends(&mut inner, state);
        if let Some(input) = traced {
            match &outcome {
                Ok(events) if tick && events.is_empty() => {}
                Ok(events) => inner.note(|| TraceLine::Step(input, events.clone())),
                Err(refusal) => inner.note(|| TraceLine::Refused(input, refusal.to_string())),
            }
        }
        outcome
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        let wanted = self.rules.wants(state, scope);
        let mut inner = self.universe.lock();
        if let Scope::Session(id) = scope {
            session(&mut inner, state, *id);
            let held = state.sessions.get(id).is_some_and(|session| !session.holds.is_empty());
            let speaks = wanted.iter().any(|effect| matches!(effect, Effect::Deliver { .. }));
            inner.must(!(held && speaks), Invariant::BudgetHolds, || {
                format!("a turn is wanted of {id}, which is held")
            });
        }
        wanted
    }
}

/// Checks a session. The engine asks what a session wants right after it has recorded what happened to it.
fn session(inner: &mut UniverseState, state: &State, id: SessionId) {
    let (ours, logged) = (state.sessions.get(&id), inner.log.shadow.sessions.get(&id));
    if ours != logged {
        let what = format!("the engine has {ours:?}, and the log has {logged:?}");
        inner.broken(Invariant::LogReplays, what);
    }
    let Some(session) = ours else { return };
    let outbox = &session.outbox;
    let kept = || {
        let current = outbox.under_way().flat_map(|delivery| &delivery.messages);
        outbox.waiting.iter().chain(current).map(|message| message.no)
    };
    let open = || inner.log.ledger.open(id);
    if open().count() != kept().count() || open().any(|no| kept().all(|other| other != no)) {
        let (open, kept): (Vec<u32>, Vec<u32>) = (open().collect(), kept().collect());
        let what = format!("{id} has the messages {kept:?}, and should have {open:?}");
        inner.broken(Invariant::MessagesKept, what);
    }
    let status = session.status(inner.wall());
    inner.must(!status.reason.is_empty(), Invariant::ReasonsShown, || {
        format!("{id} is {:?} without a reason", status.word)
    });
}

impl fmt::Debug for WatchedRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedRules").finish_non_exhaustive()
    }
}
