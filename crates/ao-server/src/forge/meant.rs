//! Resolves names of issues and pull requests: `7`, `!7`, `my-app!7`, `#42`, a branch, or a session that has one pull
//! request.
//!
//! A number is searched in the caller's projects. An ambiguous name is refused with all candidates, never guessed.

use std::collections::BTreeSet;

use ao_api::Problem;
use ao_core::pull::{Pull, PullState};
use ao_core::session::{Session, SessionMatch, session_meant};
use ao_core::{ProjectId, PullId, SessionId, TaskId};
use ao_ports::{PullFilter, PullFilterState, TrackerError};

use super::{among, projects};
use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::problem::{Failure, forbidden};
use crate::resolve::handle;

/// The number of candidates named for an ambiguous name.
const CANDIDATES: usize = 10;
/// The number of pull requests of one branch that are considered.
const OF_A_BRANCH: usize = 20;

/// Finds a pull request. It is known to exist only if it had to be searched.
pub(crate) async fn pull_meant(
    app: &App,
    caller: &Caller,
    meant: &str,
    named: Option<&str>,
) -> Result<PullId, Failure> {
    let within = projects(app, caller, named)?;
    match number_meant(meant, &within) {
        Number::Of(id) => Ok(id),
        Number::Elsewhere(project) => {
            // A branch may have such a name, too.
            let known = named_so(app, &within, meant).await?;
            if known.is_empty() {
                return Err(elsewhere(app, caller, &project, meant, named));
            }
            one_pull(known, meant)
        }
        Number::Bare(number) => one_pull(numbered(app, &within, number).await?, meant),
        Number::None => {
            let mut known = named_so(app, &within, meant).await?;
            if known.is_empty() {
                known = with_head(app, &within, meant).await?;
            }
            if known.is_empty() {
                known = of_session(app, &within, meant).await?;
            }
            one_pull(known, meant)
        }
    }
}

/// Returns the reason a pull request of another project cannot be used.
fn elsewhere(app: &App, caller: &Caller, project: &ProjectId, meant: &str, named: Option<&str>) -> Failure {
    // An agent must not learn about other projects.
    if !caller.may(AgentAct::Read(project)) {
        return forbidden().into();
    }
    match (app.daemon.config.project(Some(project.as_str())), named) {
        (Ok(_), Some(named)) => {
            let title = format!("`{}` is not of the project `{}`", short(meant), short(named));
            Problem::new(422, "invalid", title).into()
        }
        (Ok(_), None) => unknown_pull(meant),
        (Err(err), _) => err.into(),
    }
}

/// The interpretation of a text as a number.
#[derive(Debug, PartialEq, Eq)]
enum Number {
    /// A pull request of a known project.
    Of(PullId),
    /// A pull request of a project that was not searched.
    Elsewhere(ProjectId),
    /// A number without a project.
    Bare(u64),
    /// Not a number.
    None,
}

fn number_meant(meant: &str, within: &[ProjectId]) -> Number {
    let (project, number) = match meant.rsplit_once('!') {
        Some((project, number)) => (project, number),
        None => ("", meant),
    };
    // `parse` would accept a sign as part of the number.
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let Some(number) = number.parse::<u64>().ok().filter(|_| digits) else { return Number::None };
    match (project, within) {
        ("", [only]) => Number::Of(PullId { project: only.clone(), number }),
        ("", _) => Number::Bare(number),
        (project, within) => match within.iter().find(|known| known.as_str() == project) {
            Some(project) => Number::Of(PullId { project: project.clone(), number }),
            None => Number::Elsewhere(ProjectId::new(project)),
        },
    }
}

/// Finds pull requests by number. Those in the engine are open or owned, and preferred to those closed long ago.
async fn numbered(app: &App, within: &[ProjectId], number: u64) -> Result<Vec<PullId>, Failure> {
    let ids: Vec<PullId> = within.iter().map(|project| PullId { project: project.clone(), number }).collect();
    let asked = ids.clone();
    let known = app
        .handle
        .view(move |state| asked.into_iter().filter(|id| state.pulls.contains_key(id)).collect::<Vec<_>>());
    let known = known.await?;
    if !known.is_empty() {
        return Ok(known);
    }
    let mut found = Vec::new();
    for id in ids {
        let seen = async { Ok(app.daemon.looks.scm(&id.project)?.pulls(std::slice::from_ref(&id)).await?) };
        let seen = among(within, seen.await)?.unwrap_or_default();
        found.extend(seen.into_iter().map(|(pull, _)| pull).filter(|pull| *pull == id));
    }
    Ok(found)
}

/// Finds pull requests in the engine by branch or session. Open ones come before closed ones.
async fn named_so(app: &App, within: &[ProjectId], name: &str) -> Result<Vec<PullId>, Failure> {
    let (within, name) = (within.to_vec(), name.to_owned());
    let found = app.handle.view(move |state| {
        let of_session = |id: &ao_core::SessionId| {
            id.to_string() == name || state.sessions.get(id).is_some_and(|session| session.spec.name == name)
        };
        let meant = state
            .pulls
            .values()
            .filter(|pull| within.contains(&pull.id.project))
            .filter(|pull| pull.facts.head_branch == name || pull.owner.as_ref().is_some_and(of_session));
        open_first(meant.map(|pull| &**pull))
    });
    Ok(found.await?)
}

/// Finds the pull requests of a session, by any of its names; of all matching sessions, if there are several.
async fn of_session(app: &App, within: &[ProjectId], meant: &str) -> Result<Vec<PullId>, Failure> {
    let (within, meant) = (within.to_vec(), meant.to_owned());
    let found = app.handle.view(move |state| {
        let pulls = || state.pulls.values().filter(|pull| within.contains(&pull.id.project));
        let owners: BTreeSet<SessionId> = pulls().filter_map(|pull| pull.owner).collect();
        let owners: Vec<(String, &Session)> = owners
            .iter()
            .filter_map(|id| state.sessions.get(id))
            .map(|session| (session.id.to_string(), &**session))
            .collect();
        let choices: Vec<_> = owners.iter().map(|(id, session)| (handle(session, id), session.id)).collect();
        let meant = match session_meant(&choices, &meant) {
            SessionMatch::One(one) => vec![one],
            SessionMatch::Several(several) => several,
            SessionMatch::Nothing => vec![],
        };
        let theirs = pulls().filter(|pull| pull.owner.is_some_and(|owner| meant.contains(&owner)));
        open_first(theirs.map(|pull| &**pull))
    });
    Ok(found.await?)
}

/// Returns the open ones, or the closed ones if none is open.
fn open_first<'a>(pulls: impl Iterator<Item = &'a Pull>) -> Vec<PullId> {
    let (open, over): (Vec<_>, Vec<_>) =
        pulls.map(|pull| (pull.id.clone(), pull.is_open())).partition(|(_, open)| *open);
    let found = if open.is_empty() { over } else { open };
    found.into_iter().map(|(id, _)| id).collect()
}

/// Finds pull requests of a branch that only the forge knows.
async fn with_head(app: &App, within: &[ProjectId], branch: &str) -> Result<Vec<PullId>, Failure> {
    let filter = PullFilter {
        state: PullFilterState::All,
        head_branch: Some(branch.to_owned()),
        base_branch: None,
        author: None,
        labels: Default::default(),
        limit: OF_A_BRANCH,
    };
    let (mut open, mut over) = (Vec::new(), Vec::new());
    for project in within {
        let rows = async {
            match app.daemon.looks.scm(project)?.reviews() {
                Some(reviews) => Ok(reviews.list(project, &filter).await?),
                // A forge that cannot search by branch has no match.
                None => Ok(vec![]),
            }
        };
        for row in among(within, rows.await)?.unwrap_or_default() {
            let list = if row.state == PullState::Open { &mut open } else { &mut over };
            list.push(row.pull);
        }
    }
    Ok(if open.is_empty() { over } else { open })
}

fn one_pull(found: Vec<PullId>, meant: &str) -> Result<PullId, Failure> {
    match <[PullId; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(unknown_pull(meant)),
        Err(several) => Err(ambiguous("pull requests", "pull", meant, &several)),
    }
}

fn unknown_pull(meant: &str) -> Failure {
    Problem::new(404, "unknown-pull", format!("there is no pull request `{}`", short(meant)))
        .hint("`ao pr list` shows the open ones")
        .into()
}

// ── issues ──

/// Finds an issue. It is known to exist only if it had to be searched.
pub(crate) async fn issue_meant(
    app: &App,
    caller: &Caller,
    meant: &str,
    named: Option<&str>,
) -> Result<TaskId, Failure> {
    let within = projects(app, caller, named)?;
    let (project, key) = meant.split_once('#').unwrap_or(("", meant));
    if key.is_empty() {
        return Err(unknown_issue(meant));
    }
    if !project.is_empty() {
        let project = super::project(app, caller, Some(project))?;
        if !within.contains(&project) {
            let title = format!("`{}` is not of the project `{}`", short(meant), named.unwrap_or_default());
            return Err(Problem::new(422, "invalid", title).into());
        }
        return Ok(TaskId { project, key: key.to_owned() });
    }
    if let [only] = within.as_slice() {
        return Ok(TaskId { project: only.clone(), key: key.to_owned() });
    }
    let mut found = Vec::new();
    for project in &within {
        let id = TaskId { project: project.clone(), key: key.to_owned() };
        let seen = async {
            match app.daemon.looks.tracker(project)?.task(&id).await {
                Err(TrackerError::NotFound { .. }) => Ok(None),
                seen => Ok(Some(seen?.task)),
            }
        };
        found.extend(among(&within, seen.await)?.flatten());
    }
    match <[TaskId; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(unknown_issue(meant)),
        Err(several) => Err(ambiguous("issues", "issue", meant, &several)),
    }
}

/// Parses an issue that is named beside another one; by default it is of the same project.
pub(crate) fn issue_key(project: &ProjectId, meant: &str) -> Result<TaskId, Failure> {
    let (other, key) = meant.split_once('#').unwrap_or(("", meant));
    if key.trim().is_empty() {
        return Err(unknown_issue(meant));
    }
    let project = if other.is_empty() { project.clone() } else { ProjectId::new(other) };
    Ok(TaskId { project, key: key.to_owned() })
}

fn unknown_issue(meant: &str) -> Failure {
    Problem::new(404, "unknown-issue", format!("there is no issue `{}`", short(meant)))
        .hint("`ao issue list` shows the open ones")
        .into()
}

// ── words ──

fn ambiguous(what: &str, word: &str, meant: &str, several: &[impl ToString]) -> Failure {
    let title = format!("`{}` could be any of {} {what}", short(meant), several.len());
    let mut problem = Problem::new(409, &format!("ambiguous-{word}"), title)
        .hint("name it with its project, or name the project");
    problem.candidates = several.iter().take(CANDIDATES).map(ToString::to_string).collect();
    problem.into()
}

fn short(meant: &str) -> String {
    meant.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(meant: &str, projects: &[&str]) -> String {
        let within: Vec<ProjectId> = projects.iter().map(|project| ProjectId::new(project)).collect();
        match number_meant(meant, &within) {
            Number::Of(id) => id.to_string(),
            Number::Elsewhere(project) => format!("elsewhere: {project}"),
            Number::Bare(number) => format!("bare: {number}"),
            Number::None => "a name".into(),
        }
    }

    #[test]
    fn a_number_is_read_with_and_without_its_mark_and_its_project() {
        let (one, two): (&[&str], &[&str]) = (&["my-app"], &["my-app", "docs"]);
        for (meant, with_one, with_two) in [
            ("7", "my-app!7", "bare: 7"),
            ("!7", "my-app!7", "bare: 7"),
            ("my-app!7", "my-app!7", "my-app!7"),
            ("docs!7", "elsewhere: docs", "docs!7"),
            ("a!b!7", "elsewhere: a!b", "elsewhere: a!b"),
            ("+7", "a name", "a name"),
            ("-7", "a name", "a name"),
            ("7x", "a name", "a name"),
            ("!", "a name", "a name"),
            ("", "a name", "a name"),
            ("99999999999999999999", "a name", "a name"),
            ("feature/7", "a name", "a name"),
            ("wow!great", "a name", "a name"),
        ] {
            assert_eq!(read(meant, one), with_one, "{meant}");
            assert_eq!(read(meant, two), with_two, "{meant}");
        }
    }

    #[test]
    fn an_issue_beside_another_is_of_the_same_project_unless_it_says_otherwise() {
        let home = ProjectId::new("my-app");
        for (meant, expected) in [("9", "my-app#9"), ("#9", "my-app#9"), ("docs#9", "docs#9")] {
            assert_eq!(issue_key(&home, meant).unwrap().to_string(), expected);
        }
        assert!(issue_key(&home, "#").is_err());
    }
}
