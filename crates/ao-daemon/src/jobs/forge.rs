//! Jobs at a forge, for reactions.

use std::time::Duration;

use ao_core::job::JobOutcome;
use ao_core::pull::{AuthorStanding, PullState};
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{
    CheckOrder, CheckRun, CheckWhat, JobError, RunState, Scm, ScmChecks, ServiceError, ThreadReply,
};

use super::done;

/// The time limit of a check of the base. The check's own limit ends it before, unless that is longer.
const CHECKED_WITHIN: Duration = Duration::from_secs(55 * 60);
/// The pause between two looks at a check whose output does not show its end.
const ASKED_EVERY: Duration = Duration::from_millis(500);
/// The bytes of a log that are read at a time, only to notice its end.
const PART: u32 = 64 << 10;

/// Runs a check again. A second time is one run more, of the same tree.
pub(super) async fn rerun(
    scm: &dyn Scm,
    pull: &PullId,
    check: &str,
    commit: &Commit,
) -> Result<JobOutcome, JobError> {
    if let Some(said) = moved(scm, pull, commit).await? {
        return Ok(done(said));
    }
    match scm.need_checks().map_err(fault)?.rerun(pull, commit, check).await {
        Ok(()) => Ok(done(format!("`{check}` runs again"))),
        // It may have moved in between.
        Err(err @ ServiceError::Refused { .. }) => match moved(scm, pull, commit).await? {
            Some(said) => Ok(done(said)),
            None => Err(fault(err)),
        },
        Err(err) => Err(fault(err)),
    }
}

/// Runs a check on the base itself. The result is kept by tree, so a second time finds the first one's.
pub(super) async fn check_base(
    scm: &dyn Scm,
    project: &ProjectId,
    commit: &Commit,
    check: &str,
) -> Result<JobOutcome, JobError> {
    let order = CheckOrder {
        project: project.clone(),
        what: CheckWhat::Revision(commit.to_string()),
        checks: vec![check.to_owned()],
        again: false,
    };
    let checks = scm.need_checks().map_err(fault)?;
    let runs = checks.check(&order).await.map_err(fault)?;
    let Some(run) = runs.into_iter().next() else {
        return Err(JobError::Never(format!("the forge has no check `{check}`")));
    };
    let run = tokio::time::timeout(CHECKED_WITHIN, over(checks, run))
        .await
        .map_err(|_| JobError::Never(format!("`{check}` did not end on {commit}")))??;
    let why = run.why.clone().unwrap_or_default();
    match run.state {
        RunState::Passed | RunState::Skipped => Ok(JobOutcome::BaseGreen {}),
        RunState::Failed => {
            let failure = run.failure.unwrap_or_default();
            Ok(JobOutcome::BaseRed { signature: failure.signature, excerpt: failure.excerpt })
        }
        RunState::Queued | RunState::Running | RunState::Cancelled | RunState::Broken => {
            Err(JobError::Later(format!("`{check}` says nothing about {commit}: {why}")))
        }
    }
}

/// Answers a thread in our own name. The forge finds by the key that it has the answer already.
pub(super) async fn reply(scm: &dyn Scm, mut reply: ThreadReply) -> Result<JobOutcome, JobError> {
    // The agent may have answered while this was on its way, and needs no second voice.
    let seen = scm.pulls(std::slice::from_ref(&reply.pull)).await.map_err(fault)?;
    let threads = seen.first().map(|(_, facts)| facts.threads.as_slice()).unwrap_or_default();
    let last = threads.iter().find(|known| known.id == reply.thread).and_then(|known| known.comments.last());
    let spoke = last.is_some_and(|last| last.author.standing == AuthorStanding::Agent);
    if spoke && !reply.resolve {
        return Ok(done("it has an answer already"));
    }
    if spoke {
        reply.text = String::new();
    }
    scm.need_reviews().map_err(fault)?.reply(&reply).await.map_err(fault)?;
    Ok(done(if reply.resolve { "answered, and resolved" } else { "answered" }))
}

/// Returns why nothing is to be done about a head any more, if so.
async fn moved(scm: &dyn Scm, pull: &PullId, head: &Commit) -> Result<Option<String>, JobError> {
    let seen = scm.pulls(std::slice::from_ref(pull)).await.map_err(fault)?;
    Ok(match seen.first() {
        None => Some(format!("there is no {pull} any more")),
        Some((_, facts)) if facts.state != PullState::Open => Some(format!("{pull} is not open any more")),
        Some((_, facts)) if facts.head != *head => Some("the head has moved".to_owned()),
        Some(_) => None,
    })
}

/// Waits until a run is over, by its output and not by asking all the time.
async fn over(checks: &dyn ScmChecks, mut run: CheckRun) -> Result<CheckRun, JobError> {
    let mut from = 0;
    while !run.state.is_over() {
        match checks.check_log(&run.id, from, PART, true).await {
            Ok(part) if !part.ended && part.next > from => {
                from = part.next;
                continue;
            }
            Err(err) if err.limited_for().is_some() => return Err(fault(err)),
            // Its output has ended or cannot be read; its result follows in a moment.
            Ok(_) | Err(_) => tokio::time::sleep(ASKED_EVERY).await,
        }
        run = checks.run(&run.id).await.map_err(fault)?;
    }
    Ok(run)
}

/// Returns what a refusal of a forge or a tracker means for a job.
pub(super) fn fault(err: ServiceError) -> JobError {
    let why = err.to_string();
    match err.limited_for() {
        Some(after) => JobError::Limited { why, after },
        None if err.may_pass() => JobError::Later(why),
        None => JobError::Never(why),
    }
}

#[cfg(test)]
mod tests;
