//! What both kinds of workspace work with.

use std::path::Path;
use std::sync::Arc;

use ao_core::effect::SetUpPlan;
use ao_core::{Attempt, SessionId};
use ao_ports::{RemoveOrder, WorkspaceError};

use crate::checkout::Checkouts;
use crate::error::TreeError;
use crate::fetch::Fetches;
use crate::options::Options;
use crate::provision;
use crate::repository::{Repositories, Repository};
use ao_git::Queues;

/// The queues, caches and limits that all trees of one adapter share.
#[derive(Debug, Default)]
pub(crate) struct Shop {
    pub(crate) options: Options,
    pub(crate) queues: Arc<Queues>,
    pub(crate) fetches: Fetches,
    pub(crate) checkouts: Checkouts,
    repositories: Repositories,
}

impl Shop {
    pub(crate) fn new(options: Options) -> Shop {
        let repositories = Repositories::new(Arc::new(options.settings.clone()));
        Shop { queues: options.queues.clone(), options, repositories, ..Shop::default() }
    }

    /// Makes a tree ready, of whatever kind it is.
    pub(crate) async fn set_up(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &SetUpPlan,
    ) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::set_up(options, session, attempt, plan).await,
            None if plan.setup.is_empty() => Ok(()),
            None => Err(nowhere()),
        }
    }

    /// Ends what the set-up of a tree has left running. Out of turn: a set-up that is still at it is not waited for.
    pub(crate) async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::end_programs(options, session, Path::new(path)).await,
            // Then nothing was ever started.
            None => Ok(()),
        }
    }

    /// Runs what its project wants run before a tree goes.
    pub(crate) async fn teardown(&self, order: &RemoveOrder, path: &Path) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::teardown(options, order, path).await,
            None if order.teardown.is_empty() => Ok(()),
            None => Err(nowhere()),
        }
    }

    pub(crate) async fn repository(&self, folder: &Path) -> Result<Arc<Repository>, TreeError> {
        self.repositories.open(folder).await
    }
}

fn nowhere() -> WorkspaceError {
    WorkspaceError::Failed("it is not known where the logs of set-ups go".into())
}
