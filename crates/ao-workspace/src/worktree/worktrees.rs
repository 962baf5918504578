//! The workspace slot, filled with worktrees.

use std::path::Path;

use ao_core::effect::WorkspacePlan;
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, SessionId};
use ao_ports::{Made, Removal, RemoveOrder, Workspace, WorkspaceError};
use async_trait::async_trait;

use super::repository::Repository;
use super::{create, facts, remove};
use crate::queue::Queues;

/// Makes, looks at and removes worktrees.
#[derive(Debug, Default)]
pub struct Worktrees {
    queues: Queues,
}

impl Worktrees {
    pub fn new() -> Worktrees {
        Worktrees::default()
    }
}

#[async_trait]
impl Workspace for Worktrees {
    async fn create(
        &self,
        session: SessionId,
        _attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<Made, WorkspaceError> {
        let repository = Repository::open(Path::new(&plan.repository)).await?;
        let _turn = self.queues.turn(&repository.common_dir).await;
        Ok(create::create(&repository, session, plan).await?)
    }

    async fn inspect(&self, order: &RemoveOrder) -> TreeFacts {
        facts::gather(order).await
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<Removal, WorkspaceError> {
        let Some(repository) = Repository::around(Path::new(&order.path)).await? else {
            // Not even the repository is there any more.
            return Ok(Removal::Removed { rescue: None });
        };
        // The facts are gathered in the same turn, so that no other removal of ours can make them untrue.
        let _turn = self.queues.turn(&repository.common_dir).await;
        Ok(remove::remove(&repository, order).await?)
    }
}
