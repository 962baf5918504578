//! Consequences of a spent budget or a provider's limit: the sessions concerned wait, and resume afterwards.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Timestamp;
use crate::budget::{BudgetEvent, BudgetInput, BudgetScope};
use crate::event::AccountEvent;
use crate::fleet::held_by_account;
use crate::incident::Subject;
use crate::input::Input;
use crate::notice::NoticeLevel;
use crate::session::{HoldKind, NewMessage, Phase, Session, SessionInput};
use crate::state::State;

/// The delay between sessions that resume after a provider's limit, so that they do not hit the next limit together.
const STRETCH: Duration = Duration::from_secs(15);
/// The time within which the last of them resumes.
const ALL_WITHIN: Duration = Duration::from_secs(15 * 60);

pub(super) fn account(
    state: &State,
    account: &str,
    event: &AccountEvent,
    at: Timestamp,
    then: &mut VecDeque<Input>,
) {
    match event {
        AccountEvent::Limited { until } => {
            for session in state.live().filter(|session| session.account() == account) {
                then.push_back(held(session, HoldKind::Account, limit_words(account, *until)));
            }
        }
        AccountEvent::Reset {} => {
            let (go_on, wait): (Vec<_>, Vec<_>) = held_by_account(state, account)
                .into_iter()
                .partition(|session| state.resumes_by_itself(session));
            let stretch = u32::try_from(go_on.len())
                .map_or(Duration::ZERO, |many| STRETCH.min(ALL_WITHIN / many.max(1)));
            for (place, session) in (0..).zip(&go_on) {
                let input = SessionInput::LimitOver { after: stretch * place, within: stretch };
                then.push_back(Input::Session { session: session.id, input });
            }
            for session in &wait {
                let input = SessionInput::LimitOver { after: Duration::ZERO, within: Duration::ZERO };
                then.push_back(Input::Session { session: session.id, input });
            }
            if !wait.is_empty() {
                let count = match wait.len() {
                    1 => "one session waits".to_owned(),
                    more => format!("{more} sessions wait"),
                };
                let names: Vec<&str> = wait.iter().map(|session| session.spec.name.as_str()).collect();
                let text = format!(
                    "the provider's limit for `{account}` is over; autoResume is off, so {count} until \
                     `ao resume`: {}",
                    names.join(", ")
                );
                let key = format!("limit over {account} {at}");
                then.push_back(Input::notify(NoticeLevel::Action, Subject::Host, key, text));
            }
            then.push_back(Input::Schedule);
        }
    }
    then.push_back(Input::Review(Subject::Host));
}

/// Returns the message to an agent, once per key, that a budget is nearly spent.
pub(super) fn nearly_spent(which: &str, mark: &str, key: String) -> NewMessage {
    let text = format!("{which} is nearly spent ({mark}). Commit what you have and sum up what is left.");
    NewMessage::of_daemon(text, key)
}

pub(super) fn budget(state: &State, budget: &BudgetScope, event: &BudgetEvent, then: &mut VecDeque<Input>) {
    match event {
        BudgetEvent::Marked { mark } => {
            // Only sessions with a process are asked: waking one would cost what is to be saved.
            let running = state
                .live_under(budget)
                .into_iter()
                .filter(|session| matches!(session.phase, Phase::Running { .. }));
            let which = capitalised(&format!("{budget:#}"));
            let message = nearly_spent(&which, mark, format!("mark {budget} {mark}"));
            then.extend(running.map(|session| Input::Session {
                session: session.id,
                input: SessionInput::Send(message.clone()),
            }));
        }
        BudgetEvent::Capped { why, .. } => {
            for session in state.live_under(budget) {
                then.push_back(held(session, budget.hold(), why.clone()));
            }
            then.push_back(Input::Review(budget.subject()));
        }
        BudgetEvent::Overdrawn { why } => {
            then.extend(state.live_under(budget).into_iter().map(|session| Input::Session {
                session: session.id,
                input: SessionInput::Halt { why: why.clone() },
            }));
        }
        BudgetEvent::Raised { .. } | BudgetEvent::Spared {} => {}
        BudgetEvent::Uncapped {} => {
            for session in state.live_under(budget) {
                then.push_back(released(session, budget.hold()));
            }
            then.push_back(Input::Review(budget.subject()));
            then.push_back(Input::Schedule);
        }
    }
}

/// Returns the holds of a session that is queued: the provider's limit, and the budgets that are spent.
pub(super) fn holds_for(state: &State, session: &Session, then: &mut VecDeque<Input>) {
    if let Some(until) = state.accounts.get(session.account()) {
        then.push_back(held(session, HoldKind::Account, limit_words(session.account(), *until)));
    }
    for budget in state.budgets_of(session) {
        if let Some(cap) = state.budget_usage.get(&budget).and_then(|usage| usage.cap.as_ref()) {
            then.push_back(held(session, budget.hold(), cap.why.clone()));
        }
    }
}

/// Compares spending with limits that may be new.
pub(super) fn recount(state: &State, then: &mut VecDeque<Input>, concerns: impl Fn(&BudgetScope) -> bool) {
    let counted = state.budget_usage.keys().filter(|budget| concerns(budget)).cloned();
    then.extend(counted.map(|budget| Input::Budget { budget, input: BudgetInput::Count }));
}

fn limit_words(account: &str, until: Timestamp) -> String {
    format!("the provider's limit for `{account}` holds until {}", until.utc())
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn held(session: &Session, kind: HoldKind, why: String) -> Input {
    Input::Session { session: session.id, input: SessionInput::Hold { kind, why } }
}

fn released(session: &Session, kind: HoldKind) -> Input {
    Input::Session { session: session.id, input: SessionInput::Release { kind } }
}
