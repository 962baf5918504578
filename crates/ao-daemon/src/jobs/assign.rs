//! The session of a task that begins by itself.

use ao_core::assign::still_wanted;
use ao_core::job::JobOutcome;
use ao_core::{Input, Refusal, TaskId};
use ao_engine::AskError;
use ao_ports::{JobError, TrackerError};

use super::forge::fault;
use super::spawn::refused;
use super::{DaemonJobs, done, stopping};
use crate::error::{DaemonError, ErrorKind};
use crate::looks::{LookError, TaskReceiver};
use crate::spawn::SpawnDraft;

impl DaemonJobs {
    /// Starts the session of a task, by the same path as a request of a person. A task that has had a session is left
    /// alone, so a second run finds the first session, also if that has ended.
    pub(super) async fn assign(&self, task: &TaskId, agent: Option<&str>) -> Result<JobOutcome, JobError> {
        self.deps.config.applied().await;
        let handle = &self.deps.handle;
        let worked = {
            let task = task.clone();
            handle.view(move |state| state.worked.contains(&task)).await.map_err(stopping)?
        };
        if worked {
            return Ok(done("it has its session"));
        }
        if let Some(otherwise) = self.look_again(task).await? {
            return Ok(otherwise);
        }
        let draft = SpawnDraft {
            project: Some(task.project.to_string()),
            issue: Some(task.key.clone()),
            agent: agent.map(str::to_owned),
            ..SpawnDraft::default()
        };
        let order = match self.deps.spawn.order(draft).await {
            Err(err) if is_closed(&err) => return Ok(done("it was closed meanwhile")),
            order => order.map_err(refused)?,
        };
        match handle.ask(Input::Spawn(Box::new(order))).await {
            Ok(_) => Ok(done("an agent was started")),
            // Another request was faster between the look and the order.
            Err(AskError::Refused(Refusal::TaskTaken { .. })) => Ok(done("a session has it already")),
            Err(AskError::Refused(refusal)) => Err(JobError::Never(refusal.to_string())),
            Err(err) => Err(stopping(err)),
        }
    }

    /// Looks at the task again, and returns what became of it if it is not to begin any more.
    ///
    /// The engine hears of it too, or it would pick the same task again by what it knew before.
    async fn look_again(&self, task: &TaskId) -> Result<Option<JobOutcome>, JobError> {
        match self.deps.looks.task(task, TaskReceiver::Engine).await {
            Ok(_) => {}
            Err(LookError::Service(TrackerError::NotFound { .. })) => return Ok(Some(done("it is gone"))),
            Err(err) => return Err(not_seen(err)),
        }
        let (picked, now) = (task.clone(), self.deps.clock.now());
        let wanted = self.deps.handle.view(move |state| still_wanted(state, &picked, now));
        Ok((!wanted.await.map_err(stopping)?).then(|| done("it is not wanted any more")))
    }
}

fn is_closed(err: &DaemonError) -> bool {
    let ErrorKind::Ask(err) = &err.kind else { return false };
    matches!(**err, AskError::Refused(Refusal::TaskClosed { .. }))
}

/// Returns what a failed look means for a job.
pub(super) fn not_seen(err: LookError) -> JobError {
    match err {
        LookError::Service(err) => fault(err),
        LookError::Engine(err) => stopping(err),
        LookError::NoForge(why) | LookError::NoTracker(why) => JobError::Never(why),
    }
}
