//! Recomputes the derived data of a pull request when its head or base has moved: fork point, size, mergeability, and
//! the positions of threads.

use std::collections::{BTreeSet, HashMap};

use ao_core::Commit;
use ao_core::pull::{ChangeSize, Mergeable};
use ao_git::GitError;
use tracing::warn;

use super::LocalScm;
use super::merge_chain::MergeCache;
use super::merge_tree::{CommitPair, TreeMerge};
use super::pull_records::PullEntry;
use super::record::{FreshMerge, PullRecord};
use super::repository::LocalRepository;

/// A pull request whose record has its new head and base already.
#[derive(Debug, Clone)]
pub(super) struct MovedPull {
    pub(super) entry: PullEntry,
    pub(super) what: MoveKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// The head, and perhaps the base too.
    Head,
    /// The base is another branch.
    Target,
    /// Only the tip of the base has moved, from this commit.
    Base { before: Commit },
}

impl LocalScm {
    /// Recomputes the derived data. A failure leaves one pull request unknown and does not affect the others.
    pub(super) async fn renew(&self, moved: Vec<MovedPull>) -> Vec<PullEntry> {
        // A merge whose fork point git finds by itself does not wait for the measurements.
        let (judged, mut entries) = tokio::join!(self.judge(&moved), self.measure(&moved));
        let HeadFacts { heads, mut merged, mut fresh } = judged;
        let late: Vec<&PullEntry> =
            entries.iter().filter(|entry| !merged.contains_key(&entry.pull.number)).collect();
        let pairs: Vec<CommitPair> = late.iter().map(|entry| CommitPair::of(&entry.pull)).collect();
        let late: Vec<u64> = late.iter().map(|entry| entry.pull.number).collect();
        merged.extend(late.into_iter().zip(self.repository.merge_all(&pairs).await));
        for PullEntry { pull, .. } in &mut entries {
            set_head_commit(pull, &heads);
            pull.fresh = fresh.remove(&pull.number);
            let merged = merged.remove(&pull.number).flatten();
            let merged = merged.filter(|_| !pull.unmeasured);
            pull.mergeable = merged.map_or(Mergeable::Unknown, TreeMerge::mergeable);
            pull.updated_at = self.now();
        }
        entries
    }

    /// Reads the commits of the new heads, and merges where git finds the fork point by itself.
    async fn judge(&self, moved: &[MovedPull]) -> HeadFacts {
        let pulls = || moved.iter().map(|moved| &moved.entry.pull).filter(|pull| pull.since.is_none());
        let pairs: Vec<CommitPair> = pulls().map(CommitPair::of).collect();
        let (heads, merged) =
            tokio::join!(self.repository.head_commits(moved), self.repository.merge_all(&pairs));
        let heads = heads.unwrap_or_else(|err| {
            warn!(%err, "the commits of new heads could not be read");
            HashMap::new()
        });
        let merged: HashMap<u64, Option<TreeMerge>> = pulls().map(|pull| pull.number).zip(merged).collect();
        let mut fresh = HashMap::new();
        // Checks wait for these commits, so they are made concurrently with the measurements.
        let wanted = |moved: &&MovedPull| moved.what == MoveKind::Head && !self.options.checks.is_empty();
        for MovedPull { entry, .. } in moved.iter().filter(wanted) {
            let mut pull = entry.pull.clone();
            set_head_commit(&mut pull, &heads);
            if let Some(Some(TreeMerge::Tree(tree))) = merged.get(&pull.number)
                && let Ok(commit) = self.merged_commit(&pull, &pull.head, &pull.base, tree).await
            {
                fresh.insert(pull.number, FreshMerge { tree: tree.clone(), commit });
            }
        }
        HeadFacts { heads, merged, fresh }
    }

    /// Finds fork points and touched files, and moves threads to the new positions of their lines.
    async fn measure(&self, moved: &[MovedPull]) -> Vec<PullEntry> {
        let repository = &self.repository;
        let joined = repository.joined(moved, &self.merge_cache).await;
        let mut entries = Vec::with_capacity(moved.len());
        for MovedPull { entry, what } in moved {
            let mut entry = entry.clone();
            let pull = &mut entry.pull;
            let stays = match what {
                MoveKind::Base { before } => {
                    let joined = joined.get(&(before.clone(), pull.base.clone()));
                    let is_known = pull.since.is_none() && !pull.unmeasured;
                    is_known && joined.is_some_and(|joined| !joined.contains(&pull.number))
                }
                _ => false,
            };
            if !stays {
                let fork = pull.fork.clone();
                let begun = repository.begin(pull).await;
                pull.unmeasured = begun.is_err();
                if let Err(err) = begun {
                    warn!(pull = pull.number, %err, "the change of a pull request could not be measured");
                    pull.size = ChangeSize::default();
                }
                if *what == MoveKind::Head || pull.fork != fork {
                    repository.carry_threads(&mut entry).await;
                }
            }
            entries.push(entry);
        }
        entries
    }
}

/// Results for some pull requests; `merged` and `fresh` are keyed by number.
struct HeadFacts {
    heads: HashMap<Commit, HeadCommit>,
    merged: HashMap<u64, Option<TreeMerge>>,
    fresh: HashMap<u64, FreshMerge>,
}

/// Author, time and title of a commit.
#[derive(Debug, Clone)]
struct HeadCommit {
    author: String,
    at: i64,
    title: String,
}

/// The most characters of a commit's subject that are kept.
const TITLE: usize = 300;

fn set_head_commit(pull: &mut PullRecord, heads: &HashMap<Commit, HeadCommit>) {
    if let Some(commit) = heads.get(&pull.head) {
        (pull.head_author, pull.head_at) = (Some(commit.author.clone()), commit.at);
        pull.head_title = Some(commit.title.clone());
    }
}

impl LocalRepository {
    /// Finds the fork point, and measures the change.
    async fn begin(&self, pull: &mut PullRecord) -> Result<(), GitError> {
        if pull.since.is_none() {
            let size = self.size_since_parting(&pull.base, &pull.head);
            let (fork, size) = tokio::join!(self.merge_base(&pull.base, &pull.head), size);
            pull.fork = fork?;
            if let Some(size) = size {
                pull.size = size;
                return Ok(());
            }
        }
        let mut fork = self.merge_base(&pull.base, &pull.head).await?;
        if let Some(since) = &pull.since {
            let own = self.merge_base(since, &pull.head).await?;
            fork = match (fork, own) {
                // Once the branch was rebased onto the new base, the commit it was stacked on is of no use any more.
                (Some(fork), Some(own)) if !self.is_ancestor(&fork, &own).await? => {
                    pull.since = None;
                    Some(fork)
                }
                (fork, own) => own.or(fork),
            };
        }
        pull.fork = fork;
        pull.size = match &pull.fork {
            Some(fork) => self.size(fork, &pull.head).await?,
            None => ChangeSize::default(),
        };
        Ok(())
    }

    /// Reads author, time and title of the new heads.
    async fn head_commits(&self, moved: &[MovedPull]) -> Result<HashMap<Commit, HeadCommit>, GitError> {
        let heads: BTreeSet<&str> = moved
            .iter()
            .filter(|moved| moved.what == MoveKind::Head)
            .map(|moved| moved.entry.pull.head.as_str())
            .collect();
        let mut commits = HashMap::new();
        for heads in heads.into_iter().collect::<Vec<_>>().chunks(500) {
            let args = [
                "log",
                "--no-walk=unsorted",
                "-z",
                "--format=%H%x00%ae%x00%ct%x00%s",
                "--no-show-signature",
                "--stdin",
            ];
            let output = self.git.read_with(&args, &(heads.join("\n") + "\n")).await?;
            for fields in output.split('\0').collect::<Vec<_>>().chunks(4) {
                if let [commit, author, at, title] = fields {
                    let at = at.trim().parse().unwrap_or(0);
                    let title = ao_core::text::sanitise(title).chars().take(TITLE).collect();
                    let head = HeadCommit { author: (*author).to_owned(), at, title };
                    commits.insert(Commit::new(commit.trim()), head);
                }
            }
        }
        Ok(commits)
    }

    /// Returns, for each move of a base, the pull requests whose heads contain a commit that the base gained. Only
    /// those can have another fork point now. A move without an entry is unknown.
    async fn joined(
        &self,
        all: &[MovedPull],
        merge_cache: &MergeCache,
    ) -> HashMap<(Commit, Commit), BTreeSet<u64>> {
        let mut joined = HashMap::new();
        for moved in all {
            let MoveKind::Base { before } = &moved.what else { continue };
            let step = (before.clone(), moved.entry.pull.base.clone());
            if joined.contains_key(&step) {
                continue;
            }
            // No head contains a commit that was just made here.
            if merge_cache.leads(&step.0, &step.1) {
                joined.insert(step, BTreeSet::new());
                continue;
            }
            let numbers: Vec<u64> = all.iter().map(|moved| moved.entry.pull.number).collect();
            match self.have_part_in(&step.0, &step.1, &numbers).await {
                Ok(Some(numbers)) => drop(joined.insert(step, numbers)),
                Ok(None) => {}
                Err(err) => warn!(%err, "the new commits of a base could not be listed"),
            }
        }
        joined
    }

    /// Returns `None` if a lookup one by one is faster.
    async fn have_part_in(
        &self,
        before: &Commit,
        now: &Commit,
        numbers: &[u64],
    ) -> Result<Option<BTreeSet<u64>>, GitError> {
        const MOST: usize = 1000;
        let range = format!("{before}..{now}");
        let count = format!("--max-count={MOST}");
        let output = self.git.read(&["rev-list", "--parents", &count, &range, "--"]).await?;
        let commits: Vec<Vec<&str>> = output.lines().map(|line| line.split(' ').collect()).collect();
        // A base that was reset or replaced does not descend from there.
        if !commits.iter().flat_map(|commit| commit.iter().skip(1)).any(|parent| *parent == before.as_str()) {
            return Ok(None);
        }
        let new: BTreeSet<&str> = commits.iter().filter_map(|commit| commit.first().copied()).collect();
        // A head that has any of the new commits has one of the first of them.
        let firsts: Vec<&str> = commits
            .iter()
            .filter(|commit| !commit.iter().skip(1).any(|parent| new.contains(parent)))
            .filter_map(|commit| commit.first().copied())
            .collect();
        if new.len() >= MOST || firsts.len() > 50 {
            return Ok(None);
        }
        let contains: Vec<String> = firsts.iter().map(|first| format!("--contains={first}")).collect();
        self.heads_that(&contains, numbers).await.map(Some)
    }

    /// Returns the pull requests whose pinned heads `git for-each-ref` lists under these conditions.
    pub(super) async fn heads_that(
        &self,
        conditions: &[String],
        numbers: &[u64],
    ) -> Result<BTreeSet<u64>, GitError> {
        let number =
            |name: &str| name.strip_prefix("refs/ao/pulls/")?.strip_suffix("/head")?.parse::<u64>().ok();
        let mut found = BTreeSet::new();
        for numbers in numbers.chunks(2000) {
            let mut args = vec!["for-each-ref".to_owned(), "--format=%(refname)".to_owned()];
            args.extend_from_slice(conditions);
            args.extend(numbers.iter().map(|number| format!("refs/ao/pulls/{number}/head")));
            found.extend(self.git.read(&args).await?.lines().filter_map(number));
        }
        Ok(found)
    }
}
