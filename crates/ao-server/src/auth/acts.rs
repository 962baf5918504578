//! Rights of agents concerning issues, pull requests and checks. All others belong to the owner only.

use ao_core::session::SessionRole;
use ao_core::{ProjectId, PullId, SessionId, TaskId};

use super::{Agent, Caller};

/// An operation and its subject.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AgentAct<'a> {
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
    pub(crate) fn may(&self, act: AgentAct<'_>) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => agent.may(act),
            Caller::Anonymous => false,
        }
    }
}

impl Agent {
    fn may(&self, act: AgentAct<'_>) -> bool {
        let project = match act {
            AgentAct::Read(project)
            | AgentAct::Open(project)
            | AgentAct::Answer(project)
            | AgentAct::Discuss(project, _)
            | AgentAct::Tend(project, _)
            | AgentAct::Check(project)
            | AgentAct::EditIssue(project) => project,
            AgentAct::Review(pull) => &pull.project,
            AgentAct::CommentIssue(task) => &task.project,
            AgentAct::Decide => return false,
        };
        if *project != self.project {
            return false;
        }
        // A session that has ended may still read, but not act.
        if matches!(act, AgentAct::Read(_)) || !self.live {
            return matches!(act, AgentAct::Read(_));
        }
        let own = |owner: Option<SessionId>| owner == Some(self.id);
        let own_task = |task: &TaskId| self.task.as_ref() == Some(task);
        match (self.role, act) {
            (SessionRole::Orchestrator, _) => true,
            (SessionRole::Worker, AgentAct::Open(_) | AgentAct::Answer(_)) => true,
            (SessionRole::Worker, AgentAct::Discuss(_, owner) | AgentAct::Tend(_, owner)) => own(owner),
            (SessionRole::Reviewer, AgentAct::Discuss(..)) => true,
            (SessionRole::Reviewer, AgentAct::Review(pull)) => self.reads.as_ref() == Some(pull),
            (SessionRole::Worker | SessionRole::Reviewer, AgentAct::CommentIssue(task)) => own_task(task),
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
            (AgentAct::Read(&home), "yyyyyy-"),
            (AgentAct::Open(&home), "yy-y---"),
            (AgentAct::Answer(&home), "yy-y---"),
            (AgentAct::Discuss(&home, own), "yyyy---"),
            (AgentAct::Discuss(&home, other), "y-yy---"),
            (AgentAct::Discuss(&home, None), "y-yy---"),
            (AgentAct::Tend(&home, own), "yy-y---"),
            (AgentAct::Tend(&home, other), "y--y---"),
            (AgentAct::Tend(&home, None), "y--y---"),
            (AgentAct::Review(&read), "y-yy---"),
            (AgentAct::Review(&unread), "y--y---"),
            (AgentAct::Check(&home), "y--y---"),
            (AgentAct::CommentIssue(&its), "yyyy---"),
            (AgentAct::CommentIssue(&another), "y--y---"),
            (AgentAct::EditIssue(&home), "y--y---"),
            (AgentAct::Decide, "y------"),
            (AgentAct::Read(&away), "y------"),
            (AgentAct::Open(&away), "y------"),
            (AgentAct::Answer(&away), "y------"),
            (AgentAct::Discuss(&away, own), "y------"),
            (AgentAct::Tend(&away, own), "y------"),
            (AgentAct::Review(&far), "y------"),
            (AgentAct::Check(&away), "y------"),
            (AgentAct::CommentIssue(&foreign), "y------"),
            (AgentAct::EditIssue(&away), "y------"),
        ];
        for (act, expected) in table {
            let found: String =
                callers.iter().map(|caller| if caller.may(act) { 'y' } else { '-' }).collect();
            assert_eq!(found, expected, "{act:?}");
        }
    }
}
