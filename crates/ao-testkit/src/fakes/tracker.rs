//! A fake tracker.

use std::sync::Arc;

use ao_core::pull::AuthorFacts;
use ao_core::task::TaskFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::{HintReceiver, TaskFilter, TaskPage, TaskSeen, Tracker, TrackerError};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside;
use crate::universe::UniverseState;

#[async_trait]
impl Tracker for FakePort {
    async fn changed(&self, _: &ProjectId, _: Timestamp, _: Option<&str>) -> Result<TaskPage, TrackerError> {
        Err(TrackerError::Unsupported { what: "a list of changes".into() })
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        let passed = self.passes(PortCall::Task).await?;
        let seen = seen(&mut self.universe.lock(), task);
        self.latency(PortCall::Task).await;
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        seen.ok_or_else(|| TrackerError::not_found(task.to_string()))
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        let passed = self.passes(PortCall::Tasks).await?;
        let listed = {
            let mut inner = self.universe.lock();
            let wanted = |(task, facts): (&TaskId, &TaskFacts)| {
                task.project == *project && filter.closed.is_none_or(|closed| facts.closed == closed)
            };
            let known = inner.outside.tasks.iter().filter(|known| wanted(*known));
            let tasks: Vec<TaskId> = known.map(|(task, _)| task.clone()).collect();
            tasks.iter().filter_map(|task| seen(&mut inner, task)).collect()
        };
        self.latency(PortCall::Tasks).await;
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        Ok(listed)
    }

    async fn comment(&self, _: &TaskId, _: &AuthorFacts, _: &str, _: &str) -> Result<(), TrackerError> {
        Ok(())
    }

    async fn close(&self, task: &TaskId) -> Result<(), TrackerError> {
        let passed = self.passes(PortCall::Close).await?;
        let closed = outside::change_task(&mut self.universe.lock(), task, |facts| facts.closed = true);
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        closed.then_some(()).ok_or_else(|| TrackerError::not_found(task.to_string()))
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.send_hints(true, hints).await;
    }
}

fn seen(inner: &mut UniverseState, task: &TaskId) -> Option<TaskSeen> {
    let facts = outside::see_task(inner, task)?;
    Some(TaskSeen {
        task: task.clone(),
        body: "It does not work.".into(),
        branch: None,
        url: None,
        author: facts.author.clone(),
        assignee: None,
        created: facts.observed,
        updated: facts.observed,
        facts,
        comments: vec![],
    })
}
