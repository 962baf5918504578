//! Where heads and bases are, by what refs say.

use std::collections::BTreeMap;

use ao_core::Commit;
use ao_git::{GitError, TipSource};

use super::record::PullRecord;
use super::repository::{Refs, Repository};

/// The tip of a base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tip {
    pub(super) commit: Commit,
    /// The remote that has it; none if the branch here has everything.
    pub(super) remote: Option<String>,
}

/// The tips of base branches, each found once.
#[derive(Debug, Default)]
pub(super) struct Tips(BTreeMap<String, Option<Tip>>);

impl Tips {
    /// The one of the branch here and at origin that everybody here goes by.
    pub(super) async fn of(
        &mut self,
        repository: &Repository,
        refs: &Refs,
        branch: &str,
    ) -> Result<Option<Tip>, GitError> {
        if let Some(known) = self.0.get(branch) {
            return Ok(known.clone());
        }
        let (here, there) = (refs.heads.get(branch), refs.remotes.get(&format!("origin/{branch}")));
        let tip = match repository.git.base_of(here.map(Commit::as_str), there.map(Commit::as_str)).await? {
            Some(TipSource::Here) => here.map(|commit| Tip { commit: commit.clone(), remote: None }),
            Some(TipSource::Origin) => {
                there.map(|commit| Tip { commit: commit.clone(), remote: Some("origin".to_owned()) })
            }
            None => None,
        };
        self.0.insert(branch.to_owned(), tip.clone());
        Ok(tip)
    }
}

impl Repository {
    /// Whether a branch of a pull request is elsewhere than it was last seen, as far as git's files tell.
    pub(super) fn has_moved(&self, pull: &PullRecord) -> bool {
        let is_elsewhere = |name: String, known: &Commit| {
            let found = ao_git::refs::find(self.common_dir.as_std_path(), &name).flatten();
            found.is_some_and(|found| found != known.as_str())
        };
        let name = |remote: Option<&str>, branch: &str| match remote {
            Some(remote) => format!("refs/remotes/{remote}/{branch}"),
            None => format!("refs/heads/{branch}"),
        };
        is_elsewhere(name(pull.head_repo.as_deref(), &pull.head_branch), &pull.head)
            || is_elsewhere(name(pull.base_remote.as_deref(), &pull.base_branch), &pull.base)
    }
}

impl Refs {
    /// Where a pull request's branch is: here, or else at its remote.
    pub(super) fn head(&self, branch: &str, remote: Option<&str>) -> Option<&Commit> {
        match remote {
            Some(remote) => self.remotes.get(&format!("{remote}/{branch}")),
            None => self.heads.get(branch).or_else(|| self.remotes.get(&format!("origin/{branch}"))),
        }
    }
}
