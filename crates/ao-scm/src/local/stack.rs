//! Pull requests that stand on one another, and what becomes of those above when one goes.

use std::sync::Arc;

use ao_core::pull::PullState;
use ao_core::{Commit, PullId};

use super::base::{Tip, Tips};
use super::book::{Entry, Writing};
use super::record::PullRecord;
use super::renew::{Moved, What};
use super::repository::Refs;
use super::{LocalError, LocalScm};

impl LocalScm {
    /// Ends a pull request as merged. Those that stood on it are for its base from now on.
    pub(super) async fn finish(
        &self,
        writing: &mut Writing,
        entry: &Entry,
        commit: Commit,
        by: Option<String>,
        refs: &Refs,
    ) -> Result<(), LocalError> {
        let mut done = entry.clone();
        done.pull.state = PullState::Merged { commit };
        done.pull.merged_by = by;
        self.end(writing, done, refs).await
    }

    /// Keeps what has become merged or closed, and gives those above it its base.
    pub(super) async fn end(
        &self,
        writing: &mut Writing,
        mut done: Entry,
        refs: &Refs,
    ) -> Result<(), LocalError> {
        done.pull.updated_at = self.now();
        let above = self.above(&done.pull);
        let merged = matches!(done.pull.state, PullState::Merged { .. });
        let mut tips = Tips::default();
        let mut moved = vec![];
        for entry in above {
            let mut entry = Entry::clone(&entry);
            entry.pull.base_branch.clone_from(&done.pull.base_branch);
            entry.pull.since = merged.then(|| done.pull.head.clone()).or(entry.pull.since);
            let tip = tips.of(&self.repository, refs, &done.pull.base_branch).await?;
            if let Some(Tip { commit, remote }) = tip {
                (entry.pull.base, entry.pull.base_remote) = (commit, remote);
            }
            moved.push(Moved { entry, what: What::Target });
        }
        let above = self.renew(moved).await;
        let ended = self.id(done.pull.number);
        self.save(writing, above.iter().cloned().chain([done]).collect()).await?;
        self.checks.cancel(&ended, None).await;
        self.start_checks(writing, above).await
    }

    /// The open one whose branch is its base.
    pub(super) fn stacked_on(&self, pull: &PullRecord) -> Option<PullId> {
        let below = |entry: &&Arc<Entry>| {
            entry.pull.head_branch == pull.base_branch && entry.pull.number != pull.number
        };
        self.book.open().iter().find(below).map(|entry| self.id(entry.pull.number))
    }

    /// The open ones whose base is its branch.
    pub(super) fn above(&self, pull: &PullRecord) -> Vec<Arc<Entry>> {
        let above = |entry: &Arc<Entry>| {
            entry.pull.base_branch == pull.head_branch && entry.pull.number != pull.number
        };
        self.book.open().into_iter().filter(above).collect()
    }
}
