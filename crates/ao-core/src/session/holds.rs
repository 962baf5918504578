//! Holds that keep a session from its next turn, and the budgets that set them.

use super::launch::has_ended;
use super::say::daemon_message;
use super::{AfterStop, HoldKind, Phase, Session, SessionEvent, TurnCancel};
use crate::Timestamp;
use crate::budget::{ReachedLimit, SpendLimits, UsageTotal};
use crate::refusal::Refusal;
use crate::state::State;

pub(super) fn hold(session: &Session, kind: HoldKind, why: String) -> Vec<SessionEvent> {
    // A session about to resume after a limit is held again by a new one.
    let again = kind == HoldKind::Account && session.resume.at.is_some();
    if session.holds.contains_key(&kind) && !again {
        return vec![];
    }
    let mut events = vec![SessionEvent::Held { kind, why }];
    // Its launch may never happen, so a stop that waits for it proceeds.
    if let Phase::Starting { then_stop: Some(outcome), .. } = &session.phase {
        events.push(SessionEvent::Stopping { then: AfterStop::End { outcome: outcome.clone() } });
    }
    events
}

pub(super) fn release(session: &Session, kind: HoldKind) -> Vec<SessionEvent> {
    if session.holds.contains_key(&kind) { vec![SessionEvent::Released { kind }] } else { vec![] }
}

pub(super) fn resume(
    state: &State,
    session: &Session,
    now: Timestamp,
    limits: Option<SpendLimits>,
) -> Result<Vec<SessionEvent>, Refusal> {
    if let Some(reached) = limits.unwrap_or(session.usage.limits).reached(&session.usage.spend) {
        return Err(spent_budget(session, &reached));
    }
    // A new limit alone is accepted: a restore needs it if the budget is spent.
    if limits.is_none() && !session.is_live() {
        return Err(has_ended(state, session, now));
    }
    let by_word = [HoldKind::Person, HoldKind::Consent, HoldKind::Budget, HoldKind::Hook];
    if limits.is_none() && !session.holds.keys().any(|kind| by_word.contains(kind)) {
        // It is held only by shared budgets, which a plain resume does not lift.
        wider_budget(state, session, now)?;
        under_limit(state, session)?;
    }
    let mut events = Vec::new();
    if let Some(limits) = limits {
        events.push(SessionEvent::LimitsSet { limits });
    }
    events.extend(by_word.iter().flat_map(|kind| release(session, *kind)));
    Ok(events)
}

/// Returns the refusal of a session whose own budget is spent, with the command that raises it.
pub(super) fn spent_budget(session: &Session, reached: &ReachedLimit) -> Refusal {
    Refusal::Budget {
        session: session.id,
        why: format!("the budget of `{}` is spent ({reached})", session.spec.name),
        retype: format!("ao resume {} {}", session.spec.name, reached.option()),
    }
}

/// Refuses if only a provider's limit holds it, which no command ends.
fn under_limit(state: &State, session: &Session) -> Result<(), Refusal> {
    if !session.holds.contains_key(&HoldKind::Account) {
        return Ok(());
    }
    Err(Refusal::Limited {
        name: session.spec.name.clone(),
        account: session.account().to_owned(),
        until: state.accounts.get(session.account()).copied().or(session.resume.at),
        by_itself: state.resumes_by_itself(session),
    })
}

/// Refuses if a shared budget is spent.
fn wider_budget(state: &State, session: &Session, now: Timestamp) -> Result<(), Refusal> {
    for budget in state.budgets_of(session) {
        let Some(usage) = state.budget_usage.get(&budget).filter(|usage| usage.cap.is_some()) else {
            continue;
        };
        let limits = usage.limits_at(now, state.limits_of(&budget));
        if let Some(reached) = limits.reached(&usage.spent_at(now)) {
            let name = &session.spec.name;
            return Err(Refusal::Budget {
                session: session.id,
                why: format!("{budget:#} is spent ({reached})"),
                retype: format!("ao resume {name} --of {} {}", budget.word(), reached.option()),
            });
        }
    }
    Ok(())
}

/// Ends the running turn: its agent cancels it, if it can, before its process is ended. It resumes where it was, once it
/// may.
pub(super) fn halt(session: &Session, now: Timestamp, why: String) -> Vec<SessionEvent> {
    if session.cancels.current.is_some() {
        return vec![];
    }
    if session.spec.agent.abilities.cancel {
        let number = session.cancels.count.saturating_add(1);
        return vec![SessionEvent::Cancelling { cancel: TurnCancel { number, why } }];
    }
    cut_short(session, now, &why)
}

/// Ends the process whose turn was cancelled.
pub(super) fn cut_turn(session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    let cancel = session.cancels.current.as_ref();
    cancel.map(|cancel| cut_short(session, now, &cancel.why)).unwrap_or_default()
}

fn cut_short(session: &Session, now: Timestamp, why: &str) -> Vec<SessionEvent> {
    let why = format!("ended in the middle of a turn: {why}");
    let body = "You were stopped in the middle of a turn, because a budget was spent. Go on where you were.";
    let message = daemon_message(session, now, body);
    vec![
        SessionEvent::MessageQueued { message, replaces: None },
        SessionEvent::Stopping { then: AfterStop::Rest { code: None, why } },
    ]
}

/// Returns the events of a new total usage.
pub(super) fn spent(session: &Session, total: UsageTotal) -> Vec<SessionEvent> {
    let spend = session.usage.spend.later(total);
    let mut events = Vec::new();
    if spend != session.usage.spend {
        events.push(SessionEvent::Spent { spend });
    }
    if let Some(reached) = session.usage.limits.reached(&spend) {
        events.extend(hold(session, HoldKind::Budget, format!("its budget is spent: {reached}")));
    } else if let Some(mark) = session.usage.limits.nearly_reached(&spend)
        && !session.usage.marked
    {
        events.push(SessionEvent::BudgetMarked { mark: mark.to_string() });
    }
    events
}

impl Session {
    /// Returns true if the turn is being cancelled with this number.
    pub(super) fn is_cancelling(&self, number: u32) -> bool {
        self.cancels.current.as_ref().is_some_and(|cancel| cancel.number == number)
    }

    /// Returns its usage by our own count, whatever its agent reports.
    pub(super) fn counted(&self, now: Timestamp) -> UsageTotal {
        let running = match self.phase {
            Phase::Running { since, .. } => now.since(since).as_secs(),
            _ => 0,
        };
        UsageTotal {
            turns: self.usage.turns,
            seconds: self.usage.ran.saturating_add(running),
            ..UsageTotal::default()
        }
    }
}
