//! The session of a task that is begun by itself.

use ao_api::NewSession;
use ao_core::errand::ErrandOutcome;
use ao_core::{Input, Refusal, TaskId};
use ao_engine::AskError;
use ao_ports::ErrandError;

use super::spawn::{refused, there_is_host};
use super::{Errander, done, stopping};

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
}
