//! A look at the repository: which heads and bases have moved since the last one, and what that means for what is open.
//!
//! One listing of refs tells it all, however many pull requests there are. The same look brings things up to date after
//! the daemon was down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ao_core::Commit;

use super::base::{Tip, Tips};
use super::book::{Entry, Writing};
use super::renamed::Names;
use super::renew::{Moved, What};
use super::repository::Refs;
use super::{LocalError, LocalScm};

impl LocalScm {
    pub(super) async fn look(&self, writing: &mut Writing) -> Result<(), LocalError> {
        // Before the refs are read: what moves afterwards is for the next look.
        self.dirty.store(false, Ordering::SeqCst);
        let unfinished = Unfinished(&self.dirty);
        let is_unclear = || self.book.open().iter().any(|entry| entry.pull.is_unclear());
        let refs = self.trusted(self.repository.refs().await?).await?;
        if writing.refs.as_ref() != Some(&refs) || is_unclear() {
            self.catch_up(writing, &refs).await?;
            if writing.refs.as_ref() != Some(&refs) {
                writing.earlier = writing.refs.replace(refs);
            }
        }
        self.start_due_checks(writing).await?;
        // What cannot be told now is tried again by whoever asks next.
        if !is_unclear() {
            std::mem::forget(unfinished);
        }
        Ok(())
    }

    async fn catch_up(&self, writing: &mut Writing, refs: &Refs) -> Result<(), LocalError> {
        self.notice_merges(writing, refs).await?;
        let open = self.book.open();
        let names = Names {
            repository: &self.repository,
            refs,
            before: writing.refs.as_ref(),
            earlier: writing.earlier.as_ref(),
            default_branch: &self.options.default_branch,
        };
        let names = names.find(open.iter().map(Arc::as_ref)).await?;
        let new_name = |name: &str| names.get(name).cloned();
        let (mut tips, mut moved, mut renamed, mut left) = (Tips::default(), vec![], vec![], vec![]);
        for entry in &open {
            let mut entry = Entry::clone(entry);
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
            if let Some(Tip { commit, remote }) = tips.of(&self.repository, refs, &pull.base_branch).await? {
                (pull.base, pull.base_remote) = (commit, remote);
            }
            if pull.head != before.head {
                // What was found out is about another commit.
                (pull.head_author, pull.head_title, pull.checked) = (None, None, None);
                left.push(pull.number);
                moved.push(Moved { entry, what: What::Head });
            } else if pull.is_unclear() {
                moved.push(Moved { entry, what: What::Head });
            } else if *pull == before {
                continue;
            } else if pull.base != before.base {
                let before = before.base;
                moved.push(Moved { entry, what: What::Base { before } });
            } else {
                pull.updated_at = self.now();
                renamed.push(entry);
            }
        }
        let heads: Vec<Entry> = moved
            .iter()
            .map(|moved| &moved.entry)
            .filter(|entry| left.contains(&entry.pull.number))
            .cloned()
            .collect();
        let (mut entries, pinned) = tokio::join!(self.renew(moved), self.pin_heads(heads.iter()));
        pinned?;
        entries.extend(renamed);
        // What was tried again in vain is no news.
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

    /// Whether anything but the time is new.
    fn is_news(&self, entry: &Entry) -> bool {
        let Some(known) = self.book.open_one(entry.pull.number) else { return true };
        let mut known = Entry::clone(&known);
        known.pull.updated_at = entry.pull.updated_at;
        known.pull.fresh.clone_from(&entry.pull.fresh);
        known != *entry
    }

    /// Finishes the merges that were begun and have landed, and sees those that somebody has made by hand.
    async fn notice_merges(&self, writing: &mut Writing, refs: &Refs) -> Result<(), LocalError> {
        let mut tips = Tips::default();
        // By the tip that their base has come to.
        let mut moved: BTreeMap<String, (Commit, Vec<Arc<Entry>>)> = BTreeMap::new();
        for entry in self.book.open() {
            // One that was merged before may have changed or ended those above it.
            let Some(entry) = self.book.open_one(entry.pull.number) else { continue };
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
        for (branch, (tip, entries)) in moved {
            let merged = format!("--merged={tip}");
            let numbers: Vec<u64> = entries.iter().map(|entry| entry.pull.number).collect();
            let within = self.repository.heads_that(&[merged], &numbers).await?;
            for number in within {
                let Some(entry) = self.book.open_one(number) else { continue };
                if entry.pull.base_branch != branch {
                    continue;
                }
                self.finish(writing, &entry, entry.pull.head.clone(), None, refs).await?;
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

/// A look that is not over, for whatever reason: whoever asks next has to look again.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
