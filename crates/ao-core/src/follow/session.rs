//! Consequences of the events of a session.

use std::collections::VecDeque;

use super::limits;
use super::pull::{addressed, claim};
use crate::budget::BudgetInput;
use crate::evidence::{AgentActivity, Reading};
use crate::incident::{EscalationLevel, IncidentInput, Subject};
use crate::input::Input;
use crate::notice::NoticeLevel;
use crate::pull::unclaimed_of;
use crate::session::{
    HoldKind, MessageKind, SessionEvent, SessionInput, SessionOutcome, SessionRole, may_go_on,
};
use crate::state::State;
use crate::{SessionId, Timestamp};

pub(super) fn follow(
    state: &State,
    id: SessionId,
    event: &SessionEvent,
    at: Timestamp,
    then: &mut VecDeque<Input>,
) {
    use SessionEvent as E;
    let Some(session) = state.sessions.get(&id) else {
        // Archived: its incidents are over.
        then.push_back(Input::Review(Subject::Session(id)));
        // A fact that only it kept in memory may have blocked others.
        then.push_back(Input::Schedule);
        if let E::Archived { pulls } = event {
            then.extend(pulls.iter().map(|pull| Input::Review(Subject::Pull(pull.clone()))));
            // The budget of its task may be gone with it; which one it was is unknown now.
            then.extend(
                state.projects.keys().map(|project| Input::Review(Subject::Project(project.clone()))),
            );
        }
        return;
    };
    // A waiting session may need the slot of an idle one.
    if session.may_rest() || matches!(event, E::StopFailed { .. }) {
        then.push_back(Input::Schedule);
    }
    let name = &session.spec.name;
    let notice =
        |level: NoticeLevel, key: String, text: String| Input::notify(level, Subject::Session(id), key, text);
    let review = || Input::Review(Subject::Session(id));
    let mut tell = |input: SessionInput| then.push_back(Input::Session { session: id, input });
    match event {
        E::Queued { .. } => {
            // A session that begins under a limit waits like those that were there before.
            limits::holds_for(state, session, then);
            then.push_back(Input::Review(Subject::Project(session.spec.project.clone())));
            then.extend(unclaimed_of(state, session).into_iter().map(|pull| claim(pull, id)));
            then.push_back(Input::Schedule);
        }
        // A port that it gave back may suit another session.
        E::WaitedEnough {} | E::PortsLeased { .. } | E::Cleared {} => then.push_back(Input::Schedule),
        E::Requeued { .. } => {
            limits::holds_for(state, session, then);
            then.push_back(Input::Review(Subject::Project(session.spec.project.clone())));
            then.extend([Input::Schedule, review()]);
        }
        E::SignalSeen { signal } => {
            tell(SessionInput::Flush);
            if let Reading::Limited { until: Some(until) } = &signal.reading {
                let account = session.account().to_owned();
                then.push_back(Input::AccountLimited { account, until: *until });
            }
            if session.judgement.activity == AgentActivity::Idle {
                let pulls = session.pulls.iter().filter_map(|pull| state.pulls.get(pull));
                then.extend(pulls.flat_map(|pull| addressed(state, pull)));
            }
            let watched =
                matches!(session.judgement.activity, AgentActivity::Unknown | AgentActivity::NeedsInput);
            if session.activity_since == at || watched {
                then.push_back(review());
            }
        }
        E::Launched { .. }
        | E::Looked {}
        | E::LookFailed { .. }
        | E::Rejudged {}
        | E::Asked { .. }
        | E::AskClosed { .. }
        | E::Answered { .. } => {
            tell(SessionInput::Flush);
            then.push_back(review());
        }
        // Even if it only waits from now on: an interrupt may have waited for that.
        E::MessageQueued { .. } | E::Written { .. } | E::DeliveryPaused { .. } => tell(SessionInput::Flush),
        E::Accepted { .. } => {
            tell(SessionInput::Count);
            tell(SessionInput::Flush);
        }
        E::MessageWithdrawn { incident: Some(key), .. } => {
            then.push_back(Input::Incident { key: key.clone(), input: IncidentInput::Unsaid });
        }
        E::DeliveryFailed { delivery, why } => {
            tell(SessionInput::Flush);
            // The problem persists, so the next level is informed.
            let by = if session.spec.role == SessionRole::Orchestrator {
                EscalationLevel::Orchestrator
            } else {
                EscalationLevel::Agent
            };
            let given_up = session.outbox.failed.iter().filter(|failed| failed.delivery == Some(*delivery));
            for failed in given_up {
                if let MessageKind::News { incident } = &failed.message.kind {
                    let input = IncidentInput::NotHeard { by, why: why.clone() };
                    then.push_back(Input::Incident { key: incident.clone(), input });
                }
            }
            let text = format!("a message to `{name}` was {why}; its text is kept in the outbox");
            then.push_back(notice(NoticeLevel::Action, format!("{id} delivery {delivery}"), text));
        }
        E::TakenAfterAll { messages, .. } => {
            let text = format!("a message to `{name}` that was given up has been read after all");
            then.push_back(notice(NoticeLevel::Info, format!("{id} after all {messages:?}"), text));
        }
        E::MessagesDropped { why } => {
            // Its agent does not resume by itself; the escalation decides who is informed instead.
            for failed in session.outbox.failed.iter().filter(|failed| failed.why == *why) {
                if let MessageKind::News { incident } = &failed.message.kind {
                    then.push_back(Input::Incident { key: incident.clone(), input: IncidentInput::Unsaid });
                    then.push_back(Input::Review(incident.subject.clone()));
                }
            }
            let text = format!("messages to `{name}` were not delivered: {why}");
            then.push_back(notice(NoticeLevel::Info, format!("{id} dropped {at}"), text));
        }
        E::Exited { .. } | E::Rested { .. } => {
            tell(SessionInput::Flush);
            if session.rests_after_turn() {
                let pulls = session.pulls.iter().filter_map(|pull| state.pulls.get(pull));
                then.extend(pulls.flat_map(|pull| addressed(state, pull)));
            }
            then.extend([Input::Schedule, review()]);
        }
        E::Drifted { what } => then.push_back(notice(
            NoticeLevel::Warning,
            format!("{id} drift {what}"),
            format!("`{name}` has left its place: {what}"),
        )),
        E::TreeLost { path } => {
            let text = format!(
                "the workspace of `{name}` was deleted ({path}); it is recreated from its branch `{}`, \
                 without uncommitted changes",
                session.branch()
            );
            then.push_back(notice(NoticeLevel::Warning, format!("{id} tree lost {at}"), text));
        }
        E::CheckoutChanged { .. } => {
            then.extend(unclaimed_of(state, session).into_iter().map(|pull| claim(pull, id)));
        }
        E::NotAnswered { number, why } => then.push_back(notice(
            NoticeLevel::Action,
            format!("{id} answer {number}"),
            format!("the answer to `{name}` was not given: {why}"),
        )),
        E::WorkspaceFailed { again_at: None, .. } | E::SetupFailed { .. } => {
            then.extend([Input::Schedule, review()]);
        }
        E::Held { kind: HoldKind::Hook, why } => {
            then.extend(super::hooks::held(state, id, why, at));
            then.push_back(Input::Schedule);
        }
        E::Held { kind: HoldKind::Consent, why } if may_go_on(state, session).is_err() => {
            then.push_back(notice(
                NoticeLevel::Info,
                format!("{id} unwanted {at}"),
                format!("`{name}` was not resumed: {why}"),
            ));
            then.push_back(review());
        }
        E::Lingered {} | E::PullLinked { .. } if session.lingers == Some(session.activity_since) => {
            then.push_back(review());
        }
        E::Stopping { .. } => {
            // The last period counts too.
            tell(SessionInput::Count);
            then.push_back(review());
        }
        E::Held { .. } | E::StopFailed { .. } => {
            then.push_back(review());
        }
        E::Released { .. } => {
            tell(SessionInput::Flush);
            then.extend([Input::Schedule, review()]);
            then.extend(session.pulls.iter().map(|pull| Input::Review(Subject::Pull(pull.clone()))));
        }
        E::Spent { .. } => then.extend(
            state
                .budgets_of(session)
                .into_iter()
                .map(|budget| Input::Budget { budget, input: BudgetInput::Count }),
        ),
        E::BudgetMarked { mark } => {
            tell(SessionInput::Send(limits::nearly_spent("Your budget", mark, format!("mark {mark}"))));
        }
        E::Ended { outcome } => {
            let merged = matches!(outcome, SessionOutcome::Merged { .. }) && state.settings.remove_merged;
            // A reviewer's workspace was only to be read.
            if merged || session.spec.role == SessionRole::Reviewer {
                tell(SessionInput::Cleanup);
            }
            then.extend([Input::Schedule, review()]);
            then.extend(super::complete(state, &session.spec.project, at));
        }
        _ => {}
    }
}
