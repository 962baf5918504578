//! What a base would be with others merged into it, and what has come to it since a change began.

use ao_core::queue::Part;
use ao_core::{Commit, PullId};

use super::repository::Repository;
use super::tree::{Merged, Pair};
use super::{LocalError, LocalScm};

/// How many commits are told, and how much of what they changed.
const COMMITS: usize = 20;
const DIFF: usize = 4 * 1024;

/// What became of merging several, one after another.
pub(super) enum Grown {
    To(Commit),
    /// One of them conflicts with what was there then.
    Stuck {
        pull: PullId,
        files: Vec<String>,
    },
}

impl LocalScm {
    /// Merges these into a base, in order, without moving anything. The same ones give the same commit.
    pub(super) async fn grown(&self, base: &Commit, parts: &[Part]) -> Result<Grown, LocalError> {
        let mut at = base.clone();
        for Part { pull, head } in parts {
            let entry = self.entry(pull).await?;
            at = match self.repository.merge(&Pair::at(&entry.pull, head, &at)).await? {
                Merged::Tree(tree) => self.merged_commit(&entry.pull, head, &at, &tree).await?,
                Merged::Conflict(files) => return Ok(Grown::Stuck { pull: pull.clone(), files }),
            };
        }
        Ok(Grown::To(at))
    }
}

impl Repository {
    /// The commits that a base has and a head has not, and what they change. Empty if that cannot be told: it is a help,
    /// and no more.
    pub(super) async fn between(&self, head: &Commit, base: &Commit) -> String {
        let (most, not) = (format!("-{COMMITS}"), format!("^{head}"));
        let args =
            ["log", "--no-merges", "--no-show-signature", "--format=%h %s", &most, base.as_str(), &not, "--"];
        let commits = self.git.read(&args).await.unwrap_or_default();
        if commits.is_empty() {
            return String::new();
        }
        let diff = match self.merge_base(head, base).await {
            Ok(Some(fork)) => self.diff(&fork, base, DIFF).await.unwrap_or_default(),
            _ => String::new(),
        };
        format!("{commits}\n\n{diff}")
    }
}
