//! The archive: one ref a day for the commits of merged pull requests.
//!
//! ```text
//!  refs/ao/archive/<start> ──► commit ──► the archive as it was before
//!                                   └───► heads of merged pull requests
//! ```
//!
//! While a pull request is open, a ref of its own pins its head. Git lists every ref in every push and fetch, so a ref for each
//! merged one would slow down the agents and the user for as long as the commits are kept. The archive keeps the same commits
//! reachable by a single ref, which is deleted when its newest commit is past the retention time.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_core::Timestamp;
use ao_core::pull::PullState;
use ao_git::GitError;

use super::repository::Repository;
use super::{LocalError, LocalScm};

/// Time after a merge for which its pins stay: the session's workspace is removed, and its branch rescued, meanwhile.
const SETTLES: Duration = Duration::from_secs(30);
/// Time for which one archive ref takes commits.
const SPAN: Duration = Duration::from_secs(24 * 3600);
/// Time between two looks for archives that are past their retention.
const RELEASES: Duration = Duration::from_secs(3600);
/// The most pull requests that go into the archive with one commit.
const BATCH: usize = 200;
const PREFIX: &str = "refs/ao/archive/";

/// The merged pull requests whose pins are not in the archive yet.
#[derive(Debug, Default)]
pub(super) struct Unarchived {
    /// None until the pins in the repository have been listed once.
    numbers: Option<BTreeSet<u64>>,
    released: Option<Timestamp>,
}

impl Unarchived {
    pub(super) fn add(&mut self, number: u64) {
        if let Some(numbers) = &mut self.numbers {
            numbers.insert(number);
        }
    }
}

/// A ref and the object it points to.
struct Pointer {
    name: String,
    object: String,
}

impl LocalScm {
    /// Moves pins of merged pull requests into the archive, and releases archives whose commits were all merged before then.
    /// Returns the number of refs that are gone.
    ///
    /// A pull request that was closed may be the only copy of its commits, and keeps its pin.
    pub(super) async fn tidy_merged(&self, before: Timestamp) -> Result<usize, LocalError> {
        let now = self.now();
        let mut gone = 0;
        let settled = self.settled(before.max(now - SETTLES)).await?;
        for numbers in settled.chunks(BATCH) {
            gone += self.repository.archive(numbers, now).await?;
            let mut unarchived = self.unarchived.lock().await;
            unarchived.numbers.iter_mut().for_each(|known| known.retain(|number| !numbers.contains(number)));
        }
        let mut unarchived = self.unarchived.lock().await;
        if gone > 0 || unarchived.released.is_none_or(|released| now.since(released) >= RELEASES) {
            gone += self.repository.release_archives(before).await?;
            unarchived.released = Some(now);
        }
        Ok(gone)
    }

    /// Returns the merged pull requests that have pins and have not changed since `until`.
    async fn settled(&self, until: Timestamp) -> Result<Vec<u64>, LocalError> {
        let known = self.unarchived.lock().await.numbers.clone();
        let candidates = match known {
            Some(numbers) => numbers,
            None => {
                let pinned = self.repository.pinned().await?;
                let closed = pinned.into_iter().filter(|number| self.book.open_one(*number).is_none());
                let mut merged = BTreeSet::new();
                for number in closed {
                    // One that the records do not know may come from a lost data directory, and its commits be the only copy.
                    let entry = self.book.find(number).await?;
                    if entry.is_some_and(|entry| matches!(entry.pull.state, PullState::Merged { .. })) {
                        merged.insert(number);
                    }
                }
                let mut unarchived = self.unarchived.lock().await;
                unarchived.numbers.get_or_insert_default().extend(&merged);
                merged
            }
        };
        let mut settled = vec![];
        for number in candidates {
            if self.book.find(number).await?.is_some_and(|entry| entry.pull.updated_at <= until) {
                settled.push(number);
            }
        }
        Ok(settled)
    }
}

impl Repository {
    /// Moves the pins of these pull requests into the archive, and the rescue refs of the same commits with them. Returns the
    /// number of refs that are gone. All of it is one transaction: a commit is never without a ref that keeps it.
    async fn archive(&self, numbers: &[u64], now: Timestamp) -> Result<usize, GitError> {
        let _turn = self.turn().await;
        let patterns: Vec<String> = numbers.iter().map(|number| format!("refs/ao/pulls/{number}")).collect();
        let mut old = self.pointers("%(objectname)", &patterns).await?;
        if old.is_empty() {
            return Ok(0);
        }
        let heads: BTreeSet<String> = old.iter().map(|pin| pin.object.clone()).collect();
        // Each is a tag, of which the commit counts.
        let rescues = self.pointers("%(objectname) %(*objectname)", &["refs/ao/rescue/".to_owned()]).await?;
        old.extend(rescues.into_iter().filter_map(|rescue| {
            let (tag, commit) = rescue.object.split_once(' ')?;
            heads.contains(commit).then(|| Pointer { name: rescue.name, object: tag.to_owned() })
        }));

        let start = |pointer: &Pointer| pointer.name.strip_prefix(PREFIX)?.parse::<i64>().ok();
        let archives = self.pointers("%(objectname)", &[PREFIX.to_owned()]).await?;
        let newest = archives.into_iter().max_by_key(start);
        let newest = newest
            .filter(|newest| start(newest).is_some_and(|start| now.since(Timestamp(start * 1000)) < SPAN));
        let tree = self.git.write_with(&["mktree"], Some("")).await?;
        let mut args: Vec<&str> = vec!["-c", "user.name=ao", "-c", "user.email=ao@localhost"];
        args.extend(["commit-tree", "--no-gpg-sign", "-m", "Commits of merged pull requests", &tree]);
        let parents = newest.iter().map(|newest| &newest.object).chain(&heads);
        args.extend(parents.flat_map(|parent| ["-p", parent]));
        let date = format!("@{} +0000", now.0.div_euclid(1000));
        let git = self.git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        let commit = git.write(&args).await?;
        let mut input = match &newest {
            Some(newest) => format!("update {} {commit} {}\n", newest.name, newest.object),
            None => format!("create {PREFIX}{} {commit}\n", now.0.div_euclid(1000)),
        };
        input.extend(old.iter().map(|pointer| format!("delete {} {}\n", pointer.name, pointer.object)));
        self.git.write_with(&["update-ref", "--no-deref", "--stdin"], Some(&input)).await?;
        Ok(old.len())
    }

    /// Deletes the archives whose newest commit is older than `before`, and returns their number.
    async fn release_archives(&self, before: Timestamp) -> Result<usize, GitError> {
        let archives = self.pointers("%(objectname) %(committerdate:unix)", &[PREFIX.to_owned()]).await?;
        let input: Vec<String> = archives
            .iter()
            .filter_map(|archive| {
                let (object, date) = archive.object.split_once(' ')?;
                let is_past = date.parse::<i64>().ok()?.saturating_mul(1000) < before.0;
                is_past.then(|| format!("delete {} {object}\n", archive.name))
            })
            .collect();
        if !input.is_empty() {
            let _turn = self.turn().await;
            self.git.write_with(&["update-ref", "--no-deref", "--stdin"], Some(&input.concat())).await?;
        }
        Ok(input.len())
    }

    /// Lists refs with what `format` gives for the object of each.
    async fn pointers(&self, format: &str, patterns: &[String]) -> Result<Vec<Pointer>, GitError> {
        let mut args = vec!["for-each-ref".to_owned(), format!("--format=%(refname) {format}")];
        args.extend_from_slice(patterns);
        let listed = self.git.read(&args).await?;
        let pointer = |line: &str| {
            let (name, object) = line.split_once(' ')?;
            Some(Pointer { name: name.to_owned(), object: object.to_owned() })
        };
        Ok(listed.lines().filter_map(pointer).collect())
    }
}
