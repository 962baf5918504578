//! Fetches from `origin`: once for all trees that are created in a burst.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ao_core::SessionId;
use tokio::time::Instant;
use tracing::warn;

use crate::config;
use crate::error::TreeError;
use crate::options::Options;
use crate::repository::Repository;

/// The recent fetches, by repository and branch.
#[derive(Debug, Default)]
pub(crate) struct RecentFetches {
    /// Locked only to look one up. Grows with the number of base branches, which are few.
    known: Mutex<HashMap<(PathBuf, String), Arc<LastFetch>>>,
}

/// The time of the last fetch of one branch. The holder of the lock fetches; the others wait, and then find it fresh.
type LastFetch = tokio::sync::Mutex<Option<Instant>>;

impl RecentFetches {
    /// Fetches a branch from the remote, unless that was done recently. If it fails, work starts from the local state:
    /// a forge that is down must not stop the fleet.
    pub(crate) async fn branch(&self, repository: &Repository, branch: &str, options: &Options) {
        if !options.fetch || !matches!(config::origin(repository).await, Ok(Some(_))) {
            return;
        }
        let lately = {
            let mut known = self.known.lock().expect("no thread panics while looking one up");
            known.entry((repository.common_dir.clone(), branch.to_owned())).or_default().clone()
        };
        let mut lately = lately.lock().await;
        if lately.is_some_and(|at| at.elapsed() < options.fetch_every) {
            return;
        }
        let refspec = format!("+refs/heads/{branch}:refs/remotes/origin/{branch}");
        if let Err(err) = fetch(repository, &refspec, options).await {
            warn!(repository = %repository.root.display(), branch, %err, "origin could not be fetched from; what is here is used");
        }
        // A failure counts too, or each tree of a burst would wait for the same dead remote.
        *lately = Some(Instant::now());
    }
}

/// Fetches the head of a pull request, and returns its commit.
///
/// The ref exists as long as the tree does: it shows which commits the forge has, so that they count as kept.
pub(crate) async fn pull(
    repository: &Repository,
    session: SessionId,
    fetch_ref: &str,
    branch: &str,
    options: &Options,
) -> Result<String, TreeError> {
    let here = pull_ref(session);
    let fetched = fetch(repository, &format!("+{fetch_ref}:{here}"), options).await;
    let no_pull = |err| TreeError::NoPull { fetch: fetch_ref.to_owned(), branch: branch.to_owned(), err };
    fetched.map_err(no_pull)?;
    let commit = repository.commit(&here).await?;
    commit.ok_or_else(|| TreeError::NoBranch { path: repository.root.clone(), branch: fetch_ref.to_owned() })
}

/// Returns the ref that holds the head of an adopted pull request.
pub(crate) fn pull_ref(session: SessionId) -> String {
    format!("refs/ao/pull/{session}")
}

async fn fetch(repository: &Repository, refspec: &str, options: &Options) -> Result<(), ao_git::GitError> {
    // Without `FETCH_HEAD`, which belongs to a person's own fetches, and without housekeeping afterwards.
    let args = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "origin",
        refspec,
    ];
    repository.git.write_within(options.fetch_timeout, &args).await
}
