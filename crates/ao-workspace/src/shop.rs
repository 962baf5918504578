//! What both kinds of workspace work with.

use std::path::Path;
use std::sync::Arc;

use crate::checkout::Checkouts;
use crate::error::TreeError;
use crate::fetch::Fetches;
use crate::options::Options;
use crate::queue::Queues;
use crate::repository::{Repositories, Repository};

/// The queues, caches and limits that all trees of one adapter share.
#[derive(Debug, Default)]
pub(crate) struct Shop {
    pub(crate) options: Options,
    pub(crate) queues: Queues,
    pub(crate) fetches: Fetches,
    pub(crate) checkouts: Checkouts,
    repositories: Repositories,
}

impl Shop {
    pub(crate) fn new(options: Options) -> Shop {
        let repositories = Repositories::new(Arc::new(options.settings.clone()));
        Shop { options, repositories, ..Shop::default() }
    }

    pub(crate) async fn repository(&self, folder: &Path) -> Result<Arc<Repository>, TreeError> {
        self.repositories.open(folder).await
    }
}
