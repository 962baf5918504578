//! The state that both kinds of workspace share.

use std::path::Path;
use std::sync::Arc;

use ao_core::effect::SetUpPlan;
use ao_core::{Attempt, SessionId};
use ao_ports::{RemoveOrder, WorkspaceError};

use crate::checkout::CheckoutLimit;
use crate::error::TreeError;
use crate::fetch::RecentFetches;
use crate::options::Options;
use crate::provision;
use crate::repository::{Repository, RepositoryCache};
use ao_git::Queues;

/// The queues, caches and limits that all trees of one adapter share.
#[derive(Debug, Default)]
pub(crate) struct GitWorkspaces {
    pub(crate) options: Options,
    pub(crate) queues: Arc<Queues>,
    pub(crate) fetches: RecentFetches,
    pub(crate) checkouts: CheckoutLimit,
    repositories: RepositoryCache,
}

impl GitWorkspaces {
    pub(crate) fn new(options: Options) -> GitWorkspaces {
        let repositories = RepositoryCache::new(Arc::new(options.settings.clone()));
        GitWorkspaces { queues: options.queues.clone(), options, repositories, ..GitWorkspaces::default() }
    }

    /// Sets a tree up, of either kind.
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

    /// Ends the processes that the set-up of a tree has left running. Out of turn: a running set-up is not waited for.
    pub(crate) async fn end_programs(&self, session: SessionId, path: &str) -> Result<(), WorkspaceError> {
        match &self.options.provision {
            Some(options) => provision::end_programs(options, session, Path::new(path)).await,
            // Nothing was ever started.
            None => Ok(()),
        }
    }

    /// Runs the commands of a project before a tree is removed.
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
