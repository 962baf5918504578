//! The workspace slot, filled with worktrees.

use std::path::Path;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{Cleaned, Made, Removal, RemoveOrder, Surveyed, Whereabouts, Workspace, WorkspaceError};
use async_trait::async_trait;

use super::error::WorktreeError;
use super::repository::Repository;
use super::{create, facts, place, remove};
use crate::provision;
use crate::queue::Queues;

/// Makes, looks at and removes worktrees.
#[derive(Debug, Default)]
pub struct Worktrees {
    queues: Queues,
    provision: Option<provision::Options>,
}

impl Worktrees {
    pub fn new() -> Worktrees {
        Worktrees::default()
    }

    /// Lets workspaces be filled and set up. Without it, only plans that ask for nothing of the kind can be met.
    pub fn with_provision(self, options: provision::Options) -> Worktrees {
        Worktrees { provision: Some(options), ..self }
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

    async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError> {
        match &self.provision {
            Some(options) => provision::set_up(options, session, attempt, plan).await,
            None if plan.setup.is_empty() => Ok(()),
            None => Err(WorkspaceError::Failed("it is not known where the logs of set-ups go".into())),
        }
    }

    async fn whereabouts(&self, _: &RemoveOrder) -> Whereabouts {
        Whereabouts::default()
    }

    async fn survey(&self, _: &str, _: &[RemoveOrder]) -> Result<Vec<Surveyed>, WorkspaceError> {
        Ok(vec![])
    }

    async fn clean(&self, _: &RemoveOrder) -> Result<Cleaned, WorkspaceError> {
        Ok(Cleaned { bytes: 0, paths: 0 })
    }

    async fn forget_rescues(&self, _: &str, _: Timestamp) -> Result<u32, WorkspaceError> {
        Ok(0)
    }

    async fn inspect(&self, order: &RemoveOrder) -> TreeFacts {
        let Ok(repository) = repository_of(order).await else { return TreeFacts::default() };
        match place::of(&repository, order) {
            Ok(Some(path)) => facts::gather(&path, order).await,
            _ => TreeFacts::default(),
        }
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<Removal, WorkspaceError> {
        let repository = repository_of(order).await?;
        // The facts are gathered in the same turn, so that no other removal of ours can make them untrue.
        let _turn = self.queues.turn(&repository.common_dir).await;
        Ok(remove::remove(&repository, order).await?)
    }
}

/// The repository that a worktree is in, or was: the project may have moved since.
async fn repository_of(order: &RemoveOrder) -> Result<Repository, WorktreeError> {
    let by_place = order.tree.as_ref().and_then(|tree| place::repository_around(Path::new(&tree.path)));
    Repository::open(by_place.unwrap_or(Path::new(&order.repository))).await
}
