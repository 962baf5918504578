//! Timers of a session.

use std::time::Duration;

use super::decide::session_leaves;
use super::holds::{halt, hold, release, spent};
use super::launch::{launch, may_go_on, wake};
use super::outbox::OutboxStep;
use super::say::{flush, go_on_message};
use super::{Delivery, DeliveryStage, HoldKind, Phase, Session, SessionEvent};
use crate::budget::GRACE;
use crate::evidence::{AgentActivity, judge, next_change};
use crate::settings::DaemonSettings;
use crate::state::State;
use crate::{Moment, Timestamp};

/// The longest interval between looks at an unanswered dialog.
const LOOK_SELDOM: Duration = Duration::from_secs(600);

/// The pause before another cancellation of a turn that the last one did not find.
const CANCEL_AGAIN: Duration = Duration::from_secs(60);

/// The interval in seconds at which the time of a session is added to shared budgets.
const COUNTED_EVERY: u64 = 60;

/// Returns the events that have become due. [`Session::due`] returns when to ask.
pub(super) fn due(state: &State, session: &Session, moment: &Moment) -> Vec<SessionEvent> {
    use SessionEvent as E;
    let now = moment.at;
    if session.again_at().is_some_and(|at| at <= now) {
        return vec![E::DelayOver {}];
    }
    if session.resume.at.is_some_and(|at| at <= now) {
        return go_on(state, session, now);
    }
    match &session.phase {
        Phase::Retrying { at, why } if *at <= now && session.holds.is_empty() => {
            match may_go_on(state, session) {
                Ok(()) => launch(session, moment, session.attempt.next()),
                Err(refusal) => {
                    vec![E::Exited { code: None, why: format!("{why}; not started again: {refusal}") }]
                }
            }
        }
        Phase::Running { .. } => {
            let mut events = flush(state, session, now);
            if judge(&session.evidence, now).activity != session.judgement.activity {
                events.push(E::Rejudged {});
            }
            let time_is_up = session.time_is_up().is_some_and(|at| at <= now);
            let counts = state.counts_time(session);
            if time_is_up || session.count_at(counts).is_some_and(|at| at <= now) {
                events.extend(spent(session, session.counted(now)));
            }
            if let Some(why) = session.halts_at().filter(|(at, _)| *at <= now).map(|(_, why)| why) {
                events.extend(halt(session, now, why));
                if session_leaves(&events) {
                    return events;
                }
            }
            if session.lingers_at(state.idle_after(session)).is_some_and(|at| at <= now) {
                events.push(E::Lingered {});
            }
            if session.look_at(&state.settings).is_some_and(|at| at <= now) {
                events.push(E::LookWanted {});
            }
            events
        }
        Phase::Exited { .. } if session.proof_is_due().is_some_and(|at| at <= now) => {
            let woken = wake(state, session, now);
            if woken.is_empty() { not_taken(session, now) } else { woken }
        }
        Phase::Exited { .. } if session.lingers_at(state.idle_after(session)).is_some_and(|at| at <= now) => {
            vec![E::Lingered {}]
        }
        Phase::Queued { .. } if session.waits_until().is_some_and(|at| at <= now) => vec![E::WaitedEnough {}],
        Phase::Ended { at, .. }
            if session.forgotten_at(*at, &state.settings) <= now && !session.workspace.may_exist() =>
        {
            vec![E::Archived { pulls: session.pulls.clone() }]
        }
        _ => vec![],
    }
}

/// Records that a process has ended without taking the message that it was started with. The message waits for the
/// next process.
fn not_taken(session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    let why = "its process ended before it took the message";
    let paused = |delivery: &Delivery| SessionEvent::DeliveryPaused {
        delivery: delivery.no,
        until: now,
        counts: true,
        why: why.into(),
    };
    session.outbox.current.iter().map(paused).collect()
}

/// Returns the events of a session that resumes after a provider's limit.
pub(super) fn go_on(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    let refused = match may_go_on(state, session) {
        Err(refusal) => {
            Some(format!("the provider's limit is over, but {refusal}; `ao resume` lets it go on"))
        }
        Ok(()) if !state.resumes_by_itself(session) => {
            Some("the provider's limit is over; `ao resume` lets it go on (autoResume is off)".into())
        }
        Ok(()) => None,
    };
    let mut events = Vec::new();
    match refused {
        Some(why) => events.extend(hold(session, HoldKind::Consent, why)),
        None => events.extend(go_on_message(session, now)),
    }
    events.extend(release(session, HoldKind::Account));
    events
}

impl Session {
    /// Returns the time at which it is due next, if nothing happens before.
    pub(crate) fn due(
        &self,
        settings: &DaemonSettings,
        idle_after: Duration,
        counts_time: bool,
    ) -> Option<Timestamp> {
        let otherwise = match &self.phase {
            Phase::Retrying { at, .. } => self.holds.is_empty().then_some(*at),
            Phase::Running { .. } => {
                // Asked as of long ago, so that an overdue timer is a time in the past and not "now".
                let outbox = match self.outbox_next(Timestamp(i64::MIN), settings) {
                    OutboxStep::At(at) => Some(at),
                    OutboxStep::Nothing | OutboxStep::Start | OutboxStep::Retry | OutboxStep::GiveUp => None,
                };
                let changes = next_change(&self.evidence, self.judged, &self.judgement);
                let halts = self.halts_at().map(|(at, _)| at);
                let own = [outbox, self.look_at(settings), changes, self.time_is_up(), halts];
                own.into_iter()
                    .chain([self.lingers_at(idle_after), self.count_at(counts_time)])
                    .flatten()
                    .min()
            }
            Phase::Queued { .. } => self.waits_until(),
            Phase::Exited { .. } => self.proof_is_due().or(self.lingers_at(idle_after)),
            Phase::Ended { at, .. } if !self.workspace.may_exist() => Some(self.forgotten_at(*at, settings)),
            _ => self.again_at(),
        };
        otherwise.into_iter().chain(self.resume.at).min()
    }

    /// Returns the time until which it waits for sessions that change the files of its task.
    fn waits_until(&self) -> Option<Timestamp> {
        let Phase::Queued { since } = self.phase else { return None };
        crate::forecast::may_wait(self).then(|| since + crate::forecast::HOLD_MOST)
    }

    /// Returns the time at which a message that its last process was started with is delivered again, unless the process
    /// turns out to have taken it.
    pub(super) fn proof_is_due(&self) -> Option<Timestamp> {
        match self.outbox.current.as_ref()?.stage {
            DeliveryStage::Written { proof_by } if self.holds.is_empty() => Some(proof_by),
            _ => None,
        }
    }

    /// Returns the time at which it leaves the memory after its end: not while there is something to restore.
    fn forgotten_at(&self, ended: Timestamp, settings: &DaemonSettings) -> Timestamp {
        let rescued = self.workspace.removed.filter(|_| !self.is_merged() && self.workspace.rescue.is_some());
        let restorable = rescued.map(|removed| removed + settings.keep_rescues);
        (ended + settings.keep_ended).max(restorable.unwrap_or(ended))
    }

    /// Returns the time at which a try that failed is made again.
    fn again_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Preparing { .. } | Phase::Ended { .. } => self.workspace.again_at,
            Phase::Starting { again_at, .. } | Phase::Stopping { again_at, .. } => *again_at,
            _ => None,
        }
    }

    /// Returns the time at which its limit of time is reached.
    fn time_is_up(&self) -> Option<Timestamp> {
        let Phase::Running { since, .. } = self.phase else { return None };
        let limit = self.usage.limits.seconds.filter(|_| !self.holds.contains_key(&HoldKind::Budget))?;
        Some(since + Duration::from_secs(limit.saturating_sub(self.usage.ran)))
    }

    /// Returns the time at which its running time is added to a shared budget of time.
    fn count_at(&self, counts_time: bool) -> Option<Timestamp> {
        let Phase::Running { since, .. } = self.phase else { return None };
        let next = (self.usage.spend.seconds + COUNTED_EVERY).saturating_sub(self.usage.ran);
        counts_time.then(|| since + Duration::from_secs(next))
    }

    /// Returns the time at which also the running turn is ended, because its budget is overdrawn, and the reason.
    fn halts_at(&self) -> Option<(Timestamp, String)> {
        let Phase::Running { since, .. } = self.phase else { return None };
        let hold = self.holds.get(&HoldKind::Budget)?;
        if self.judgement.activity != AgentActivity::Working || self.cancels.current.is_some() {
            return None;
        }
        let missed = self.cancels.missed.map_or(hold.since, |missed| missed + CANCEL_AGAIN);
        let grace = (hold.since + GRACE).max(missed);
        if self.usage.limits.overdrawn(&self.usage.spend).is_some() {
            return Some((grace, hold.why.clone()));
        }
        let seconds = self.usage.limits.overdrawn_seconds()?;
        let over = since + Duration::from_secs(seconds.saturating_sub(self.usage.ran));
        Some((grace.max(over), hold.why.clone()))
    }

    /// Returns the time at which it has been idle for too long, with its work not done and no person typing.
    fn lingers_at(&self, idle_after: Duration) -> Option<Timestamp> {
        let at_prompt =
            matches!(self.phase, Phase::Running { .. }) && self.judgement.activity == AgentActivity::Idle;
        // Includes an agent that has quit although it could have stayed at its prompt.
        let idle = at_prompt || matches!(self.phase, Phase::Exited { code: Some(0), .. });
        let since = self.activity_since.max(self.evidence.human_typed.unwrap_or(self.activity_since));
        (idle && self.leaves_work() && self.outbox.is_empty() && self.lingers != Some(self.activity_since))
            .then(|| since + idle_after)
    }

    /// Returns the time of the next look at the agent, because its judged activity may be stale by then.
    fn look_at(&self, settings: &DaemonSettings) -> Option<Timestamp> {
        if self.watch.wanted {
            return None;
        }
        match self.judgement.activity {
            AgentActivity::Starting | AgentActivity::Working | AgentActivity::Unknown => {
                Some(self.watch.looked + settings.look_after)
            }
            // It waits for a person, who may have come: soon at first, then less and less often.
            AgentActivity::NeedsInput | AgentActivity::Blocked => {
                let waited = self.watch.looked.since(self.activity_since);
                Some(self.watch.looked + waited.clamp(settings.look_after, LOOK_SELDOM))
            }
            AgentActivity::Idle | AgentActivity::RateLimited => {
                // A person typed, and no signal has followed.
                let typed = self.evidence.human_typed.filter(|typed| *typed > self.watch.looked);
                // A turn has ended, and the agent's folder and branch were not checked since.
                let turned = (self.activity_since > self.watch.placed)
                    .then_some(self.watch.placed + settings.look_after);
                [typed.map(|typed| typed + settings.human_quiet), turned].into_iter().flatten().min()
            }
            AgentActivity::Exited => None,
        }
    }
}
