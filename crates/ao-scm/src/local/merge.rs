//! Testing what would land, and landing exactly that.
//!
//! ```text
//!  pinned head, base and tree ──▶ commit made ──▶ written down ──▶ base moved ──▶ recorded as merged
//!                                                       └──── after a crash: landed? finish, else nothing has happened
//! ```

use ao_core::Commit;
use ao_core::pull::PullState;
use ao_ports::{CheckRun, CheckSpec, MergeOrder, MergeOutcome, RunState, ScmError, TestOrder, TestOutcome};
use tracing::info;

use super::base::Tip;
use super::book::{Entry, Writing};
use super::land::NotLanded;
use super::record::{Landing, PullRecord};
use super::tree::{Merged, Pair};
use super::{LocalError, LocalScm};

/// How much of the output of failed checks is told, each.
const EXCERPT: usize = 4 * 1024;

impl LocalScm {
    pub(super) async fn test_merge(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.up_to_date().await?;
        let entry = self.entry(&order.pull).await?;
        let pair = Pair::at(&entry.pull, &order.head, &order.base);
        let tree = match self.repository.merge(&pair).await.map_err(LocalError::from)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(files) => return Ok(TestOutcome::Conflict { files }),
        };
        let checks = self.deciding();
        if checks.is_empty() || !order.checks {
            return Ok(TestOutcome::Green { tree });
        }
        let job = self.job(&entry.pull, &order.head, &order.base, tree.clone(), checks, false).await?;
        let runs = self.checks.run(job).await?;
        let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
        let runs = self.checks.finished(&ids).await?;
        outcome(tree, &runs)
    }

    /// The checks that decide about a merge: those that are required, or all if none is.
    fn deciding(&self) -> Vec<CheckSpec> {
        let all = &self.options.checks;
        let required: Vec<CheckSpec> = all.iter().filter(|check| check.required).cloned().collect();
        if required.is_empty() { all.clone() } else { required }
    }

    pub(super) async fn merge_pull(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let mut writing = self.book.writing().await;
        // Finishes the merge of an earlier call, if that has landed.
        self.look(&mut writing).await?;
        let mut entry = Entry::clone(&*self.entry(&order.pull).await?);
        if let Some(mut outcome) = ended(&entry.pull, order) {
            if let MergeOutcome::Merged { branch_left, .. } = &mut outcome
                && order.delete_branch
            {
                *branch_left = self.take_branch(&entry.pull).await;
            }
            return Ok(outcome);
        }
        let merged = self.make_and_land(&mut writing, &mut entry, order).await?;
        match merged {
            Ok(commit) => {
                let branch_left = match order.delete_branch {
                    true => self.take_branch(&entry.pull).await,
                    false => None,
                };
                Ok(MergeOutcome::Merged { commit, branch_left })
            }
            Err(NotLanded { tip, why }) => Ok(MergeOutcome::Refused { tip, why }),
        }
    }

    async fn make_and_land(
        &self,
        writing: &mut Writing,
        entry: &mut Entry,
        order: &MergeOrder,
    ) -> Result<Result<Commit, NotLanded>, LocalError> {
        let refused = |why: String| Ok(Err(NotLanded { tip: None, why }));
        let pull = &entry.pull;
        let refs = writing.refs.clone().unwrap_or_default();
        let tip = self.tip_of(&refs, &pull.base_branch).await?;
        if let Err(not) = is_as_ordered(pull, &tip, order) {
            return Ok(Err(not));
        }
        match self.repository.merge(&Pair::of(pull)).await? {
            Merged::Conflict(files) => {
                return refused(format!("it conflicts with `{}` in {}", pull.base_branch, files.join(", ")));
            }
            Merged::Tree(tree) if tree != order.tree => {
                return refused("merging gives other files than were tested; test it again".to_owned());
            }
            Merged::Tree(_) => {}
        }
        let same = |landing: &&Landing| {
            (&landing.head, &landing.base, &landing.tree, landing.strategy)
                == (&order.head, &order.base, &order.tree, order.strategy)
        };
        // The commit of an earlier call is used again, so that whatever of it is still under way does the same.
        let earlier = match pull.landing.as_ref().filter(same) {
            Some(landing) if self.repository.has(&landing.commit).await? => Some(landing.commit.clone()),
            _ => None,
        };
        let commit = match earlier {
            Some(commit) => commit,
            None => match self.repository.make(&order.pull, pull, &order.tree, order.strategy).await? {
                Ok(commit) => commit,
                Err(why) => return refused(why),
            },
        };
        entry.pull.landing = Some(Landing {
            head: order.head.clone(),
            base: order.base.clone(),
            tree: order.tree.clone(),
            strategy: order.strategy,
            commit: commit.clone(),
            by: order.by.clone(),
            delete_branch: order.delete_branch,
        });
        // Nobody refers to it before it has landed, and what is written down must not be forgotten by git.
        let pin = format!("{}/landing", entry.pull.number);
        self.repository.pin(&[(pin.clone(), &commit)]).await?;
        self.book.save(writing, vec![entry.clone()]).await?;
        let message = format!("ao: merge {}", order.pull);
        if let Err(not) = self.repository.land(&entry.pull, &tip, &commit, &message).await? {
            entry.pull.landing = None;
            self.book.save(writing, vec![entry.clone()]).await?;
            self.repository.unpin(&pin).await?;
            return Ok(Err(not));
        }
        let refs = self.repository.refs().await?;
        self.finish(writing, entry, commit.clone(), order.by.clone(), &refs).await?;
        Ok(Ok(commit))
    }

    /// Takes the branch of a merged one away, or leaves it and says why: the merge stands either way.
    pub(super) async fn take_branch(&self, pull: &PullRecord) -> Option<String> {
        let why = match self.needed_by(pull) {
            Some(why) => why,
            None => match self.repository.delete_branch(pull, &self.options.default_branch).await {
                Ok(Ok(())) => return None,
                Ok(Err(why)) => why,
                Err(err) => err.to_string(),
            },
        };
        info!(branch = %pull.head_branch, why, "the branch of a merged pull request is left");
        Some(why)
    }
}

impl LocalScm {
    /// Which other open one needs its branch, in words.
    fn needed_by(&self, pull: &PullRecord) -> Option<String> {
        if pull.head_repo.is_some() {
            return None;
        }
        self.book.open().iter().map(|entry| &entry.pull).filter(|other| other.number != pull.number).find_map(
            |other| {
                let id = self.id(other.number);
                if other.head_repo.is_none() && other.head_branch == pull.head_branch {
                    return Some(format!("it is the branch of `{id}` too"));
                }
                (other.base_branch == pull.head_branch).then(|| format!("`{id}` is to be merged into it"))
            },
        )
    }
}

/// What became of one that is no longer open.
fn ended(pull: &PullRecord, order: &MergeOrder) -> Option<MergeOutcome> {
    let refused = |why: String| Some(MergeOutcome::Refused { tip: None, why });
    match &pull.state {
        PullState::Open => None,
        PullState::Merged { commit } if pull.head == order.head => {
            Some(MergeOutcome::Merged { commit: commit.clone(), branch_left: None })
        }
        PullState::Merged { .. } => {
            refused(format!("`{}` was merged with the head {}", order.pull, pull.head))
        }
        PullState::Closed => refused(format!("`{}` is closed; open it again first", order.pull)),
    }
}

fn is_as_ordered(pull: &PullRecord, tip: &Tip, order: &MergeOrder) -> Result<(), NotLanded> {
    let refused = |tip: Option<&Commit>, why: String| Err(NotLanded { tip: tip.cloned(), why });
    if pull.draft {
        return refused(None, format!("`{}` is a draft; mark it as ready first", order.pull));
    }
    if pull.unmeasured {
        let why = format!(
            "what `{}` changes cannot be told; see with `git fsck` whether everything is there",
            order.pull
        );
        return refused(None, why);
    }
    if pull.head != order.head {
        return refused(None, format!("`{}` is at {} now, which was not tested", order.pull, pull.head));
    }
    if tip.commit != order.base {
        let why = format!("`{}` is at {} now, which it was not tested with", pull.base_branch, tip.commit);
        return refused(Some(&tip.commit), why);
    }
    Ok(())
}

fn outcome(tree: String, runs: &[CheckRun]) -> Result<TestOutcome, ScmError> {
    let failed: Vec<&CheckRun> = runs.iter().filter(|run| run.state == RunState::Failed).collect();
    if !failed.is_empty() {
        let parts: Vec<String> = failed.into_iter().map(told).collect();
        return Ok(TestOutcome::Red { output: parts.join("\n\n") });
    }
    match runs.iter().find(|run| !matches!(run.state, RunState::Passed | RunState::Skipped)) {
        Some(run) => {
            let why = run.why.as_deref().unwrap_or("it was ended before it was done");
            Err(ScmError::Failed(format!("the check `{}` said nothing about the change: {why}", run.check)))
        }
        None => Ok(TestOutcome::Green { tree }),
    }
}

/// The name of a check that failed and the lines that matter.
fn told(run: &CheckRun) -> String {
    let excerpt = run.failure.as_ref().map(|failure| failure.excerpt.as_str());
    let text = excerpt.filter(|excerpt| !excerpt.is_empty()).or(run.why.as_deref()).unwrap_or_default();
    let end = (0..=text.len().min(EXCERPT)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}:\n{}", run.check, &text[..end])
}
