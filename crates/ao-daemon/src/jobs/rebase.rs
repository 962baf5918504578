//! Rebases the branch of a pull request, in the workspace of the session that has it.

use ao_core::evidence::AgentActivity;
use ao_core::job::JobOutcome;
use ao_core::session::{Phase, Session};
use ao_core::{Commit, PullId, State};
use ao_ports::{JobError, RebaseOrder, RebaseOutcome, TreeRef, WorkspaceError};

use super::{DaemonJobs, done, stopping};
use crate::cleanup::tree_of;

impl DaemonJobs {
    /// Rebases a pull request's branch. Pinned to both commits: a second time finds that the head is another one, or that
    /// there is nothing left to do.
    pub(super) async fn rebase(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
    ) -> Result<JobOutcome, JobError> {
        let (id, at) = (pull.clone(), head.clone());
        let found = self.deps.handle.view(move |state| find(state, &id, &at)).await.map_err(stopping)?;
        let (kind, tree, branch) = match found {
            RebaseTarget::Tree { kind, tree, branch } => (kind, *tree, branch),
            RebaseTarget::Moved => return Ok(done("the head has moved")),
            RebaseTarget::Busy(why) => return Err(JobError::InTheWay(why)),
            RebaseTarget::Nowhere(why) => return Err(JobError::Never(why)),
        };
        let order = RebaseOrder { tree, branch, head: head.clone(), base: base.clone() };
        let Some(workspace) = self.deps.workspaces.get(&kind) else {
            return Err(JobError::Never(format!("there is no workspace `{kind}`")));
        };
        match workspace.rebase(&order).await {
            Ok(RebaseOutcome::Rebased { head, pushed }) => {
                let pushed = if pushed { ", and pushed" } else { "" };
                Ok(done(format!("it is at {head} now{pushed}")))
            }
            Ok(RebaseOutcome::UpToDate) => Ok(done("it is on its base already")),
            Ok(RebaseOutcome::Moved) => Ok(done("the head has moved")),
            Ok(RebaseOutcome::Busy { why }) => Err(JobError::Later(why)),
            Ok(RebaseOutcome::Conflict { files }) => {
                Ok(JobOutcome::Refused { why: format!("it conflicts in {}", files.join(", ")) })
            }
            Err(err) => Err(fault(err)),
        }
    }
}

/// Returns what a failed rebase means for a job.
fn fault(err: WorkspaceError) -> JobError {
    let why = err.to_string();
    if matches!(err, WorkspaceError::Unsupported(_)) { JobError::Never(why) } else { JobError::Later(why) }
}

enum RebaseTarget {
    Tree { kind: String, tree: Box<TreeRef>, branch: String },
    Moved,
    Busy(String),
    Nowhere(String),
}

/// The tree in which the branch can be rebased now, if there is one. Never under the hands of an agent.
fn find(state: &State, id: &PullId, head: &Commit) -> RebaseTarget {
    let Some(pull) = state.pulls.get(id).filter(|pull| pull.is_open()) else { return RebaseTarget::Moved };
    if pull.facts.head != *head {
        return RebaseTarget::Moved;
    }
    let branch = &pull.facts.head_branch;
    let by_branch = || {
        let of =
            |session: &&Session| session.branch() == branch.as_str() && session.workspace.path().is_some();
        state.live_in(&id.project).find(of)
    };
    let owner = pull.owner.and_then(|owner| state.sessions.get(&owner)).map(|owner| &**owner);
    let session = owner.filter(|owner| owner.branch() == branch.as_str()).or_else(by_branch);
    let Some(session) = session.filter(|session| session.workspace.path().is_some()) else {
        return RebaseTarget::Nowhere(format!("no workspace of ours has the branch `{branch}`"));
    };
    let at_work = match session.phase {
        Phase::Running { .. } => {
            session.judgement.activity != AgentActivity::Idle || session.outbox.current.is_some()
        }
        Phase::Exited { .. } | Phase::Resting { .. } | Phase::Ended { .. } => false,
        _ => true,
    };
    if at_work {
        return RebaseTarget::Busy(format!("`{}` is at work", session.spec.name));
    }
    match state.projects.get(&id.project) {
        Some(project) => RebaseTarget::Tree {
            kind: session.spec.workspace.clone(),
            tree: Box::new(tree_of(project, session)),
            branch: branch.clone(),
        },
        None => RebaseTarget::Nowhere(format!("there is no project `{}` any more", id.project)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebase_that_no_workspace_of_the_kind_can_do_is_not_retried() {
        assert!(matches!(fault(WorkspaceError::Unsupported("no".into())), JobError::Never(_)));
        assert!(matches!(fault(WorkspaceError::Failed("busy".into())), JobError::Later(_)));
    }
}
