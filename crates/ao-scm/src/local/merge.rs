//! Testing what would land, and landing exactly that.
//!
//! ```text
//!  pinned head, base and tree ──▶ commit made ──▶ written down ──▶ base moved ──▶ recorded as merged
//!                                                       └──── after a crash: landed? finish, else nothing has happened
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_core::Commit;
use ao_core::pull::PullState;
use ao_core::queue::Part;
use ao_ports::{CheckRun, CheckSpec, MergeOrder, MergeOutcome, RunState, ScmError, TestOrder, TestOutcome};
use tracing::info;

use super::base::Tip;
use super::book::{Entry, Writing};
use super::checks::{Checks, Job};
use super::land::NotLanded;
use super::record::{Landing, PullRecord};
use super::train::{Grown, Onto};
use super::{LocalError, LocalScm};

/// One of those that land together: which, what is kept of it, and its commit.
type Made = (Part, Entry, Commit);

/// Somebody who waits for runs. If he goes away before they are over, he gives them up.
struct Waiting {
    checks: Arc<dyn Checks>,
    runs: Vec<String>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let (false, Ok(runtime)) = (runs.is_empty(), tokio::runtime::Handle::try_current()) {
            let checks = self.checks.clone();
            runtime.spawn(async move { checks.give_up(&runs).await });
        }
    }
}

/// How much of the output of failed checks is told, each.
const EXCERPT: usize = 4 * 1024;

impl LocalScm {
    pub(super) async fn test_merge(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.up_to_date_about(&order.pull).await?;
        let entry = self.entry(&order.pull).await?;
        self.may_test_on(&order.base)?;
        let base = match self.grown(&order.base, &order.ahead, order.strategy).await? {
            Grown::To(base) => base,
            Grown::Stuck { pull, files } => return Ok(TestOutcome::Conflict { files, pull: Some(pull) }),
        };
        let (tree, commit) = match self.onto(&entry.pull, &order.head, &base, order.strategy).await? {
            Onto::Made { tree, commit } => (tree, commit),
            Onto::Conflict(files) => return Ok(TestOutcome::Conflict { files, pull: None }),
        };
        if !order.checks {
            return Ok(TestOutcome::Green { tree });
        }
        let checks = self.deciding(&order.required)?;
        if checks.is_empty() {
            return Ok(TestOutcome::Green { tree });
        }
        let fresh = self.to_check(&entry.pull, &order.head, &base, tree.clone(), commit).await?;
        let mut job = self.job_on(&entry.pull, &order.head, &base, fresh, checks, false);
        job.changed = self.changed_with(job.changed, &order.ahead).await?;
        job.ahead = order.ahead.iter().map(|part| part.pull.clone()).collect();
        let runs = self.finished(job).await?;
        match outcome(tree, &runs, &order.required)? {
            TestOutcome::Red { output, .. } => {
                let between = self.repository.between(&order.head, &base).await;
                Ok(TestOutcome::Red { output, between })
            }
            other => Ok(other),
        }
    }

    /// Has checks run and waits for them. With others ahead they are for this test alone: if whoever wants it goes away, they
    /// are given up. Without, they are the pull request's own, and go on.
    async fn finished(&self, job: Job) -> Result<Vec<CheckRun>, ScmError> {
        let is_alone = job.ahead.is_empty();
        let runs = self.checks.run(job).await?;
        let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
        let given_up = if is_alone { vec![] } else { ids.clone() };
        let mut waiting = Waiting { checks: self.checks.clone(), runs: given_up };
        let finished = self.checks.finished(&ids).await?;
        waiting.runs.clear();
        Ok(finished)
    }

    /// The checks that decide about a merge: those that are required here, or all if none is, and those that policy wants.
    /// What policy wants is run whatever the change touches.
    fn deciding(&self, wanted: &[String]) -> Result<Vec<CheckSpec>, ScmError> {
        let all = &self.options.checks;
        if let Some(unknown) = wanted.iter().find(|name| all.iter().all(|check| check.name != **name)) {
            let name = unknown.escape_debug();
            let why =
                format!("policy requires the check `{name}`, which is not configured; add it to `checks`");
            return Err(ScmError::Failed(why));
        }
        let all_decide = all.iter().all(|check| !check.required);
        let is_wanted = |check: &CheckSpec| wanted.contains(&check.name);
        let deciding = all.iter().filter(|check| all_decide || check.required || is_wanted(check)).cloned();
        Ok(deciding
            .map(|check| match is_wanted(&check) {
                true => CheckSpec { paths: vec![], ..check },
                false => check,
            })
            .collect())
    }

    /// What is changed together with those ahead, which are in the tree too; nothing if that cannot be told of one of them.
    async fn changed_with(
        &self,
        own: Option<Vec<String>>,
        ahead: &[Part],
    ) -> Result<Option<Vec<String>>, LocalError> {
        let Some(mut changed) = own else { return Ok(None) };
        for part in ahead {
            let entry = self.entry(&part.pull).await?;
            match entry.pull.touched().filter(|_| entry.pull.head == part.head) {
                Some(files) => changed.extend_from_slice(files),
                None => return Ok(None),
            }
        }
        Ok(Some(changed))
    }

    pub(super) async fn merge_pull(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let mut writing = self.book.writing().await;
        // Finishes the merge of an earlier call, if that has landed.
        let mut pulls = order.with.iter().map(|part| &part.pull).chain([&order.pull]);
        if pulls.any(|pull| self.is_behind_about(pull)) {
            self.look(&mut writing).await?;
        }
        let entry = self.entry(&order.pull).await?;
        if let Some(outcome) = ended(&entry.pull, order) {
            let MergeOutcome::Merged { commit, .. } = outcome else { return Ok(outcome) };
            let refs = writing.refs.clone().unwrap_or_default();
            // The base branch may be gone since.
            let tip = self.tip_of(&refs, &entry.pull.base_branch).await.ok();
            let tip = tip.map_or_else(|| commit.clone(), |tip| tip.commit);
            let mut landed = vec![];
            for part in &order.with {
                let entry = self.entry(&part.pull).await?;
                if let PullState::Merged { commit } = &entry.pull.state {
                    landed.push((part.clone(), commit.clone()));
                }
            }
            return Ok(self.told(order, commit, tip, landed).await?);
        }
        let branch = entry.pull.base_branch.clone();
        let held = |why| MergeOutcome::Refused { tip: None, why, in_the_way: true };
        if let Some(why) = self.held_back(&branch) {
            return Ok(held(why));
        }
        match self.make_and_land(&mut writing, order).await? {
            Ok(mut landed) => match landed.pop() {
                Some((_, commit)) => Ok(self.told(order, commit.clone(), commit, landed).await?),
                None => Err(ScmError::Failed("nothing was to be merged".to_owned())),
            },
            Err(NotLanded { tip, why, in_the_way }) => {
                // It may have been moved by nobody who may, and then nothing is to be tested on it.
                if tip.is_some() {
                    self.look(&mut writing).await?;
                }
                Ok(match self.held_back(&branch) {
                    Some(why) => held(why),
                    None => MergeOutcome::Refused { tip, why, in_the_way },
                })
            }
        }
    }

    /// What has landed, with the branches gone that were to go.
    async fn told(
        &self,
        order: &MergeOrder,
        commit: Commit,
        tip: Commit,
        with: Vec<(Part, Commit)>,
    ) -> Result<MergeOutcome, LocalError> {
        let mut branch_left = None;
        if order.delete_branch {
            for pull in with.iter().map(|(part, _)| &part.pull).chain([&order.pull]) {
                branch_left = self.take_branch(&self.entry(pull).await?.pull).await;
            }
        }
        Ok(MergeOutcome::Merged { commit, tip, branch_left, with })
    }

    /// Makes the commits of all that lands together, one after another, and moves the base over all of them at once: what
    /// is between them was not tested, and so is never where the base is.
    async fn make_and_land(
        &self,
        writing: &mut Writing,
        order: &MergeOrder,
    ) -> Result<Result<Vec<(Part, Commit)>, NotLanded>, LocalError> {
        let mut refs = writing.refs.clone().unwrap_or_default();
        let branch = self.entry(&order.pull).await?.pull.base_branch.clone();
        let tip = self.tip_of(&refs, &branch).await?;
        let mut made = match self.made(order, &tip, &branch).await? {
            Ok(made) => made,
            Err(not) => return Ok(Err(not)),
        };
        let Some(last) = made.last().map(|(_, _, commit)| commit.clone()) else { return Ok(Ok(vec![])) };
        // Nobody refers to them before they have landed, and what is written down must not be forgotten by git.
        let pins = made.iter().map(|(_, entry, commit)| (format!("{}/landing", entry.pull.number), commit));
        let pins: Vec<(String, &Commit)> = pins.collect();
        self.repository.pin(&pins).await?;
        let names: Vec<String> = pins.into_iter().map(|(name, _)| name).collect();
        let written = |made: &[Made]| made.iter().map(|(_, entry, _)| entry.clone()).collect();
        self.book.save(writing, written(&made)).await?;
        let message = match order.with.len() {
            0 => format!("ao: merge {}", order.pull),
            others => format!("ao: merge {} and {others} others", order.pull),
        };
        if let Err(not) = self.repository.land(&branch, &tip, &last, &message).await? {
            made.iter_mut().for_each(|(_, entry, _)| entry.pull.landing = None);
            self.book.save(writing, written(&made)).await?;
            for name in names {
                self.repository.unpin(&name).await?;
            }
            return Ok(Err(not));
        }
        self.landed_at(&branch, &last).await?;
        // Whoever comes next is not to wait until the watch has heard of it.
        self.dirty.store(true, Ordering::SeqCst);
        refs.heads.insert(branch, last);
        let mut landed = vec![];
        for (part, entry, commit) in made {
            // One that landed before it may have changed it.
            let entry = self.book.open_one(entry.pull.number).map_or(entry, |known| Entry::clone(&known));
            self.finish(writing, &entry, commit.clone(), order.by.clone(), &refs).await?;
            landed.push((part, commit));
        }
        // The base keeps them from now on. It has moved, so a lock that is in the way of tidying up fails nothing.
        if let Err(err) = self.repository.unpin_all(&names).await {
            tracing::debug!(%err, "pins of what has landed stay until they are archived");
        }
        Ok(Ok(landed))
    }

    /// What is to land, each on top of the one before it, if all is as ordered.
    async fn made(
        &self,
        order: &MergeOrder,
        tip: &Tip,
        branch: &str,
    ) -> Result<Result<Vec<Made>, NotLanded>, LocalError> {
        let refused = |why: String| Ok(Err(NotLanded { tip: None, why, in_the_way: false }));
        if tip.commit != order.base {
            let why = format!("`{branch}` is at {} now, which it was not tested with", tip.commit);
            return Ok(Err(NotLanded { tip: Some(tip.commit.clone()), why, in_the_way: false }));
        }
        let last = Part { pull: order.pull.clone(), head: order.head.clone() };
        let mut made: Vec<Made> = vec![];
        for part in order.with.iter().cloned().chain([last]) {
            let mut entry = Entry::clone(&*self.entry(&part.pull).await?);
            if let Err(why) = is_as_ordered(&entry.pull, &part, branch) {
                return refused(why);
            }
            let at = made.last().map_or(&order.base, |(_, _, commit)| commit).clone();
            let (tree, commit) = match self.onto(&entry.pull, &part.head, &at, order.strategy).await? {
                Onto::Conflict(files) => {
                    return refused(format!("it conflicts with `{branch}` in {}", files.join(", ")));
                }
                Onto::Made { tree, commit } => (tree, commit),
            };
            if part.pull == order.pull && tree != order.tree {
                return refused("merging gives other files than were tested; test it again".to_owned());
            }
            let same = |landing: &&Landing| {
                (&landing.head, &landing.base, &landing.tree, landing.strategy)
                    == (&part.head, &at, &tree, order.strategy)
            };
            // The commit of an earlier call is used again, so that whatever of it is still under way does the same.
            let earlier = match entry.pull.landing.as_ref().filter(same) {
                Some(landing) if self.repository.has(&landing.commit).await? => Some(landing.commit.clone()),
                _ => None,
            };
            let commit = match (earlier, commit) {
                (Some(commit), _) | (None, Ok(commit)) => commit,
                (None, Err(why)) => return refused(why),
            };
            entry.pull.landing = Some(Landing {
                head: part.head.clone(),
                base: at,
                tree,
                strategy: order.strategy,
                commit: commit.clone(),
                by: order.by.clone(),
                delete_branch: order.delete_branch,
            });
            made.push((part, entry, commit));
        }
        Ok(Ok(made))
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
    let refused = |why: String| Some(MergeOutcome::Refused { tip: None, why, in_the_way: false });
    match &pull.state {
        PullState::Open => None,
        PullState::Merged { commit } if pull.head == order.head => {
            let (commit, tip) = (commit.clone(), commit.clone());
            Some(MergeOutcome::Merged { commit, tip, branch_left: None, with: vec![] })
        }
        PullState::Merged { .. } => {
            refused(format!("`{}` was merged with the head {}", order.pull, pull.head))
        }
        PullState::Closed => refused(format!("`{}` is closed; open it again first", order.pull)),
    }
}

fn is_as_ordered(pull: &PullRecord, part: &Part, branch: &str) -> Result<(), String> {
    let id = &part.pull;
    if !pull.is_open() {
        return Err(format!("`{id}` is not open any more"));
    }
    if pull.base_branch != branch {
        return Err(format!("`{id}` is to be merged into `{}`, not into `{branch}`", pull.base_branch));
    }
    if pull.draft {
        return Err(format!("`{id}` is a draft; mark it as ready first"));
    }
    if pull.unmeasured {
        return Err(format!(
            "what `{id}` changes cannot be told; see with `git fsck` whether everything is there"
        ));
    }
    if pull.head != part.head {
        return Err(format!("`{id}` is at {} now, which was not tested", pull.head));
    }
    Ok(())
}

fn outcome(tree: String, runs: &[CheckRun], wanted: &[String]) -> Result<TestOutcome, ScmError> {
    let failed: Vec<&CheckRun> = runs.iter().filter(|run| run.state == RunState::Failed).collect();
    if !failed.is_empty() {
        let parts: Vec<String> = failed.into_iter().map(told).collect();
        return Ok(TestOutcome::Red { output: parts.join("\n\n"), between: String::new() });
    }
    let says_nothing = |run: &&CheckRun| match run.state {
        RunState::Passed => false,
        RunState::Skipped => wanted.contains(&run.check),
        _ => true,
    };
    match runs.iter().find(says_nothing) {
        Some(run) => {
            let why = run.why.as_deref().unwrap_or(match run.state {
                RunState::Skipped => "it was skipped, and policy requires it",
                _ => "it was ended before it was done",
            });
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
