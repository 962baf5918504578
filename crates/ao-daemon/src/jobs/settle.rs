//! The issues that a merged pull request settles.

use std::collections::BTreeSet;

use ao_core::job::JobOutcome;
use ao_core::pull::PullState;
use ao_core::task::settled_by;
use ao_core::{PullId, TaskId};
use ao_ports::{JobError, Scm, Tracker, TrackerError};

use super::assign::not_seen;
use super::forge::fault;
use super::{DaemonJobs, done};
use crate::looks::{LookError, ProjectLooks, TaskReceiver};

impl DaemonJobs {
    /// Closes the issues whose sessions made a merged pull request, and those that it names as closed. Closed issues
    /// stay as they are, so a second run changes nothing.
    ///
    /// Only a merge into the project's own branch counts: one that is stacked on another has not landed yet, and the
    /// text of an open one can be written by anyone.
    pub(super) async fn settle(&self, pull: &PullId, tasks: &[TaskId]) -> Result<JobOutcome, JobError> {
        let scm = self.scm(&pull.project).await?;
        let Some(named) =
            named(&*scm, pull, self.deps.config.default_branch(&pull.project).as_deref()).await?
        else {
            return Ok(done("it was not merged into the project's own branch"));
        };
        let all: BTreeSet<TaskId> = tasks.iter().cloned().chain(named).collect();
        if all.is_empty() {
            return Ok(done("it settles no issue"));
        }
        let tracker = match self.deps.looks.tracker(&pull.project) {
            Ok(tracker) => tracker,
            Err(_) if self.deps.looks.keeps_issues_elsewhere(&pull.project) => {
                return Ok(done("its issues are kept elsewhere"));
            }
            Err(err) => return Err(not_seen(err)),
        };
        let mut closed = Vec::new();
        for task in all {
            if close(&self.deps.looks, &*tracker, &task).await? {
                closed.push(task.to_string());
            }
        }
        Ok(done(match closed.is_empty() {
            true => "there was nothing to close".to_owned(),
            false => format!("closed {}", closed.join(", ")),
        }))
    }
}

/// Returns the issues that a pull request closes by its text; nothing if it has not landed.
async fn named(
    scm: &dyn Scm,
    pull: &PullId,
    branch: Option<&str>,
) -> Result<Option<BTreeSet<TaskId>>, JobError> {
    let seen = scm.pulls(std::slice::from_ref(pull)).await.map_err(fault)?;
    let Some((_, facts)) = seen.first() else { return Ok(None) };
    let landed = matches!(facts.state, PullState::Merged { .. });
    if !landed || branch.is_some_and(|branch| branch != facts.base_branch) {
        return Ok(None);
    }
    let words = match scm.reviews() {
        Some(reviews) => reviews.words(pull).await.map_err(fault)?,
        None => facts.title.clone(),
    };
    Ok(Some(settled_by(&words, &pull.project)))
}

/// Closes an issue, and returns whether it was open. One that is not there needs no closing.
async fn close(looks: &ProjectLooks, tracker: &dyn Tracker, task: &TaskId) -> Result<bool, JobError> {
    let open = match looks.task(task, TaskReceiver::EngineIfKnown).await {
        Ok(seen) => !seen.facts.closed,
        Err(LookError::Service(TrackerError::NotFound { .. })) => return Ok(false),
        Err(err) => return Err(not_seen(err)),
    };
    if open {
        tracker.close(task).await.map_err(fault)?;
        // Tasks that wait for it are not to wait for the next look.
        looks.task(task, TaskReceiver::EngineIfKnown).await.map_err(not_seen)?;
    }
    Ok(open)
}
