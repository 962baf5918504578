//! A look at the repository: finds the heads and bases that have moved since the last one, and updates open pull
//! requests.
//!
//! One listing of refs is enough for any number of pull requests. The same look catches up after the daemon was down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ao_core::Commit;

use super::base_tip::{BaseTip, BaseTips};
use super::branch_renames::BranchRenames;
use super::pull_records::{PullEntry, WriteAccess};
use super::refresh::{MoveKind, MovedPull};
use super::repository::BranchRefs;
use super::{LocalError, LocalScm};

impl LocalScm {
    pub(super) async fn look(&self, writing: &mut WriteAccess) -> Result<(), LocalError> {
        // Cleared before the refs are read: a later move is for the next look.
        self.dirty.store(false, Ordering::SeqCst);
        let unfinished = LookGuard(&self.dirty);
        let is_unclear = || self.pulls.open().iter().any(|entry| entry.pull.is_unclear());
        let refs = self.trusted(self.repository.refs().await?).await?;
        if writing.refs.as_ref() != Some(&refs) || is_unclear() {
            self.catch_up(writing, &refs).await?;
            if writing.refs.as_ref() != Some(&refs) {
                writing.earlier = writing.refs.replace(refs);
            }
        }
        self.start_due_checks(writing).await?;
        // The next request retries what is unknown now.
        if !is_unclear() {
            std::mem::forget(unfinished);
        }
        Ok(())
    }

    async fn catch_up(&self, writing: &mut WriteAccess, refs: &BranchRefs) -> Result<(), LocalError> {
        self.notice_merges(writing, refs).await?;
        let open = self.pulls.open();
        let names = BranchRenames {
            repository: &self.repository,
            refs,
            before: writing.refs.as_ref(),
            earlier: writing.earlier.as_ref(),
            default_branch: &self.options.default_branch,
        };
        let names = names.find(open.iter().map(Arc::as_ref)).await?;
        let new_name = |name: &str| names.get(name).cloned();
        let (mut tips, mut moved, mut renamed, mut left) = (BaseTips::default(), vec![], vec![], vec![]);
        for entry in &open {
            let mut entry = PullEntry::clone(entry);
            let before = entry.pull.clone();
            let pull = &mut entry.pull;
            if let Some(name) = new_name(&pull.head_branch).filter(|_| pull.head_repo.is_none()) {
                pull.head_branch = name;
            }
            if let Some(name) = new_name(&pull.base_branch) {
                pull.base_branch = name;
            }
            let head = refs.head(&pull.head_branch, pull.head_repo.as_deref());
            pull.gone = head.is_none();
            if let Some(head) = head {
                pull.head = head.clone();
            }
            if let Some(BaseTip { commit, remote }) =
                tips.of(&self.repository, refs, &pull.base_branch).await?
            {
                (pull.base, pull.base_remote) = (commit, remote);
            }
            if pull.head != before.head {
                // These values belong to the previous commit.
                (pull.head_author, pull.head_title, pull.checked) = (None, None, None);
                left.push(pull.number);
                moved.push(MovedPull { entry, what: MoveKind::Head });
            } else if pull.is_unclear() {
                moved.push(MovedPull { entry, what: MoveKind::Head });
            } else if *pull == before {
                continue;
            } else if pull.base != before.base {
                let before = before.base;
                moved.push(MovedPull { entry, what: MoveKind::Base { before } });
            } else {
                pull.updated_at = self.now();
                renamed.push(entry);
            }
        }
        let heads: Vec<PullEntry> = moved
            .iter()
            .map(|moved| &moved.entry)
            .filter(|entry| left.contains(&entry.pull.number))
            .cloned()
            .collect();
        let (mut entries, pinned) = tokio::join!(self.renew(moved), self.pin_heads(heads.iter()));
        pinned?;
        entries.extend(renamed);
        // A retry that changed nothing is not worth an update.
        entries.retain(|entry| self.is_news(entry));
        if entries.is_empty() {
            return Ok(());
        }
        for entry in &entries {
            if left.contains(&entry.pull.number) {
                self.checks.cancel(&self.id(entry.pull.number), Some(&entry.pull.head)).await;
            }
        }
        self.save(writing, entries).await
    }

    /// Returns true if anything but the time is new.
    fn is_news(&self, entry: &PullEntry) -> bool {
        let Some(known) = self.pulls.open_one(entry.pull.number) else { return true };
        let mut known = PullEntry::clone(&known);
        known.pull.updated_at = entry.pull.updated_at;
        known.pull.fresh.clone_from(&entry.pull.fresh);
        known != *entry
    }

    /// Finishes merges that had been started and have landed, and detects those that were made by hand.
    async fn notice_merges(&self, writing: &mut WriteAccess, refs: &BranchRefs) -> Result<(), LocalError> {
        let mut tips = BaseTips::default();
        // Keyed by base branch, each with its current tip.
        let mut moved: BTreeMap<String, (Commit, Vec<Arc<PullEntry>>)> = BTreeMap::new();
        for entry in self.pulls.open() {
            // An earlier merge in this loop may have changed or ended those above it.
            let Some(entry) = self.pulls.open_one(entry.pull.number) else { continue };
            let pull = &entry.pull;
            let tip = tips.of(&self.repository, refs, &pull.base_branch).await?;
            let Some(tip) = tip.filter(|tip| tip.commit != pull.base) else { continue };
            if let Some(landing) = &pull.landing
                && self.repository.has(&landing.commit).await?
                && self.repository.is_ancestor(&landing.commit, &tip.commit).await?
            {
                self.finish(writing, &entry, landing.commit.clone(), landing.by.clone(), refs).await?;
                if landing.delete_branch {
                    self.take_branch(pull).await;
                }
                continue;
            }
            // A branch that was reset to its base is not merged, nor is one that has moved on.
            let stands = refs.head(&pull.head_branch, pull.head_repo.as_deref());
            if pull.fork.as_ref() != Some(&pull.head) && stands.is_none_or(|stands| *stands == pull.head) {
                let group = moved.entry(pull.base_branch.clone()).or_insert((tip.commit, vec![]));
                group.1.push(entry);
            }
        }
        for (branch, (tip, entries)) in moved {
            let merged = format!("--merged={tip}");
            let numbers: Vec<u64> = entries.iter().map(|entry| entry.pull.number).collect();
            let within = self.repository.heads_that(&[merged], &numbers).await?;
            for number in within {
                let Some(entry) = self.pulls.open_one(number) else { continue };
                if entry.pull.base_branch != branch {
                    continue;
                }
                self.finish(writing, &entry, entry.pull.head.clone(), None, refs).await?;
            }
        }
        Ok(())
    }

    /// Pins the heads, so that git keeps them.
    pub(super) async fn pin_heads(
        &self,
        entries: impl Iterator<Item = &PullEntry>,
    ) -> Result<(), LocalError> {
        let pins: Vec<(String, &Commit)> =
            entries.map(|entry| (format!("{}/head", entry.pull.number), &entry.pull.head)).collect();
        Ok(self.repository.pin(&pins).await?)
    }
}

/// Marks the look as due again unless it was completed.
struct LookGuard<'a>(&'a AtomicBool);

impl Drop for LookGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
