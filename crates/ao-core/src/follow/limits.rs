//! What follows when a budget is spent or a provider's limit is reached: everybody concerned waits, and goes on afterwards.

use std::collections::VecDeque;

use crate::event::AccountEvent;
use crate::incident::Subject;
use crate::input::Input;
use crate::notice::Level;
use crate::project::ProjectEvent;
use crate::session::{HoldKind, Session, SessionInput};
use crate::state::State;
use crate::{ProjectId, Timestamp};

pub(super) fn account(state: &State, account: &str, event: &AccountEvent, then: &mut VecDeque<Input>) {
    match event {
        AccountEvent::Limited { until } => {
            for session in state.live().filter(|session| session.account() == account) {
                let why = format!("the provider's limit for `{account}` holds until {until}");
                then.push_back(held(session, HoldKind::Account, why));
            }
        }
        AccountEvent::Reset {} => {
            for session in state.live().filter(|session| session.account() == account) {
                then.push_back(released(session, HoldKind::Account));
            }
            then.push_back(Input::Schedule);
        }
    }
}

pub(super) fn project(
    state: &State,
    id: &ProjectId,
    event: &ProjectEvent,
    at: Timestamp,
    then: &mut VecDeque<Input>,
) {
    match event {
        ProjectEvent::Capped { why, .. } => {
            for session in state.live_in(id) {
                then.push_back(held(session, HoldKind::ProjectBudget, why.clone()));
            }
            then.push_back(Input::Tell {
                level: Level::Action,
                subject: Subject::Project(id.clone()),
                key: format!("capped {id} {at}"),
                text: why.clone(),
                channel: None,
            });
        }
        ProjectEvent::Uncapped {} => {
            for session in state.live_in(id) {
                then.push_back(released(session, HoldKind::ProjectBudget));
            }
            then.push_back(Input::Schedule);
        }
        _ => {}
    }
}

fn held(session: &Session, kind: HoldKind, why: String) -> Input {
    Input::Session { session: session.id, input: SessionInput::Hold { kind, why } }
}

fn released(session: &Session, kind: HoldKind) -> Input {
    Input::Session { session: session.id, input: SessionInput::Release { kind } }
}
