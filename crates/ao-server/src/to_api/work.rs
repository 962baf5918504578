//! Converts progress of work to wire types. The core alone decides who has to act next.

use ao_api::{ChecksColor, NextParty, ProgressStage, PullSummary, ReviewProgress, WorkState};
use ao_core::State;
use ao_core::outside::one_line;
use ao_core::pull::Pull;
use ao_core::session::Session;
use ao_core::work::{CheckSummary, NextStep, PullWork, ReviewSummary, WorkStage, WorkTurn, WorkView};

use super::time;

/// Converts a session.
pub(crate) fn session_work(state: &State, view: &WorkView<'_>, session: &Session) -> WorkState {
    let work = view.session(session);
    let pull = work.pull.as_ref().map(|pull| summary(state, pull));
    told(work.step, work.unblocks, pull)
}

/// Converts a pull request without a session.
pub(crate) fn pull_work(state: &State, view: &WorkView<'_>, pull: &Pull) -> ao_api::PullWork {
    let work = view.pull(pull);
    let pull = summary(state, &work);
    ao_api::PullWork {
        project_id: work.id.project.to_string(),
        work: told(work.step, work.unblocks, Some(pull)),
    }
}

fn told(step: NextStep, unblocks: u32, pull: Option<PullSummary>) -> WorkState {
    WorkState {
        turn: same_name!(step.turn, WorkTurn => NextParty: You, Agent, Checks, Queue, Wait, Done),
        stage: stage(step.stage),
        says: step.says,
        since: Some(time(step.since)),
        command: step.command,
        then: step.then,
        unblocks,
        pull,
    }
}

fn stage(stage: WorkStage) -> ProgressStage {
    same_name!(
        stage, WorkStage => ProgressStage: Queued, Starting, Working, Quiet, Idle, Question, Stuck, Budget, Limit, Paused,
        Stopping, Stopped, Draft, Conflict, ChecksFailed, ChecksPending, ChecksBroken, ChangesRequested, Review, Decision,
        Merge, MergeQueue, Freeze, Merged, Closed
    )
}

fn summary(state: &State, work: &PullWork) -> PullSummary {
    let title = state.pulls.get(&work.id).map(|pull| one_line(&pull.facts.title));
    PullSummary {
        id: work.id.to_string(),
        number: work.id.number,
        title: title.unwrap_or_default(),
        checks: same_name!(work.checks, CheckSummary => ChecksColor: Green, Red, Pending, Blocked, None),
        review: same_name!(
            work.review, ReviewSummary => ReviewProgress:
            Waiting, WaitingAgain, ChangesRequested, Approved, Commented, None
        ),
        queued: work.queued,
    }
}
