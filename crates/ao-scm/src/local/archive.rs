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
use std::fs;
use std::time::Duration;

use ao_core::Timestamp;
use ao_core::pull::PullState;
use ao_git::GitError;
use ao_ports::TidyOrder;

use super::repository::LocalRepository;
use super::{LocalError, LocalScm};

/// Time for which one archive ref takes commits.
const SPAN: Duration = Duration::from_secs(24 * 3600);
/// Time between two looks for archives that are past their retention.
const RELEASES: Duration = Duration::from_secs(3600);
/// The most pull requests that go into the archive with one commit.
const BATCH: usize = 200;
const PREFIX: &str = "refs/ao/archive/";

/// The merged pull requests whose pins are not in the archive yet.
#[derive(Debug, Default)]
pub(super) struct ArchiveBacklog {
    numbers: BTreeSet<u64>,
    /// The pins that earlier daemons left are among them.
    listed: bool,
    released: Option<Timestamp>,
}

impl ArchiveBacklog {
    pub(super) fn add(&mut self, number: u64) {
        self.numbers.insert(number);
    }
}

/// A ref and the object it points to.
struct RefPointer {
    name: String,
    object: String,
}

impl LocalScm {
    /// Moves pins of merged pull requests and the given rescue refs into the archive, and releases archives whose commits are
    /// all past their time. Returns the number of refs that are gone.
    ///
    /// A pull request that was closed may be the only copy of its commits, and keeps its pin.
    pub(super) async fn tidy_merged(&self, order: &TidyOrder) -> Result<usize, LocalError> {
        let now = self.now();
        let merged = self.merged_with_pins().await?;
        let mut gone = self.repository.archive(&[], &order.rescues, now).await?;
        for numbers in merged.chunks(BATCH) {
            gone += self.repository.archive(numbers, &[], now).await?;
            self.unarchived.lock().await.numbers.retain(|number| !numbers.contains(number));
        }
        let released = self.unarchived.lock().await.released;
        if gone > 0 || released.is_none_or(|released| now.since(released) >= RELEASES) {
            self.unarchived.lock().await.released = Some(now);
            gone += self.repository.release_archives(order.before).await?;
        }
        Ok(gone)
    }

    /// Returns the merged pull requests that may have pins.
    async fn merged_with_pins(&self) -> Result<Vec<u64>, LocalError> {
        let (mut candidates, listed) = {
            let unarchived = self.unarchived.lock().await;
            (unarchived.numbers.clone(), unarchived.listed)
        };
        if !listed {
            candidates.extend(self.repository.pinned().await?);
        }
        let mut merged = vec![];
        for number in candidates {
            if self.pulls.open_one(number).is_some() {
                continue;
            }
            // One that the records do not know may come from a lost data directory, and its commits be the only copy.
            match self.pulls.find(number).await {
                Ok(Some(entry)) if matches!(entry.pull.state, PullState::Merged { .. }) => {
                    merged.push(number);
                }
                Ok(_) => {}
                Err(err) => tracing::warn!(number, %err, "the pins of a pull request stay"),
            }
        }
        let mut unarchived = self.unarchived.lock().await;
        unarchived.listed = true;
        unarchived.numbers.extend(&merged);
        Ok(merged)
    }
}

impl LocalRepository {
    /// Moves the pins of these pull requests and these rescue refs into the archive. Returns the number of refs that are gone.
    /// All of it is one transaction: a commit is never without a ref that keeps it.
    async fn archive(&self, numbers: &[u64], rescues: &[String], now: Timestamp) -> Result<usize, GitError> {
        if numbers.is_empty() && rescues.is_empty() {
            return Ok(0);
        }
        let _turn = self.turn().await;
        let pins = numbers.iter().map(|number| format!("refs/ao/pulls/{number}"));
        let names: Vec<String> =
            pins.chain(rescues.iter().filter(|name| self.has_one_state(name)).cloned()).collect();
        if names.is_empty() {
            return Ok(0);
        }
        // A rescue is a tag, of which the commit counts.
        let old = self.pointers("%(objectname) %(*objectname)", &names).await?;
        let commit = |pointer: &RefPointer| pointer.object.split_whitespace().last().map(str::to_owned);
        let commits: BTreeSet<String> = old.iter().filter_map(commit).collect();
        if commits.is_empty() {
            return Ok(0);
        }

        let start = |pointer: &RefPointer| {
            let start = pointer.name.strip_prefix(PREFIX)?.parse::<i64>().ok()?;
            Some(Timestamp(start.saturating_mul(1000)))
        };
        let archives = self.pointers("%(objectname)", &[PREFIX.to_owned()]).await?;
        let is_current = |at: Timestamp| at <= now && now.since(at) < SPAN;
        let newest =
            archives.into_iter().filter(|archive| start(archive).is_some_and(is_current)).max_by_key(start);
        let tree = self.git.write_with(&["mktree"], Some("")).await?;
        let mut args: Vec<&str> = vec!["-c", "user.name=ao", "-c", "user.email=ao@localhost"];
        args.extend(["commit-tree", "--no-gpg-sign", "-m", "Commits of merged pull requests", &tree]);
        let parents = newest.iter().map(|newest| &newest.object).chain(&commits);
        args.extend(parents.flat_map(|parent| ["-p", parent]));
        let date = format!("@{} +0000", now.0.div_euclid(1000));
        let git = self.git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        let commit = git.write(&args).await?;
        let mut input = match &newest {
            Some(newest) => format!("update {} {commit} {}\n", newest.name, newest.object),
            None => format!("create {PREFIX}{} {commit}\n", now.0.div_euclid(1000)),
        };
        input.extend(old.iter().filter_map(|pointer| {
            let object = pointer.object.split_whitespace().next()?;
            Some(format!("delete {} {object}\n", pointer.name))
        }));
        self.git.write_with(&["update-ref", "--no-deref", "--stdin"], Some(&input)).await?;
        Ok(old.len())
    }

    /// Returns true if a rescue ref has kept one state only. A second removal leaves the first state in the ref's log, which
    /// git deletes with the ref.
    fn has_one_state(&self, name: &str) -> bool {
        let log = fs::read_to_string(self.common_dir.join("logs").join(name));
        log.is_ok_and(|log| log.lines().count() == 1)
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
    async fn pointers(&self, format: &str, patterns: &[String]) -> Result<Vec<RefPointer>, GitError> {
        let mut args = vec!["for-each-ref".to_owned(), format!("--format=%(refname) {format}")];
        args.extend_from_slice(patterns);
        let listed = self.git.read(&args).await?;
        let pointer = |line: &str| {
            let (name, object) = line.split_once(' ')?;
            Some(RefPointer { name: name.to_owned(), object: object.to_owned() })
        };
        Ok(listed.lines().filter_map(pointer).collect())
    }
}
