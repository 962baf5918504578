//! What changes come to on top of a base and of each other, and what has come to a base since a change began.
//!
//! ```text
//!  base ── one ── two ── three      each as it would land; tested at its end
//!           └ landed as it is: those behind it still stand on it
//! ```

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ao_core::queue::Part;
use ao_core::{Commit, PullId};
use ao_ports::Strategy;

use super::record::{Fresh, PullRecord};
use super::repository::Repository;
use super::tree::{Merged, Pair};
use super::{LocalError, LocalScm};

/// How many commits are told, and how much of what they changed.
const COMMITS: usize = 20;
const DIFF: usize = 4 * 1024;
/// So many are remembered. A few lanes of a few dozen each are under way at once.
const REMEMBERED: usize = 1000;

/// What became of merging several, one after another.
pub(super) enum Grown {
    To(Commit),
    /// One of them conflicts with what was there then.
    Stuck {
        pull: PullId,
        files: Vec<String>,
    },
}

/// What one change comes to on top of a commit.
#[derive(Debug, Clone)]
pub(super) enum Onto {
    Made {
        tree: String,
        /// What would land, or why it cannot land like this.
        commit: Result<Commit, String>,
    },
    Conflict(Vec<String>),
}

/// What was made already. It is landed as it was tested, and what was tested on top of it need not be made again.
#[derive(Debug, Default)]
pub(super) struct Makings(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    all: HashMap<Making, Onto>,
    /// What each squashed commit stands on.
    below: HashMap<Commit, Commit>,
}

/// Everything that decides what is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Making {
    number: u64,
    pair: Pair,
    strategy: Strategy,
    title: String,
    body: String,
}

impl Makings {
    /// Forgets them all. Nobody refers to what was made before it lands, so that git may have taken it away.
    pub(super) fn forget(&self) {
        *self.kept() = Kept::default();
    }

    /// Whether one gets from a commit to another by squashed commits alone that were made here.
    pub(super) fn leads(&self, from: &Commit, to: &Commit) -> bool {
        let kept = self.kept();
        // None stands on itself, so that this comes to an end.
        std::iter::successors(Some(to), |at| kept.below.get(*at)).any(|at| at == from)
    }

    fn known(&self, making: &Making) -> Option<Onto> {
        self.kept().all.get(making).cloned()
    }

    fn keep(&self, making: Making, onto: Onto) {
        let mut kept = self.kept();
        if kept.all.len() >= REMEMBERED {
            *kept = Kept::default();
        }
        if let (Strategy::Squash, Onto::Made { commit: Ok(commit), .. }) = (making.strategy, &onto) {
            kept.below.insert(commit.clone(), making.pair.base.clone());
        }
        kept.all.insert(making, onto);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalScm {
    /// Puts these onto a base, in order, each as it would land, without moving anything.
    pub(super) async fn grown(
        &self,
        base: &Commit,
        parts: &[Part],
        strategy: Strategy,
    ) -> Result<Grown, LocalError> {
        let mut at = base.clone();
        for Part { pull, head } in parts {
            let entry = self.entry(pull).await?;
            at = match self.onto(&entry.pull, head, &at, strategy).await? {
                Onto::Made { tree, commit } => {
                    self.to_check(&entry.pull, head, &at, tree, commit).await?.commit
                }
                Onto::Conflict(files) => return Ok(Grown::Stuck { pull: pull.clone(), files }),
            };
        }
        Ok(Grown::To(at))
    }

    /// Makes what would land of one change on top of a commit.
    pub(super) async fn onto(
        &self,
        pull: &PullRecord,
        head: &Commit,
        at: &Commit,
        strategy: Strategy,
    ) -> Result<Onto, LocalError> {
        let pair = Pair::at(pull, head, at);
        let (title, body) = (pull.title.clone(), pull.body.clone());
        let making = Making { number: pull.number, pair, strategy, title, body };
        if let Some(known) = self.makings.known(&making) {
            return Ok(known);
        }
        let onto = match self.repository.merge(&making.pair).await? {
            Merged::Tree(tree) => {
                let on = PullRecord { head: head.clone(), base: at.clone(), ..pull.clone() };
                let commit = self.repository.make(&self.id(pull.number), &on, &tree, strategy).await?;
                Onto::Made { tree, commit }
            }
            Merged::Conflict(files) => Onto::Conflict(files),
        };
        self.makings.keep(making, onto.clone());
        Ok(onto)
    }

    /// What is checked out to be tested: what would land, or, if it cannot land like this, a plain merge.
    pub(super) async fn to_check(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        tree: String,
        commit: Result<Commit, String>,
    ) -> Result<Fresh, LocalError> {
        let commit = match commit {
            Ok(commit) => commit,
            Err(_) => self.merged_commit(pull, head, base, &tree).await?,
        };
        Ok(Fresh { tree, commit })
    }
}

impl Repository {
    /// The commits that a base has and a head has not, and what they change. Empty if that cannot be told: it is a help,
    /// and no more.
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
