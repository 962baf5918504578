//! Owner of a pull request that no session has claimed: by the branch that a session is on, by its head, and by who made the
//! commits.

use super::{Pull, Standing};
use crate::session::{Role, Session};
use crate::state::State;
use crate::{PullId, SessionId};

/// Returns the session that a pull request belongs to by what it is made of, if nobody answers for it yet and there is
/// exactly one such session.
pub(crate) fn owner_of(state: &State, pull: &Pull) -> Option<SessionId> {
    let default_branch = &state.projects.get(&pull.id.project)?.config.default_branch;
    let adoptable = pull.is_open()
        && pull.owner.is_none()
        && pull.facts.author.standing != Standing::Outsider
        // A pull request of the default branch itself brings everybody's work somewhere else.
        && pull.facts.head_branch != *default_branch;
    if !adoptable {
        return None;
    }
    let may = |session: &&Session| {
        session.spec.role == Role::Worker
            && session.branch() != default_branch
            && !pull.disowned_by.contains(&session.id)
    };
    let sessions: Vec<&Session> = state.live_in(&pull.id.project).filter(may).collect();
    // The surest first: what a weaker sign says of another session does not count then.
    [by_branch, by_head, by_author]
        .iter()
        .find_map(|sign| {
            let mut found = sessions.iter().filter(|session| sign(session, pull));
            found.next().map(|session| (session.id, found.next().is_none()))
        })
        .and_then(|(session, alone)| alone.then_some(session))
}

/// The pull requests of a session's project that nobody answers for and that are its own.
pub(crate) fn unclaimed_of(state: &State, session: &Session) -> Vec<PullId> {
    let first = PullId { project: session.spec.project.clone(), number: 0 };
    let of_project = state.pulls.range(first..).take_while(|(id, _)| id.project == session.spec.project);
    let open = of_project.filter(|(_, pull)| pull.owner.is_none() && pull.is_open());
    open.filter(|(_, pull)| owner_of(state, pull) == Some(session.id)).map(|(id, _)| id.clone()).collect()
}

/// Returns true if a pull request is a session's own work, by any of these signs.
pub(super) fn is_own(session: &Session, pull: &Pull) -> bool {
    [by_branch, by_head, by_author].iter().any(|sign| sign(session, pull))
}

/// A branch beside its base has its name for itself; one in a fork may be called like anything.
fn by_branch(session: &Session, pull: &Pull) -> bool {
    pull.facts.head_repo.is_none() && pull.facts.head_branch == session.branch()
}

/// A commit that the session began with is not its own, and everybody who begins there stands on it.
fn by_head(session: &Session, pull: &Pull) -> bool {
    let began = session.workspace.tree.as_ref().map(|tree| tree.base.as_str());
    session.watch.checked_out.head.as_ref() == Some(&pull.facts.head)
        && began != Some(pull.facts.head.as_str())
}

/// Each session commits under an address of its own, and takes it along wherever it pushes to.
fn by_author(session: &Session, pull: &Pull) -> bool {
    pull.facts.head_author.as_deref().and_then(SessionId::of_address) == Some(session.id)
}
