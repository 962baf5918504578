//! What is derived from head and base, computed anew when one of them has moved: where the change begins, how large it is,
//! whether it merges, where its threads are.

use std::collections::{BTreeSet, HashMap};

use ao_core::Commit;
use ao_core::pull::{ChangeSize, Mergeable};
use ao_git::GitError;
use tracing::warn;

use super::LocalScm;
use super::book::Entry;
use super::record::{Fresh, PullRecord};
use super::repository::Repository;
use super::train::Makings;
use super::tree::{Merged, Pair};

/// A pull request whose record has its new head and base already.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub(super) entry: Entry,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The head, and perhaps the base too.
    Head,
    /// The base is another branch.
    Target,
    /// Only the tip of the base, which was here before.
    Base { before: Commit },
}

impl LocalScm {
    /// Brings what is derived up to date. What cannot be told of one is left unknown, and the others have theirs.
    pub(super) async fn renew(&self, moved: Vec<Moved>) -> Vec<Entry> {
        // A merge whose beginning git finds by itself need not wait for what else is asked.
        let (judged, mut entries) = tokio::join!(self.judge(&moved), self.measure(&moved));
        let Judged { heads, mut merged, mut fresh } = judged;
        let late: Vec<&Entry> =
            entries.iter().filter(|entry| !merged.contains_key(&entry.pull.number)).collect();
        let pairs: Vec<Pair> = late.iter().map(|entry| Pair::of(&entry.pull)).collect();
        let late: Vec<u64> = late.iter().map(|entry| entry.pull.number).collect();
        merged.extend(late.into_iter().zip(self.repository.merge_all(&pairs).await));
        for Entry { pull, .. } in &mut entries {
            told_of(pull, &heads);
            pull.fresh = fresh.remove(&pull.number);
            let merged = merged.remove(&pull.number).flatten();
            let merged = merged.filter(|_| !pull.unmeasured);
            pull.mergeable = merged.map_or(Mergeable::Unknown, Merged::mergeable);
            pull.updated_at = self.now();
        }
        entries
    }

    /// Finds out whose the new heads are, and what merging gives where git finds the beginning by itself.
    async fn judge(&self, moved: &[Moved]) -> Judged {
        let pulls = || moved.iter().map(|moved| &moved.entry.pull).filter(|pull| pull.since.is_none());
        let pairs: Vec<Pair> = pulls().map(Pair::of).collect();
        let (heads, merged) = tokio::join!(self.repository.told(moved), self.repository.merge_all(&pairs));
        let heads = heads.unwrap_or_else(|err| {
            warn!(%err, "what new commits say of themselves could not be read");
            HashMap::new()
        });
        let merged: HashMap<u64, Option<Merged>> = pulls().map(|pull| pull.number).zip(merged).collect();
        let mut fresh = HashMap::new();
        // Checks wait for these commits, so they are made while the rest is measured.
        let wanted = |moved: &&Moved| moved.what == What::Head && !self.options.checks.is_empty();
        for Moved { entry, .. } in moved.iter().filter(wanted) {
            let mut pull = entry.pull.clone();
            told_of(&mut pull, &heads);
            if let Some(Some(Merged::Tree(tree))) = merged.get(&pull.number)
                && let Ok(commit) = self.merged_commit(&pull, &pull.head, &pull.base, tree).await
            {
                fresh.insert(pull.number, Fresh { tree: tree.clone(), commit });
            }
        }
        Judged { heads, merged, fresh }
    }

    /// Finds where changes begin and what they touch, and brings threads to where their lines are.
    async fn measure(&self, moved: &[Moved]) -> Vec<Entry> {
        let repository = &self.repository;
        let joined = repository.joined(moved, &self.makings).await;
        let mut entries = Vec::with_capacity(moved.len());
        for Moved { entry, what } in moved {
            let mut entry = entry.clone();
            let pull = &mut entry.pull;
            let stays = match what {
                What::Base { before } => {
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
                    warn!(pull = pull.number, %err, "what a pull request changes could not be told");
                    pull.size = ChangeSize::default();
                }
                if *what == What::Head || pull.fork != fork {
                    repository.carry_threads(&mut entry).await;
                }
            }
            entries.push(entry);
        }
        entries
    }
}

/// What is known of some pull requests, the last two by their numbers.
struct Judged {
    heads: HashMap<Commit, Told>,
    merged: HashMap<u64, Option<Merged>>,
    fresh: HashMap<u64, Fresh>,
}

/// What a commit says of itself.
#[derive(Debug, Clone)]
struct Told {
    author: String,
    at: i64,
    title: String,
}

/// How much of a commit's first line is kept.
const TITLE: usize = 300;

fn told_of(pull: &mut PullRecord, heads: &HashMap<Commit, Told>) {
    if let Some(told) = heads.get(&pull.head) {
        (pull.head_author, pull.head_at) = (Some(told.author.clone()), told.at);
        pull.head_title = Some(told.title.clone());
    }
}

impl Repository {
    /// Finds where the change begins, and measures it.
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
                // Once the branch has been brought onto the new base, what it stood on before tells nothing any more.
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

    /// What the heads that are new say of themselves.
    async fn told(&self, moved: &[Moved]) -> Result<HashMap<Commit, Told>, GitError> {
        let heads: BTreeSet<&str> = moved
            .iter()
            .filter(|moved| moved.what == What::Head)
            .map(|moved| moved.entry.pull.head.as_str())
            .collect();
        let mut told_of_heads = HashMap::new();
        for heads in heads.into_iter().collect::<Vec<_>>().chunks(500) {
            let args = [
                "log",
                "--no-walk=unsorted",
                "-z",
                "--format=%H%x00%ae%x00%ct%x00%s",
                "--no-show-signature",
                "--stdin",
            ];
            let told = self.git.read_with(&args, &(heads.join("\n") + "\n")).await?;
            for fields in told.split('\0').collect::<Vec<_>>().chunks(4) {
                if let [commit, author, at, title] = fields {
                    let at = at.trim().parse().unwrap_or(0);
                    let title = ao_core::text::sanitise(title).chars().take(TITLE).collect();
                    let told = Told { author: (*author).to_owned(), at, title };
                    told_of_heads.insert(Commit::new(commit.trim()), told);
                }
            }
        }
        Ok(told_of_heads)
    }

    /// For each move of a base from one commit to another, the pull requests whose heads have something that the base has
    /// got by it. Only those can begin somewhere else now. A move that is missing tells nothing.
    async fn joined(&self, all: &[Moved], makings: &Makings) -> HashMap<(Commit, Commit), BTreeSet<u64>> {
        let mut joined = HashMap::new();
        for moved in all {
            let What::Base { before } = &moved.what else { continue };
            let step = (before.clone(), moved.entry.pull.base.clone());
            if joined.contains_key(&step) {
                continue;
            }
            // A commit that we have just made is in nobody's head.
            if makings.leads(&step.0, &step.1) {
                joined.insert(step, BTreeSet::new());
                continue;
            }
            let numbers: Vec<u64> = all.iter().map(|moved| moved.entry.pull.number).collect();
            match self.have_part_in(&step.0, &step.1, &numbers).await {
                Ok(Some(numbers)) => drop(joined.insert(step, numbers)),
                Ok(None) => {}
                Err(err) => warn!(%err, "what a base has got could not be told"),
            }
        }
        joined
    }

    /// `None` if that is quicker found out one by one.
    async fn have_part_in(
        &self,
        before: &Commit,
        now: &Commit,
        numbers: &[u64],
    ) -> Result<Option<BTreeSet<u64>>, GitError> {
        const MOST: usize = 1000;
        let range = format!("{before}..{now}");
        let count = format!("--max-count={MOST}");
        let told = self.git.read(&["rev-list", "--parents", &count, &range, "--"]).await?;
        let commits: Vec<Vec<&str>> = told.lines().map(|line| line.split(' ').collect()).collect();
        // A base that was set back, or put elsewhere, has not come from there.
        if !commits.iter().flat_map(|commit| commit.iter().skip(1)).any(|parent| *parent == before.as_str()) {
            return Ok(None);
        }
        let new: BTreeSet<&str> = commits.iter().filter_map(|commit| commit.first().copied()).collect();
        // Whoever has one of the new commits has one of the first of them.
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

    /// Those of the pull requests whose pinned heads `git for-each-ref` tells under these conditions.
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
