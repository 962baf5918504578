//! Pull requests that stand on one another, and what becomes of those above when one goes.

use std::collections::BTreeSet;
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

    /// Keeps what has become merged or closed, and gives those above it its base. Of those, some may be in that base
    /// already: somebody has merged the whole stack. They are merged too, and so on upwards.
    pub(super) async fn end(
        &self,
        writing: &mut Writing,
        done: Entry,
        refs: &Refs,
    ) -> Result<(), LocalError> {
        let mut tips = Tips::default();
        let mut seen = BTreeSet::from([done.pull.number]);
        let (mut ending, mut ended, mut standing) = (vec![done], vec![], vec![]);
        while let Some(mut done) = ending.pop() {
            done.pull.updated_at = self.now();
            let is_merged = matches!(done.pull.state, PullState::Merged { .. });
            let (mut moved, mut own) = (vec![], BTreeSet::new());
            for entry in self.above(&done.pull).into_iter().filter(|entry| seen.insert(entry.pull.number)) {
                let mut entry = Entry::clone(&entry);
                if entry.pull.fork.as_ref() != Some(&entry.pull.head) {
                    own.insert(entry.pull.number);
                }
                entry.pull.base_branch.clone_from(&done.pull.base_branch);
                entry.pull.since = is_merged.then(|| done.pull.head.clone()).or(entry.pull.since);
                let tip = tips.of(&self.repository, refs, &done.pull.base_branch).await?;
                if let Some(Tip { commit, remote }) = tip {
                    (entry.pull.base, entry.pull.base_remote) = (commit, remote);
                }
                moved.push(Moved { entry, what: What::Target });
            }
            for mut entry in self.renew(moved).await {
                let pull = &mut entry.pull;
                let stands = refs.head(&pull.head_branch, pull.head_repo.as_deref());
                // As with every other: one without a change of its own is not merged, nor is one that has moved on.
                let can_be = own.contains(&pull.number) && stands.is_none_or(|stands| *stands == pull.head);
                if is_merged && can_be && self.repository.is_ancestor(&pull.head, &pull.base).await? {
                    pull.state = PullState::Merged { commit: pull.head.clone() };
                    ending.push(entry);
                } else {
                    standing.push(entry);
                }
            }
            ended.push(done);
        }
        let gone: Vec<PullId> = ended.iter().map(|entry| self.id(entry.pull.number)).collect();
        let is_merged = |entry: &&Entry| matches!(entry.pull.state, PullState::Merged { .. });
        let merged: Vec<u64> = ended.iter().filter(is_merged).map(|entry| entry.pull.number).collect();
        // The commit that the one above stood on is part of nothing that is kept, once it was squashed.
        let pins = standing.iter().filter_map(|entry| {
            let since = entry.pull.since.as_ref()?;
            Some((format!("{}/since", entry.pull.number), since))
        });
        self.repository.pin(&pins.collect::<Vec<_>>()).await?;
        for number in merged {
            self.unarchived.lock().await.add(number);
        }
        self.save(writing, standing.iter().cloned().chain(ended).collect()).await?;
        for pull in gone {
            self.checks.cancel(&pull, None).await;
        }
        self.start_checks(writing, standing).await
    }

    /// The open one whose branch is its base.
    pub(super) fn stacked_on(&self, pull: &PullRecord) -> Option<PullId> {
        let below = |entry: &&Arc<Entry>| {
            let is_here = entry.pull.head_repo.is_none();
            is_here && entry.pull.head_branch == pull.base_branch && entry.pull.number != pull.number
        };
        self.book.open().iter().find(below).map(|entry| self.id(entry.pull.number))
    }

    /// The open ones whose base is its branch.
    pub(super) fn above(&self, pull: &PullRecord) -> Vec<Arc<Entry>> {
        // A base is a branch here or at origin, never one of somebody else's remote.
        if pull.head_repo.is_some() {
            return vec![];
        }
        let above = |entry: &Arc<Entry>| {
            entry.pull.base_branch == pull.head_branch && entry.pull.number != pull.number
        };
        self.book.open().into_iter().filter(above).collect()
    }
}
