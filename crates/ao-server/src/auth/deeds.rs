//! Rights of agents concerning issues, pull requests and checks. All others belong to the owner only.

use ao_core::session::SessionRole;
use ao_core::{ProjectId, PullId, SessionId, TaskId};

use super::{Agent, Caller};

/// An operation and its subject.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed<'a> {
    /// Read data of a project.
    Read(&'a ProjectId),
    /// Open a pull request of its own session.
    Open(&'a ProjectId),
    /// Claim a pull request for its own session, or give it up.
    Answer(&'a ProjectId),
    /// Comment on a pull request.
    Discuss(&'a ProjectId, Option<SessionId>),
    /// Change, close or make ready a pull request, resolve its threads, run its checks.
    Tend(&'a ProjectId, Option<SessionId>),
    /// Review a pull request without approving it. A reviewer may do so with the one it was started for.
    Review(&'a PullId),
    /// Run checks on a revision that is in no pull request.
    Check(&'a ProjectId),
    /// Comment on an issue.
    CommentIssue(&'a TaskId),
    /// Create or change an issue.
    EditIssue(&'a ProjectId),
    /// Operations for people only: approve, and assign pull requests.
    Decide,
}

impl Caller {
    pub(crate) fn may(&self, deed: Deed<'_>) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => agent.may(deed),
            Caller::Anonymous => false,
        }
    }
}

impl Agent {
    fn may(&self, deed: Deed<'_>) -> bool {
        let project = match deed {
            Deed::Read(project)
            | Deed::Open(project)
            | Deed::Answer(project)
            | Deed::Discuss(project, _)
            | Deed::Tend(project, _)
            | Deed::Check(project)
            | Deed::EditIssue(project) => project,
            Deed::Review(pull) => &pull.project,
            Deed::CommentIssue(task) => &task.project,
            Deed::Decide => return false,
        };
        if *project != self.project {
            return false;
        }
        // A session that has ended may still read, but not act.
        if matches!(deed, Deed::Read(_)) || !self.live {
            return matches!(deed, Deed::Read(_));
        }
        let own = |owner: Option<SessionId>| owner == Some(self.id);
        let own_task = |task: &TaskId| self.task.as_ref() == Some(task);
        match (self.role, deed) {
            (SessionRole::Orchestrator, _) => true,
            (SessionRole::Worker, Deed::Open(_) | Deed::Answer(_)) => true,
            (SessionRole::Worker, Deed::Discuss(_, owner) | Deed::Tend(_, owner)) => own(owner),
            (SessionRole::Reviewer, Deed::Discuss(..)) => true,
            (SessionRole::Reviewer, Deed::Review(pull)) => self.reads.as_ref() == Some(pull),
            (SessionRole::Worker | SessionRole::Reviewer, Deed::CommentIssue(task)) => own_task(task),
            (SessionRole::Worker | SessionRole::Reviewer, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(role: SessionRole, live: bool) -> Caller {
        let project = ProjectId::new("my-app");
        Caller::Session(Box::new(Agent {
            id: SessionId(1),
            name: "my-app-one".into(),
            task: Some(TaskId { project: project.clone(), key: "42".into() }),
            reads: Some(PullId { project: project.clone(), number: 7 }),
            project,
            role,
            branch: "agent/my-app-one".into(),
            live,
        }))
    }

    /// The owner, a worker, a reviewer, an orchestrator and a worker that has ended. acceptance: X8
    #[test]
    fn each_may_do_what_it_is_there_for_and_nothing_else() {
        let (home, away) = (ProjectId::new("my-app"), ProjectId::new("docs"));
        let (own, other) = (Some(SessionId(1)), Some(SessionId(2)));
        let task = |project: &ProjectId, key: &str| TaskId { project: project.clone(), key: key.into() };
        let pull = |project: &ProjectId, number| PullId { project: project.clone(), number };
        let (read, unread, far) = (pull(&home, 7), pull(&home, 8), pull(&away, 7));
        let (its, another, foreign) = (task(&home, "42"), task(&home, "7"), task(&away, "42"));
        let callers = [
            Caller::Owner,
            agent(SessionRole::Worker, true),
            agent(SessionRole::Reviewer, true),
            agent(SessionRole::Orchestrator, true),
            agent(SessionRole::Worker, false),
            agent(SessionRole::Orchestrator, false),
            Caller::Anonymous,
        ];
        let table = [
            (Deed::Read(&home), "yyyyyy-"),
            (Deed::Open(&home), "yy-y---"),
            (Deed::Answer(&home), "yy-y---"),
            (Deed::Discuss(&home, own), "yyyy---"),
            (Deed::Discuss(&home, other), "y-yy---"),
            (Deed::Discuss(&home, None), "y-yy---"),
            (Deed::Tend(&home, own), "yy-y---"),
            (Deed::Tend(&home, other), "y--y---"),
            (Deed::Tend(&home, None), "y--y---"),
            (Deed::Review(&read), "y-yy---"),
            (Deed::Review(&unread), "y--y---"),
            (Deed::Check(&home), "y--y---"),
            (Deed::CommentIssue(&its), "yyyy---"),
            (Deed::CommentIssue(&another), "y--y---"),
            (Deed::EditIssue(&home), "y--y---"),
            (Deed::Decide, "y------"),
            (Deed::Read(&away), "y------"),
            (Deed::Open(&away), "y------"),
            (Deed::Answer(&away), "y------"),
            (Deed::Discuss(&away, own), "y------"),
            (Deed::Tend(&away, own), "y------"),
            (Deed::Review(&far), "y------"),
            (Deed::Check(&away), "y------"),
            (Deed::CommentIssue(&foreign), "y------"),
            (Deed::EditIssue(&away), "y------"),
        ];
        for (deed, expected) in table {
            let found: String =
                callers.iter().map(|caller| if caller.may(deed) { 'y' } else { '-' }).collect();
            assert_eq!(found, expected, "{deed:?}");
        }
    }
}
