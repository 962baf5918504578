//! Owner of a pull request that no session has claimed: by the branch that a session is on, by its head, and by who made the
//! commits.

use super::{AuthorStanding, Pull};
use crate::session::{Session, SessionRole};
use crate::state::State;
use crate::{PullId, SessionId};

/// Returns the session that a pull request belongs to, if it has no owner yet and there is exactly one such session.
pub(crate) fn owner_of(state: &State, pull: &Pull) -> Option<SessionId> {
    let default_branch = &state.projects.get(&pull.id.project)?.config.default_branch;
    let adoptable = pull.is_open()
        && pull.owner.is_none()
        && pull.facts.author.standing != AuthorStanding::Outsider
        // A pull request of the default branch itself carries the work of everyone.
        && pull.facts.head_branch != *default_branch;
    if !adoptable {
        return None;
    }
    let may = |session: &&Session| {
        session.spec.role == SessionRole::Worker
            && session.branch() != default_branch
            && !pull.disowned_by.contains(&session.id)
    };
    let sessions: Vec<&Session> = state.live_in(&pull.id.project).filter(may).collect();
    // The most reliable sign first: weaker signs about another session do not count then.
    [by_branch, by_head, by_author]
        .iter()
        .find_map(|sign| {
            let mut found = sessions.iter().filter(|session| sign(session, pull));
            found.next().map(|session| (session.id, found.next().is_none()))
        })
        .and_then(|(session, alone)| alone.then_some(session))
}

/// Returns the unclaimed pull requests of a session's project that are its own.
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

/// Matches the branch. It is unique in the repository of the base; in a fork it may have any name.
fn by_branch(session: &Session, pull: &Pull) -> bool {
    pull.facts.head_repo.is_none() && pull.facts.head_branch == session.branch()
}

/// Matches the head. The commit that the session started from does not count, because others started there too.
fn by_head(session: &Session, pull: &Pull) -> bool {
    let began = session.workspace.tree.as_ref().map(|tree| tree.base.as_str());
    session.watch.checked_out.head.as_ref() == Some(&pull.facts.head)
        && began != Some(pull.facts.head.as_str())
}

/// Matches the author. Each session commits under an address of its own, on any branch.
fn by_author(session: &Session, pull: &Pull) -> bool {
    pull.facts.head_author.as_deref().and_then(SessionId::of_address) == Some(session.id)
}
