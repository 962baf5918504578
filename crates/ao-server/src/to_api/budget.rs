//! Converts budgets to wire types: usage, limits and consequences. Unknown values stay absent.

use ao_api::{BudgetKind, Budgets, LimitedAccount, Limits, Spend};
use ao_core::budget::{self, BudgetScope, BudgetUsage};
use ao_core::session::{HoldKind, Session};
use ao_core::{State, Timestamp};

use super::session::spend;
use super::time;

/// Converts every shared budget with a limit or usage, and every account that is refused.
pub(crate) fn budgets(state: &State, now: Timestamp) -> Budgets {
    let of_project =
        |id: &ao_core::ProjectId| [BudgetScope::ProjectDay(id.clone()), BudgetScope::Project(id.clone())];
    let wide = std::iter::once(BudgetScope::Day).chain(state.projects.keys().flat_map(of_project));
    // Tasks are many, so only those with a limit.
    let mut tasks: Vec<&BudgetScope> = state
        .budget_usage
        .keys()
        .filter(|budget| matches!(budget, BudgetScope::Task(_)) && !state.limits_of(budget).is_empty())
        .collect();
    tasks.sort();
    let accounts = state.accounts.iter().map(|(account, until)| {
        let held = state.live().filter(|session| session.account() == account);
        let mut sessions: Vec<String> = held.map(|session| session.spec.name.clone()).collect();
        sessions.sort();
        LimitedAccount { account: account.clone(), until: time(*until), sessions }
    });
    Budgets {
        budgets: wide.chain(tasks.into_iter().cloned()).map(|budget| shared(state, &budget, now)).collect(),
        accounts: accounts.collect(),
    }
}

/// Converts the budgets that limit a session: its own and shared ones, as far as there is a limit.
pub(super) fn of_session(state: &State, session: &Session, now: Timestamp) -> Vec<ao_api::Budget> {
    let own = ao_api::Budget {
        scope: BudgetKind::Session,
        of: Some(session.spec.name.clone()),
        spend: spend(session, now),
        partly_unknown: false,
        limits: limits(session.usage.limits),
        marked: session.usage.marked,
        capped: session.holds.get(&HoldKind::Budget).map(|hold| hold.why.clone()),
        until: None,
    };
    let wider = state.budgets_of(session).into_iter().map(|budget| shared(state, &budget, now));
    std::iter::once(own).chain(wider).filter(|budget| budget.limits != Limits::default()).collect()
}

/// Returns the kind of a shared budget.
pub(crate) fn scope(budget: &BudgetScope) -> BudgetKind {
    same_name!(budget, BudgetScope => BudgetKind: Task, Project, ProjectDay, Day)
}

fn shared(state: &State, budget: &BudgetScope, now: Timestamp) -> ao_api::Budget {
    let nothing = BudgetUsage::default();
    let usage = state.budget_usage.get(budget).unwrap_or(&nothing);
    let spent = usage.spent_at(now);
    let today = usage.spent == spent;
    ao_api::Budget {
        scope: scope(budget),
        of: match budget {
            BudgetScope::Task(task) => Some(task.to_string()),
            other => other.project().map(ToString::to_string),
        },
        spend: Spend {
            usd: spent.micros.map(usd),
            tokens: spent.tokens,
            turns: spent.turns,
            seconds: spent.seconds,
        },
        partly_unknown: usage.partly_unknown && today,
        limits: limits(usage.limits_at(now, state.limits_of(budget))),
        marked: usage.marked && today,
        capped: usage.cap.as_ref().map(|cap| cap.why.clone()),
        until: usage.cap.as_ref().and_then(|cap| cap.until).map(time),
    }
}

fn limits(limits: budget::SpendLimits) -> Limits {
    let budget::SpendLimits { micros, tokens, turns, seconds } = limits;
    Limits { usd: micros.map(usd), tokens, turns, seconds }
}

fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}
