//! Problems of a project or of the whole host: spent budgets, limits of providers, completed work.

use crate::ProjectId;
use crate::budget::{BudgetCap, BudgetScope};
use crate::incident::{IncidentKind, ObservedProblem, ProblemId};
use crate::project::FinishedWork;
use crate::session::{HoldKind, Session};
use crate::state::State;

/// Returns the problems of a project as a whole.
pub(crate) fn problems_of_project(state: &State, id: &ProjectId) -> Vec<ObservedProblem> {
    let Some(project) = state.projects.get(id) else { return vec![] };
    let own = state.capped().filter(|(budget, _)| budget.project() == Some(id));
    let mut problems: Vec<ObservedProblem> = own.map(|(budget, cap)| spent(budget, cap)).collect();
    problems.extend(project.suspicions.iter().map(|suspicion| ObservedProblem {
        kind: IncidentKind::RepositoryChanged,
        id: ProblemId::Changed(suspicion.what.clone()),
        revision: suspicion.revision.clone(),
        detail: suspicion.detail.clone(),
    }));
    if let Some(since) = project.complete {
        problems.push(ObservedProblem {
            kind: IncidentKind::AllComplete,
            id: ProblemId::Since(since),
            revision: since.to_string(),
            detail: summary(&project.finished),
        });
    }
    problems
}

/// Returns the problems of the host.
pub(crate) fn problems_of_host(state: &State) -> Vec<ObservedProblem> {
    let limited = state.accounts.iter().map(|(account, until)| ObservedProblem {
        kind: IncidentKind::RateLimited,
        id: ProblemId::Account(account.clone()),
        revision: until.to_string(),
        detail: format!("`{account}` until {}; {}", until.utc(), waiting(state, account)),
    });
    let of_all = state.capped().filter(|(budget, _)| budget.project().is_none());
    limited.chain(of_all.map(|(budget, cap)| spent(budget, cap))).collect()
}

/// Reports a spent budget, once each time it is spent.
fn spent(budget: &BudgetScope, cap: &BudgetCap) -> ObservedProblem {
    ObservedProblem {
        kind: IncidentKind::BudgetExceeded,
        id: ProblemId::Budget { budget: budget.clone(), since: cap.since },
        revision: cap.since.to_string(),
        detail: cap.why.clone(),
    }
}

/// Returns the sessions that wait for an account, as a text.
fn waiting(state: &State, account: &str) -> String {
    const NAMED: usize = 10;
    let mut names: Vec<&str> = state
        .live()
        .filter(|session| session.account() == account)
        .map(|session| session.spec.name.as_str())
        .collect();
    names.sort_unstable();
    match names.len() {
        0 => "no session waits for it".into(),
        n if n <= NAMED => format!("waiting: {}", names.join(", ")),
        n => format!("waiting: {} and {} more", names[..NAMED].join(", "), n - NAMED),
    }
}

fn summary(finished: &FinishedWork) -> String {
    let FinishedWork { merged, stopped, spent, partly_unknown } = finished;
    let cost = spent.cost(*partly_unknown);
    format!("{merged} merged, {stopped} stopped; turns {}, cost {cost}", spent.turns)
}

/// Returns the sessions that a provider's limit holds, in the order in which they resume: the most urgent first, then
/// the one held longest.
pub(crate) fn held_by_account<'a>(state: &'a State, account: &str) -> Vec<&'a Session> {
    let mut held: Vec<(&Session, crate::Timestamp)> = state
        .live()
        .filter(|session| session.account() == account)
        .filter_map(|session| Some((session, session.holds.get(&HoldKind::Account)?.since)))
        .collect();
    held.sort_by_key(|(session, since)| (std::cmp::Reverse(session.spec.priority), *since, session.id));
    held.into_iter().map(|(session, _)| session).collect()
}
