//! Compares the reported results of jobs with their effects in the world.

use ao_core::job::{JobOrder, JobOutcome};
use ao_core::pull::PullState;
use ao_core::{JobId, TaskId};
use ao_ports::LookHint;

use super::Invariant::JobsDone;
use crate::universe::UniverseState;

/// Checks that a job which is reported as done has had its effect, unless nothing was left to do.
pub(super) fn done(inner: &mut UniverseState, id: JobId, outcome: &JobOutcome) {
    let (now, outside, shadow) = (inner.elapsed(), &inner.outside, &inner.log.shadow);
    let Some(order) = shadow.jobs.get(&id).map(|job| &job.order) else { return };
    let said = match outcome {
        JobOutcome::Done { said } => said.as_str(),
        _ => "",
    };
    let happened = match order {
        JobOrder::Rerun { pull, check, commit, .. } => {
            let due = outside
                .pulls
                .get(pull)
                .is_some_and(|facts| facts.head == *commit && facts.state == PullState::Open);
            let is = |rerun: &crate::outside::CheckRerun| {
                rerun.pull == *pull && rerun.check == *check && rerun.commit == *commit
            };
            !due || outside.reruns.iter().any(is)
        }
        JobOrder::CheckBase { project, commit, .. } => {
            let red = outside.red.contains(&(project.clone(), commit.clone()));
            match outcome {
                JobOutcome::BaseGreen {} => !red,
                JobOutcome::BaseRed { .. } => red,
                _ => false,
            }
        }
        JobOrder::Rebase { .. } if matches!(outcome, JobOutcome::Refused { .. }) => true,
        JobOrder::Rebase { pull, head, base } => {
            let facts = outside.pulls.get(pull);
            let left = facts.is_some_and(|facts| facts.head == *head && facts.state == PullState::Open);
            !left || outside.rebased.get(head) == Some(base) || said.contains("moved")
        }
        JobOrder::Settle { pull, tasks } => {
            let merged = |facts: &ao_core::pull::PullFacts| matches!(facts.state, PullState::Merged { .. });
            // An issue that was written a moment ago may not have been there for the job.
            let old = |task: &TaskId| {
                let changed = outside.changed.get(&LookHint::Task(task.clone()));
                changed.is_some_and(|at| at + 60_000 <= now)
            };
            let open = |task: &TaskId| old(task) && !outside.closed.contains(task);
            !outside.pulls.get(pull).is_some_and(merged) || !tasks.iter().any(open)
        }
        JobOrder::Reply(reply) => outside.answered.contains(&reply.key) || said.contains("already"),
        JobOrder::Spawn { pull: Some(pull), .. } => {
            let known = shadow.pulls.get(pull);
            known.is_none_or(|known| {
                let branch = &known.facts.head_branch;
                known.owner.is_some() || shadow.owner_of_branch(&pull.project, branch).is_some()
            })
        }
        JobOrder::Spawn { pull: None, .. } => {
            let number = id.to_string().replace('_', "");
            shadow.sessions.values().any(|session| session.spec.name.contains(&number))
        }
        JobOrder::Assign { task, .. } => {
            let otherwise = ["gone", "closed", "not wanted"].iter().any(|word| said.contains(word));
            shadow.worked.contains(task) || otherwise
        }
        JobOrder::Run { .. } | JobOrder::Hook { .. } => true,
    };
    if !happened {
        let what = format!("{id} is reported as {outcome:?}, and nothing happened: {order:?}");
        inner.broken(JobsDone, what);
    }
}
