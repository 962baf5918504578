//! A look at the repository: which heads and bases have moved since the last one, and what that means for what is open.
//!
//! One listing of refs tells it all, however many pull requests there are. The same look brings things up to date after
//! the daemon was down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_core::Commit;

use super::base::{Tip, Tips};
use super::book::{Entry, Writing};
use super::renamed;
use super::renew::{Moved, What};
use super::repository::Refs;
use super::{LocalError, LocalScm};

impl LocalScm {
    pub(super) async fn look(&self, writing: &mut Writing) -> Result<(), LocalError> {
        // Before the refs are read: what moves afterwards is for the next look.
        self.dirty.store(false, Ordering::SeqCst);
        let looked = async {
            let refs = self.repository.refs().await?;
            if writing.refs.as_ref() != Some(&refs) {
                self.catch_up(writing, &refs).await?;
                writing.refs = Some(refs);
            }
            Ok(())
        };
        let looked = looked.await;
        if looked.is_err() {
            self.dirty.store(true, Ordering::SeqCst);
        }
        looked
    }

    async fn catch_up(&self, writing: &mut Writing, refs: &Refs) -> Result<(), LocalError> {
        self.notice_merges(writing, refs).await?;
        let open = self.book.open();
        let taken: BTreeSet<&str> = open.iter().map(|entry| entry.pull.head_branch.as_str()).collect();
        let names: Vec<(String, String)> = open
            .iter()
            .filter(|entry| refs.head(&entry.pull.head_branch, entry.pull.head_repo.as_deref()).is_none())
            .filter_map(|entry| {
                let found =
                    renamed::find(&self.repository, refs, entry, &taken, &self.options.default_branch)?;
                Some((entry.pull.head_branch.clone(), found))
            })
            .collect();
        let new_name = |name: &str| names.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        let (mut tips, mut moved, mut renamed, mut left) = (Tips::default(), vec![], vec![], vec![]);
        for entry in &open {
            let mut entry = Entry::clone(entry);
            let before = entry.pull.clone();
            let pull = &mut entry.pull;
            if let Some(name) = new_name(&pull.head_branch) {
                (pull.head_branch, pull.head_repo) = (name, None);
            }
            if let Some(name) = new_name(&pull.base_branch) {
                pull.base_branch = name;
            }
            let head = refs.head(&pull.head_branch, pull.head_repo.as_deref());
            pull.gone = head.is_none();
            if let Some(head) = head {
                pull.head = head.clone();
            }
            if let Some(Tip { commit, remote }) = tips.of(&self.repository, refs, &pull.base_branch).await? {
                (pull.base, pull.base_remote) = (commit, remote);
            }
            if *pull == before {
                continue;
            }
            if pull.head != before.head {
                left.push(pull.number);
                moved.push(Moved { entry, what: What::Head });
            } else if pull.base != before.base {
                let before = before.base;
                moved.push(Moved { entry, what: What::Base { before } });
            } else {
                pull.updated_at = self.now();
                renamed.push(entry);
            }
        }
        let heads: Vec<Entry> =
            moved.iter().filter(|moved| moved.what == What::Head).map(|moved| moved.entry.clone()).collect();
        let (mut entries, pinned) = tokio::join!(self.renew(moved), self.pin_heads(heads.iter()));
        pinned?;
        entries.extend(renamed);
        if entries.is_empty() {
            return Ok(());
        }
        self.save(writing, entries.clone()).await?;
        for entry in &entries {
            if left.contains(&entry.pull.number) {
                self.checks.cancel(&self.id(entry.pull.number), Some(&entry.pull.head)).await;
            }
        }
        self.start_checks(writing, entries).await
    }

    /// Finishes the merges that were begun and have landed, and sees those that somebody has made by hand.
    async fn notice_merges(&self, writing: &mut Writing, refs: &Refs) -> Result<(), LocalError> {
        let mut tips = Tips::default();
        // By the tip that their base has come to.
        let mut moved: BTreeMap<String, (Commit, Vec<Arc<Entry>>)> = BTreeMap::new();
        for entry in self.book.open() {
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
            // A branch that was set back to its base is not merged, nor is one that has moved on.
            let stands = refs.head(&pull.head_branch, pull.head_repo.as_deref());
            if pull.fork.as_ref() != Some(&pull.head) && stands.is_none_or(|stands| *stands == pull.head) {
                let group = moved.entry(pull.base_branch.clone()).or_insert((tip.commit, vec![]));
                group.1.push(entry);
            }
        }
        for (tip, entries) in moved.into_values() {
            let merged = format!("--merged={tip}");
            let numbers: Vec<u64> = entries.iter().map(|entry| entry.pull.number).collect();
            let within = self.repository.heads_that(&[merged], &numbers).await?;
            for entry in entries.iter().filter(|entry| within.contains(&entry.pull.number)) {
                self.finish(writing, entry, entry.pull.head.clone(), None, refs).await?;
            }
        }
        Ok(())
    }

    /// Keeps the heads from being forgotten by git.
    pub(super) async fn pin_heads(&self, entries: impl Iterator<Item = &Entry>) -> Result<(), LocalError> {
        let pins: Vec<(String, &Commit)> =
            entries.map(|entry| (format!("{}/head", entry.pull.number), &entry.pull.head)).collect();
        Ok(self.repository.pin(&pins).await?)
    }
}
