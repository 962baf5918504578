//! The session of a task that is begun by itself.

use std::time::Duration;

use ao_api::NewSession;
use ao_core::assign::still_wanted;
use ao_core::errand::ErrandOutcome;
use ao_core::task::TaskFacts;
use ao_core::{Input, Refusal, TaskId};
use ao_engine::{AskError, Handle};
use ao_ports::{ErrandError, TrackerError};

use super::spawn::{refused, there_is_host};
use super::{Errander, done, stopping};
use crate::Host;

impl Errander {
    /// Begins a task by the same way as somebody who wishes for it would. A task that has had a session is left alone, so a
    /// second time finds the first one, also if that has ended meanwhile.
    pub(super) async fn assign(
        &self,
        task: &TaskId,
        agent: Option<&str>,
    ) -> Result<ErrandOutcome, ErrandError> {
        let handle = self.engine().await?.handle;
        let host = there_is_host(self).await?;
        let worked = {
            let task = task.clone();
            handle.view(move |state| state.worked.contains(&task)).await.map_err(stopping)?
        };
        if worked {
            return Ok(done("it has its session"));
        }
        if let Some(otherwise) = self.look_again(&handle, &*host, task).await? {
            return Ok(otherwise);
        }
        let new = NewSession {
            project_id: Some(task.project.to_string()),
            issue: Some(task.key.clone()),
            agent: agent.map(str::to_owned),
            ..NewSession::default()
        };
        let order = match host.order(&new).await {
            Err(problem) if problem.word() == "task-closed" => return Ok(done("it was closed meanwhile")),
            order => order.map_err(refused)?,
        };
        match handle.ask(Input::Spawn(Box::new(order))).await {
            Ok(_) => Ok(done("an agent was started")),
            // Between the look and the order somebody else was faster.
            Err(AskError::Refused(Refusal::TaskTaken { .. })) => Ok(done("somebody works on it already")),
            Err(AskError::Refused(refusal)) => Err(ErrandError::Never(refusal.to_string())),
            Err(err) => Err(stopping(err)),
        }
    }

    /// Asks the tracker what the task is by now, and whether it is still to be begun. Returns what became of it, if not.
    ///
    /// Whatever is found the engine hears of too: it would pick the same task again by what it knew before.
    async fn look_again(
        &self,
        handle: &Handle,
        host: &dyn Host,
        task: &TaskId,
    ) -> Result<Option<ErrandOutcome>, ErrandError> {
        let tracker = host.tracker(&task.project).map_err(refused)?;
        let (facts, gone) = match tracker.task(task).await {
            Ok(seen) => (Some(seen.facts), false),
            Err(TrackerError::NotFound { .. }) => (self.without(handle, task).await?, true),
            Err(err @ (TrackerError::Limited { .. } | TrackerError::Failed(_))) => {
                return Err(ErrandError::Later(err.to_string()));
            }
            Err(err) => return Err(ErrandError::Never(err.to_string())),
        };
        if let Some(facts) = facts {
            handle.ask(Input::Task { task: task.clone(), facts: Box::new(facts) }).await.map_err(stopping)?;
        }
        if gone {
            return Ok(Some(done("it is gone")));
        }
        let (picked, now) = (task.clone(), self.clock.now());
        let wanted = handle.view(move |state| still_wanted(state, &picked, now)).await.map_err(stopping)?;
        Ok((!wanted).then(|| done("it is not wanted any more")))
    }

    /// A task that is gone, as if it had been closed: then it is forgotten.
    async fn without(&self, handle: &Handle, task: &TaskId) -> Result<Option<TaskFacts>, ErrandError> {
        let (of, now) = (task.clone(), self.clock.now());
        let known = handle.view(move |state| state.tasks.get(&of).cloned()).await.map_err(stopping)?;
        Ok(known.map(|known| {
            // Later than what is known, also if that was seen in this very moment: or it would be passed over.
            let observed = now.max(known.observed + Duration::from_millis(1));
            TaskFacts { closed: true, observed, ..known }
        }))
    }
}
