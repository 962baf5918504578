//! The tips of heads and bases, by the refs.

use std::collections::BTreeMap;

use ao_core::Commit;
use ao_git::{GitError, TipSource};

use super::record::PullRecord;
use super::repository::{BranchRefs, LocalRepository};

/// The tip of a base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseTip {
    pub(super) commit: Commit,
    /// The remote that has it; absent if the local branch is not behind.
    pub(super) remote: Option<String>,
}

/// The tips of base branches, each looked up once.
#[derive(Debug, Default)]
pub(super) struct BaseTips(BTreeMap<String, Option<BaseTip>>);

impl BaseTips {
    /// Returns the tip of a base branch: of the local branch and origin's, the one that all of ao uses.
    pub(super) async fn of(
        &mut self,
        repository: &LocalRepository,
        refs: &BranchRefs,
        branch: &str,
    ) -> Result<Option<BaseTip>, GitError> {
        if let Some(known) = self.0.get(branch) {
            return Ok(known.clone());
        }
        let (here, there) = (refs.heads.get(branch), refs.remotes.get(&format!("origin/{branch}")));
        let tip = match repository.git.base_of(here.map(Commit::as_str), there.map(Commit::as_str)).await? {
            Some(TipSource::Here) => here.map(|commit| BaseTip { commit: commit.clone(), remote: None }),
            Some(TipSource::Origin) => {
                there.map(|commit| BaseTip { commit: commit.clone(), remote: Some("origin".to_owned()) })
            }
            None => None,
        };
        self.0.insert(branch.to_owned(), tip.clone());
        Ok(tip)
    }
}

impl LocalRepository {
    /// Returns true if a branch of a pull request has moved since the last look, as far as git's files show.
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

impl BranchRefs {
    /// Returns the head of a pull request's branch: the local one, or that of its remote.
    pub(super) fn head(&self, branch: &str, remote: Option<&str>) -> Option<&Commit> {
        match remote {
            Some(remote) => self.remotes.get(&format!("{remote}/{branch}")),
            None => self.heads.get(branch).or_else(|| self.remotes.get(&format!("origin/{branch}"))),
        }
    }
}
