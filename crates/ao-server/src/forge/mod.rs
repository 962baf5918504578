//! Shared code of the calls about issues, pull requests and checks: their projects, their author, and the order in
//! which the engine and the caller learn about a change.

mod meant;
mod thread;

use ao_api::Problem;
use ao_core::pull::{AuthorFacts, AuthorStanding, PullFacts};
use ao_core::session::SessionRole;
use ao_core::{ProjectId, PullId, SessionId};
use ao_daemon::looks::LookError;
use ao_ports::{PullDetail, Scm, ScmError, ServiceError};

pub(crate) use self::meant::{issue_key, issue_meant, pull_meant};
pub(crate) use self::thread::{answer_place, thread_meant};
use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::problem::{Failure, forbidden};

/// Returns the author of the caller's comments. Those of a reviewer count like those of a bot, so that the reviewed
/// agent handles them; those of other agents never cause a reaction.
pub(crate) fn author(app: &App, caller: &Caller) -> AuthorFacts {
    match caller {
        Caller::Session(agent) => {
            let reviews = agent.role == SessionRole::Reviewer;
            let standing = if reviews { AuthorStanding::Bot } else { AuthorStanding::Agent };
            AuthorFacts { login: agent.name.clone(), standing }
        }
        Caller::Owner | Caller::Anonymous => {
            AuthorFacts { login: app.owner.clone(), standing: AuthorStanding::Owner }
        }
    }
}

/// Refuses an operation that the caller has no right to.
pub(crate) fn allow(caller: &Caller, act: AgentAct<'_>) -> Result<(), Failure> {
    if caller.may(act) { Ok(()) } else { Err(forbidden().into()) }
}

// ── projects ──

/// Returns the project: the one that is named, an agent's own, or the only one.
pub(crate) fn project(app: &App, caller: &Caller, named: Option<&str>) -> Result<ProjectId, Failure> {
    let project = match (named, caller) {
        (None, Caller::Session(agent)) => agent.project.clone(),
        (Some(named), Caller::Session(agent)) if named != agent.project.as_str() => {
            return Err(forbidden().into());
        }
        (named, _) => app.daemon.config.project(named)?,
    };
    allow(caller, AgentAct::Read(&project))?;
    Ok(project)
}

/// Returns the projects of a call: the one that is named, or all that the caller may read.
pub(crate) fn projects(app: &App, caller: &Caller, named: Option<&str>) -> Result<Vec<ProjectId>, Failure> {
    if named.is_some() || matches!(caller, Caller::Session(_)) {
        return project(app, caller, named).map(|project| vec![project]);
    }
    Ok(app.daemon.config.projects().into_keys().collect())
}

/// Drops the error of a project without a forge or a tracker for it, if the project is one of several.
pub(crate) fn among<T>(asked: &[ProjectId], answer: Result<T, LookError>) -> Result<Option<T>, Failure> {
    use LookError::{NoForge, NoTracker, Service};
    match answer {
        Err(NoForge(_) | NoTracker(_) | Service(ServiceError::Unsupported { .. })) if asked.len() > 1 => {
            Ok(None)
        }
        answer => Ok(Some(answer?)),
    }
}

// ── looking ──

/// Lets the daemon look at a pull request and report it to the engine, so that the next decision is based on it.
pub(crate) async fn see(app: &App, id: &PullId) -> Result<PullFacts, Failure> {
    let seen = app.daemon.looks.see(std::slice::from_ref(id)).await?;
    let facts = seen.into_iter().find(|(pull, _)| pull == id).map(|(_, facts)| facts);
    Ok(facts.ok_or_else(|| ScmError::not_found(format!("the pull request `{id}`")))?)
}

/// Refuses a merge at a forge that lacks the guarantees for it.
pub(crate) fn can_merge(scm: &dyn Scm, checked: bool) -> Result<(), Failure> {
    match scm.merge_abilities().objection(checked) {
        Some(title) => Err(Problem::new(501, "unsupported", title).into()),
        None => Ok(()),
    }
}

/// Returns a pull request with all details of its forge; if the forge has none, with the facts at least.
pub(crate) async fn detail(scm: &dyn Scm, id: &PullId) -> Result<PullDetail, Failure> {
    if let Some(reviews) = scm.reviews() {
        return Ok(reviews.show(id).await?);
    }
    let seen = scm.pulls(std::slice::from_ref(id)).await?;
    let facts = seen.into_iter().find(|(pull, _)| pull == id).map(|(_, facts)| facts);
    let facts = facts.ok_or_else(|| ScmError::not_found(format!("the pull request `{id}`")))?;
    Ok(PullDetail {
        pull: id.clone(),
        body: String::new(),
        created_at: facts.observed_at,
        updated_at: facts.observed_at,
        stacked_on: None,
        stacked: vec![],
        commits: vec![],
        threads: Default::default(),
        reviewed_at: Default::default(),
        reworded_at: Default::default(),
        checks: vec![],
        merged_by: None,
        facts,
    })
}

/// Returns the session of a pull request.
pub(crate) async fn owner(app: &App, id: &PullId) -> Result<Option<SessionId>, Failure> {
    let id = id.clone();
    Ok(app.handle.view(move |state| state.pulls.get(&id).and_then(|pull| pull.owner)).await?)
}

pub(crate) fn invalid(title: &str) -> Failure {
    Problem::new(422, "invalid", title).into()
}

/// Refuses an empty text, by the rule that it breaks.
pub(crate) fn not_empty(text: &str, rule: &str) -> Result<(), Failure> {
    if text.trim().is_empty() { Err(invalid(rule)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_projects_may_lack_what_is_asked_for_but_a_failure_is_told() {
        let lacking = || {
            [
                LookError::NoForge("there is none".into()),
                LookError::NoTracker("there is none".into()),
                ScmError::unsupported("reviews").into(),
            ]
        };
        let (one, two) = (ProjectId::new("one"), ProjectId::new("two"));
        for err in lacking() {
            assert_eq!(among::<()>(&[one.clone(), two.clone()], Err(err)).unwrap(), None);
        }
        for err in lacking() {
            assert!(among::<()>(std::slice::from_ref(&one), Err(err)).is_err(), "it was named");
        }
        let failed = ScmError::Failed("no network".into());
        assert!(among::<()>(&[one, two], Err(failed.into())).is_err());
    }
}
