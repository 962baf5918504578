//! Stacked pull requests, and the update of those above when one ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_core::pull::PullState;
use ao_core::{Commit, PullId};

use super::base_tip::{BaseTip, BaseTips};
use super::pull_records::{PullEntry, WriteAccess};
use super::record::PullRecord;
use super::refresh::{MoveKind, MovedPull};
use super::repository::BranchRefs;
use super::{LocalError, LocalScm};

impl LocalScm {
    /// Ends a pull request as merged. Those stacked on it get its base.
    pub(super) async fn finish(
        &self,
        writing: &mut WriteAccess,
        entry: &PullEntry,
        commit: Commit,
        by: Option<String>,
        refs: &BranchRefs,
    ) -> Result<(), LocalError> {
        let mut done = entry.clone();
        done.pull.state = PullState::Merged { commit };
        done.pull.merged_by = by;
        self.end(writing, done, refs).await
    }

    /// Saves a merged or closed pull request, and gives those above it its base. If the whole stack was merged, some
    /// of those are in the base already: they end as merged too, and so on upwards.
    pub(super) async fn end(
        &self,
        writing: &mut WriteAccess,
        done: PullEntry,
        refs: &BranchRefs,
    ) -> Result<(), LocalError> {
        let mut tips = BaseTips::default();
        let mut seen = BTreeSet::from([done.pull.number]);
        let (mut ending, mut ended, mut standing) = (vec![done], vec![], vec![]);
        while let Some(mut done) = ending.pop() {
            done.pull.updated_at = self.now();
            let is_merged = matches!(done.pull.state, PullState::Merged { .. });
            let (mut moved, mut own) = (vec![], BTreeSet::new());
            for entry in self.above(&done.pull).into_iter().filter(|entry| seen.insert(entry.pull.number)) {
                let mut entry = PullEntry::clone(&entry);
                if entry.pull.fork.as_ref() != Some(&entry.pull.head) {
                    own.insert(entry.pull.number);
                }
                entry.pull.base_branch.clone_from(&done.pull.base_branch);
                entry.pull.since = is_merged.then(|| done.pull.head.clone()).or(entry.pull.since);
                let tip = tips.of(&self.repository, refs, &done.pull.base_branch).await?;
                if let Some(BaseTip { commit, remote }) = tip {
                    (entry.pull.base, entry.pull.base_remote) = (commit, remote);
                }
                moved.push(MovedPull { entry, what: MoveKind::Target });
            }
            for mut entry in self.renew(moved).await {
                let pull = &mut entry.pull;
                let stands = refs.head(&pull.head_branch, pull.head_repo.as_deref());
                // As always, a pull request without a change of its own is not merged, nor is one that has moved on.
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
        let is_merged = |entry: &&PullEntry| matches!(entry.pull.state, PullState::Merged { .. });
        let merged: Vec<u64> = ended.iter().filter(is_merged).map(|entry| entry.pull.number).collect();
        // After a squash, no ref reaches the commit that the one above was stacked on, so pin it.
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

    /// Returns the open pull request whose branch is its base.
    pub(super) fn stacked_on(&self, pull: &PullRecord) -> Option<PullId> {
        let below = |entry: &&Arc<PullEntry>| {
            let is_here = entry.pull.head_repo.is_none();
            is_here && entry.pull.head_branch == pull.base_branch && entry.pull.number != pull.number
        };
        self.pulls.open().iter().find(below).map(|entry| self.id(entry.pull.number))
    }

    /// Returns the open pull requests whose base is its branch.
    pub(super) fn above(&self, pull: &PullRecord) -> Vec<Arc<PullEntry>> {
        // A base is a local branch or one at origin, never one of another remote.
        if pull.head_repo.is_some() {
            return vec![];
        }
        let above = |entry: &Arc<PullEntry>| {
            entry.pull.base_branch == pull.head_branch && entry.pull.number != pull.number
        };
        self.pulls.open().into_iter().filter(above).collect()
    }
}
