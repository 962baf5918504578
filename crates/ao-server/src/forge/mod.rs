//! What the calls about issues, pull requests and checks have in common: whose projects they are about, in whose name things
//! are said, and that the engine hears of a change before whoever made it does.

mod meant;
mod thread;

use ao_api::Problem;
use ao_core::pull::{Author, PullFacts, Standing};
use ao_core::session::Role;
use ao_core::{ProjectId, PullId, SessionId};
use ao_ports::{PullDetail, Scm, TrackerError};

pub(crate) use self::meant::{issue_key, issue_meant, pull_meant};
pub(crate) use self::thread::{answer_place, thread_meant};
use crate::app::App;
use crate::auth::{Caller, Deed};
use crate::problem::{Failure, forbidden};

/// In whose name the caller speaks. What a reviewer says is to be heeded by the one who is reviewed, as a bot's word is;
/// what other agents say is never news to anybody.
pub(crate) fn author(app: &App, caller: &Caller) -> Author {
    match caller {
        Caller::Session(agent) => {
            let reviews = agent.role == Role::Reviewer;
            let standing = if reviews { Standing::Bot } else { Standing::Agent };
            Author { login: agent.name.clone(), standing }
        }
        Caller::Owner | Caller::Nobody => Author { login: app.owner.clone(), standing: Standing::Owner },
    }
}

/// Refuses what the caller may not do.
pub(crate) fn allow(caller: &Caller, deed: Deed<'_>) -> Result<(), Failure> {
    if caller.may(deed) { Ok(()) } else { Err(forbidden().into()) }
}

// ── projects ──

/// The one project that is meant: the one that is named, an agent's own, or the only one.
pub(crate) fn project(app: &App, caller: &Caller, named: Option<&str>) -> Result<ProjectId, Failure> {
    let project = match (named, caller) {
        (None, Caller::Session(agent)) => agent.project.clone(),
        (Some(named), Caller::Session(agent)) if named != agent.project.as_str() => {
            return Err(forbidden().into());
        }
        (named, _) => app.daemon.config.project(named)?,
    };
    allow(caller, Deed::Read(&project))?;
    Ok(project)
}

/// The projects that a call is about: the one that is named, or all that the caller may look into.
pub(crate) fn projects(app: &App, caller: &Caller, named: Option<&str>) -> Result<Vec<ProjectId>, Failure> {
    if named.is_some() || matches!(caller, Caller::Session(_)) {
        return project(app, caller, named).map(|project| vec![project]);
    }
    Ok(app.daemon.config.projects().into_keys().collect())
}

/// Leaves out what a project cannot do, if it is one of several that were asked.
pub(crate) fn among<T>(asked: &[ProjectId], answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Failure(problem))
            if asked.len() > 1 && ["no-scm", "no-tracker", "unsupported"].contains(&problem.word()) =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

// ── looking ──

/// Has the daemon look at a pull request and tell the engine what is seen, so that whatever comes next goes by it.
pub(crate) async fn see(app: &App, id: &PullId) -> Result<PullFacts, Failure> {
    let seen = app.daemon.looks.see(std::slice::from_ref(id)).await?;
    let facts = seen.into_iter().find(|(pull, _)| pull == id).map(|(_, facts)| facts);
    Ok(facts.ok_or_else(|| TrackerError::not_found(format!("the pull request `{id}`")))?)
}

/// A pull request with all that its forge can tell. One that has nothing for readers tells at least the facts.
pub(crate) async fn detail(scm: &dyn Scm, id: &PullId) -> Result<PullDetail, Failure> {
    match scm.show(id).await {
        Err(TrackerError::Unsupported { .. }) => {}
        shown => return Ok(shown?),
    }
    let seen = scm.pulls(std::slice::from_ref(id)).await?;
    let facts = seen.into_iter().find(|(pull, _)| pull == id).map(|(_, facts)| facts);
    let facts = facts.ok_or_else(|| TrackerError::not_found(format!("the pull request `{id}`")))?;
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

/// The session that answers for a pull request.
pub(crate) async fn owner(app: &App, id: &PullId) -> Result<Option<SessionId>, Failure> {
    let id = id.clone();
    Ok(app.handle.view(move |state| state.pulls.get(&id).and_then(|pull| pull.owner)).await?)
}

// ── words ──

/// A word that stands for something, or what would have been one.
pub(crate) fn one_of<T: Copy>(what: &str, given: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    if let Some((_, it)) = known.iter().find(|(word, _)| *word == given) {
        return Ok(*it);
    }
    let shown: String = given.chars().take(100).collect();
    let mut problem = Problem::new(422, "invalid", format!("`{shown}` is no {what}"));
    problem.candidates = known.iter().map(|(word, _)| (*word).to_owned()).collect();
    Err(problem.into())
}

pub(crate) fn invalid(title: &str) -> Failure {
    Problem::new(422, "invalid", title).into()
}
