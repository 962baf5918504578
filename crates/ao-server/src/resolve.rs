//! Resolves the name of a session, or returns a problem: no match, or several.

use ao_api::Problem;
use ao_core::session::{Session, SessionHandle, SessionMatch, session_meant};

use crate::problem::Failure;

/// The number of similar names that are suggested.
const CANDIDATES: usize = 5;
/// The similarity that a suggested name must have.
const ALIKE: f64 = 0.7;

/// Finds the session with this name.
pub(crate) fn resolve<'a>(within: &[&'a Session], meant: &str) -> Result<&'a Session, Failure> {
    let ids: Vec<String> = within.iter().map(|session| session.id.to_string()).collect();
    let choices: Vec<_> =
        within.iter().zip(&ids).map(|(&session, id)| (handle(session, id), session)).collect();
    match session_meant(&choices, meant) {
        SessionMatch::One(session) => Ok(session),
        SessionMatch::Several(several) => {
            let shown: String = meant.chars().take(100).collect();
            let title = format!("`{shown}` could be any of {} sessions", several.len());
            let names = several.iter().take(CANDIDATES).map(|session| session.spec.name.clone());
            let problem = Problem::new(409, "ambiguous-session", title).hint("type more of its name");
            Err(problem.candidates(names.collect()).into())
        }
        SessionMatch::Nothing => Err(unknown(&choices, meant).into()),
    }
}

/// Returns the names by which a session is found. The caller formats the id and keeps it alive.
pub(crate) fn handle<'a>(session: &'a Session, id: &'a str) -> SessionHandle<'a> {
    SessionHandle {
        id,
        name: &session.spec.name,
        project: session.spec.project.as_str(),
        title: &session.spec.title,
        issue: session.spec.task.as_ref().map(|task| task.key.as_str()),
        live: session.is_live(),
    }
}

fn unknown<T>(choices: &[(SessionHandle<'_>, T)], meant: &str) -> Problem {
    let likeness = |handle: &SessionHandle<'_>| {
        let alike = handle.names().into_iter().map(|name| strsim::jaro_winkler(&name, meant));
        alike.fold(0.0, f64::max)
    };
    let mut alike: Vec<(f64, &str)> = choices
        .iter()
        .map(|(handle, _)| (likeness(handle), handle.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown: String = meant.chars().take(100).collect();
    Problem::new(404, "unknown-session", format!("there is no session `{shown}`"))
        .hint("`ao list` lists the sessions")
        .candidates(alike.into_iter().take(CANDIDATES).map(|(_, name)| name.to_owned()).collect())
}
