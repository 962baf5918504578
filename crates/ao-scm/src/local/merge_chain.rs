//! Merges changes on top of a base and of each other, and lists what a base has gained since a change began.
//!
//! ```text
//!  base ── one ── two ── three      each as it would land; tested at its end
//!           └ landed as it is: those behind it are still based on it
//! ```

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ao_core::queue::LanePart;
use ao_core::{Commit, PullId};
use ao_ports::LandingStrategy;

use super::merge_tree::{CommitPair, TreeMerge};
use super::record::{FreshMerge, PullRecord};
use super::repository::LocalRepository;
use super::{LocalError, LocalScm};

/// The most commits that are listed, and the most bytes of their diff.
const COMMITS: usize = 20;
const DIFF: usize = 4 * 1024;
/// The most merges that are cached. A few lanes of a few dozen each are in progress at once.
const REMEMBERED: usize = 1000;

/// The outcome of merging several pull requests in order.
pub(super) enum ChainOutcome {
    To(Commit),
    /// One of them conflicts with the result so far.
    Stuck {
        pull: PullId,
        files: Vec<String>,
    },
}

/// The outcome of merging one change onto a commit.
#[derive(Debug, Clone)]
pub(super) enum MergeOnto {
    Made {
        tree: String,
        /// The commit that would land, or the reason why it cannot.
        commit: Result<Commit, String>,
    },
    Conflict(Vec<String>),
}

/// Cache of merges. A tested merge lands unchanged, and merges on top of it need not be made again.
#[derive(Debug, Default)]
pub(super) struct MergeCache(Mutex<CachedMerges>);

#[derive(Debug, Default)]
struct CachedMerges {
    all: HashMap<MergeKey, MergeOnto>,
    /// The parent of each squashed commit.
    below: HashMap<Commit, Commit>,
}

/// All inputs of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MergeKey {
    number: u64,
    pair: CommitPair,
    strategy: LandingStrategy,
    title: String,
    body: String,
}

impl MergeCache {
    /// Clears the cache. No ref reaches these commits before they land, so git may have pruned them.
    pub(super) fn forget(&self) {
        *self.kept() = CachedMerges::default();
    }

    /// Returns true if squashed commits made here lead from one commit to the other.
    pub(super) fn leads(&self, from: &Commit, to: &Commit) -> bool {
        let kept = self.kept();
        // No commit is its own ancestor, so this ends.
        std::iter::successors(Some(to), |at| kept.below.get(*at)).any(|at| at == from)
    }

    fn known(&self, making: &MergeKey) -> Option<MergeOnto> {
        self.kept().all.get(making).cloned()
    }

    fn keep(&self, making: MergeKey, onto: MergeOnto) {
        let mut kept = self.kept();
        if kept.all.len() >= REMEMBERED {
            *kept = CachedMerges::default();
        }
        if let (LandingStrategy::Squash, MergeOnto::Made { commit: Ok(commit), .. }) =
            (making.strategy, &onto)
        {
            kept.below.insert(commit.clone(), making.pair.base.clone());
        }
        kept.all.insert(making, onto);
    }

    fn kept(&self) -> MutexGuard<'_, CachedMerges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalScm {
    /// Merges pull requests onto a base, in order, each as it would land, without moving any ref.
    pub(super) async fn grown(
        &self,
        base: &Commit,
        parts: &[LanePart],
        strategy: LandingStrategy,
    ) -> Result<ChainOutcome, LocalError> {
        let mut at = base.clone();
        for LanePart { pull, head } in parts {
            let entry = self.entry(pull).await?;
            at = match self.onto(&entry.pull, head, &at, strategy).await? {
                MergeOnto::Made { tree, commit } => {
                    self.to_check(&entry.pull, head, &at, tree, commit).await?.commit
                }
                MergeOnto::Conflict(files) => return Ok(ChainOutcome::Stuck { pull: pull.clone(), files }),
            };
        }
        Ok(ChainOutcome::To(at))
    }

    /// Merges one change onto a commit, as it would land.
    pub(super) async fn onto(
        &self,
        pull: &PullRecord,
        head: &Commit,
        at: &Commit,
        strategy: LandingStrategy,
    ) -> Result<MergeOnto, LocalError> {
        let pair = CommitPair::at(pull, head, at);
        let (title, body) = (pull.title.clone(), pull.body.clone());
        let making = MergeKey { number: pull.number, pair, strategy, title, body };
        if let Some(known) = self.merge_cache.known(&making) {
            return Ok(known);
        }
        let onto = match self.repository.merge(&making.pair).await? {
            TreeMerge::Tree(tree) => {
                let on = PullRecord { head: head.clone(), base: at.clone(), ..pull.clone() };
                let commit = self.repository.make(&self.id(pull.number), &on, &tree, strategy).await?;
                MergeOnto::Made { tree, commit }
            }
            TreeMerge::Conflict(files) => MergeOnto::Conflict(files),
        };
        self.merge_cache.keep(making, onto.clone());
        Ok(onto)
    }

    /// Returns the commit to test: the one that would land, or a plain merge if it cannot land like this.
    pub(super) async fn to_check(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        tree: String,
        commit: Result<Commit, String>,
    ) -> Result<FreshMerge, LocalError> {
        let commit = match commit {
            Ok(commit) => commit,
            Err(_) => self.merged_commit(pull, head, base, &tree).await?,
        };
        Ok(FreshMerge { tree, commit })
    }
}

impl LocalRepository {
    /// Returns the commits that a base has and a head has not, with their diff. Empty on an error: it is only
    /// additional information.
    pub(super) async fn between(&self, head: &Commit, base: &Commit) -> String {
        let (most, not) = (format!("-{COMMITS}"), format!("^{head}"));
        let args =
            ["log", "--no-merges", "--no-show-signature", "--format=%h %s", &most, base.as_str(), &not, "--"];
        let commits = self.git.read(&args).await.unwrap_or_default();
        if commits.is_empty() {
            return String::new();
        }
        let diff = match self.merge_base(head, base).await {
            Ok(Some(fork)) => self.diff(&fork, base, DIFF).await.unwrap_or_default(),
            _ => String::new(),
        };
        format!("{commits}\n\n{diff}")
    }
}
