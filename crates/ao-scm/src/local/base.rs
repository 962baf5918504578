//! Where heads and bases are, by what refs say.

use std::collections::BTreeMap;

use ao_core::Commit;
use ao_git::GitError;

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
    /// Of the branch here and at origin the one that has the other. If each has what the other has not, origin's, because
    /// that is what everybody else compares with.
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
        let local = |commit: &Commit| Tip { commit: commit.clone(), remote: None };
        let origins = |commit: &Commit| Tip { commit: commit.clone(), remote: Some("origin".to_owned()) };
        let tip = match (here, there) {
            (None, None) => None,
            (Some(here), None) => Some(local(here)),
            (None, Some(there)) => Some(origins(there)),
            (Some(here), Some(there)) => match repository.is_ancestor(there, here).await? {
                true => Some(local(here)),
                false => Some(origins(there)),
            },
        };
        self.0.insert(branch.to_owned(), tip.clone());
        Ok(tip)
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
