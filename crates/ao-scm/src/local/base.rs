//! Where heads and bases are, by what refs say.

use std::collections::BTreeMap;

use ao_core::Commit;
use ao_git::{GitError, Whose};

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
            Some(Whose::Here) => here.map(|commit| Tip { commit: commit.clone(), remote: None }),
            Some(Whose::Origin) => {
                there.map(|commit| Tip { commit: commit.clone(), remote: Some("origin".to_owned()) })
            }
            None => None,
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
