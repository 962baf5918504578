//! What time brings to a session.

use super::launch::{launch, may_go_on};
use super::outbox::Next;
use super::say::flush;
use super::{Phase, Session, SessionEvent};
use crate::evidence::Activity;
use crate::settings::Settings;
use crate::state::State;
use crate::{Moment, Timestamp};

/// What has become due. [`Session::due`] says when to ask.
pub(super) fn due(state: &State, session: &Session, moment: &Moment) -> Vec<SessionEvent> {
    use SessionEvent as E;
    let now = moment.at;
    if session.again_at().is_some_and(|at| at <= now) {
        return vec![E::DelayOver {}];
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
            if session.look_at(&state.settings).is_some_and(|at| at <= now) {
                events.push(E::LookWanted {});
            }
            events
        }
        Phase::Ended { at, .. }
            if *at + state.settings.keep_ended <= now && !session.workspace.may_exist() =>
        {
            vec![E::Archived { pulls: session.pulls.clone() }]
        }
        _ => vec![],
    }
}

impl Session {
    /// When time alone will change something, if nothing else does before.
    pub(crate) fn due(&self, settings: &Settings) -> Option<Timestamp> {
        match &self.phase {
            Phase::Retrying { at, .. } => self.holds.is_empty().then_some(*at),
            Phase::Running { .. } => {
                // Asked as of long ago, so that what is already due is a time in the past and not "now".
                let outbox = match self.outbox_next(Timestamp(i64::MIN), settings) {
                    Next::At(at) => Some(at),
                    Next::Nothing | Next::Start | Next::Retry | Next::GiveUp => None,
                };
                [outbox, self.look_at(settings)].into_iter().flatten().min()
            }
            Phase::Ended { at, .. } if !self.workspace.may_exist() => Some(*at + settings.keep_ended),
            _ => self.again_at(),
        }
    }

    /// When a try that failed is made again.
    fn again_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Preparing { .. } | Phase::Ended { .. } => self.workspace.again_at,
            Phase::Starting { again_at, .. } | Phase::Stopping { again_at, .. } => *again_at,
            _ => None,
        }
    }

    /// When somebody should look at the agent, because it has been quiet although it should not be.
    fn look_at(&self, settings: &Settings) -> Option<Timestamp> {
        let unsure =
            matches!(self.judgement.activity, Activity::Starting | Activity::Working | Activity::Unknown);
        (unsure && !self.look).then(|| self.looked + settings.look_after)
    }
}
