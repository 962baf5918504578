//! Tests the merge result, and lands exactly that.
//!
//! ```text
//!  pinned head, base and tree ──▶ commit made ──▶ recorded ──▶ base moved ──▶ recorded as merged
//!                                                     └──── after a crash: landed? finish, else nothing has happened
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_core::pull::PullState;
use ao_core::queue::LanePart;
use ao_core::{Commit, PullId};
use ao_ports::{CheckRun, CheckSpec, MergeOrder, MergeOutcome, RunState, ScmError, TestOrder, TestOutcome};
use tracing::info;

use super::base_tip::BaseTip;
use super::check_service::{CheckJob, CheckService};
use super::land::NotLanded;
use super::merge_chain::{ChainOutcome, MergeOnto};
use super::pull_records::{PullEntry, WriteAccess};
use super::record::{PendingLanding, PullRecord};
use super::{LocalError, LocalScm};

/// One of the pull requests that land together: its part, its entry, and its commit.
type Made = (LanePart, PullEntry, Commit);

/// Withdraws the request for runs when it is dropped before they are over.
struct RunsGuard {
    checks: Arc<dyn CheckService>,
    runs: Vec<String>,
}

impl Drop for RunsGuard {
    fn drop(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let (false, Ok(runtime)) = (runs.is_empty(), tokio::runtime::Handle::try_current()) {
            let checks = self.checks.clone();
            runtime.spawn(async move { checks.give_up(&runs).await });
        }
    }
}

/// The most bytes of a failed check's output that are reported.
const EXCERPT: usize = 4 * 1024;

impl LocalScm {
    pub(super) async fn test_merge(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.up_to_date_about(&order.pull).await?;
        let entry = self.entry(&order.pull).await?;
        self.may_test_on(&order.base)?;
        let base = match self.grown(&order.base, &order.ahead, order.strategy).await? {
            ChainOutcome::To(base) => base,
            ChainOutcome::Stuck { pull, files } => {
                return Ok(TestOutcome::Conflict { files, pull: Some(pull) });
            }
        };
        let (tree, commit) = match self.onto(&entry.pull, &order.head, &base, order.strategy).await? {
            MergeOnto::Made { tree, commit } => (tree, commit),
            MergeOnto::Conflict(files) => return Ok(TestOutcome::Conflict { files, pull: None }),
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

    /// Runs checks and waits for them. Speculative runs are for this test alone: they are withdrawn if the caller is
    /// dropped. Without pull requests ahead, they are the pull request's own runs, and go on.
    async fn finished(&self, job: CheckJob) -> Result<Vec<CheckRun>, ScmError> {
        let is_alone = job.ahead.is_empty();
        let runs = self.checks.run(job).await?;
        let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
        let given_up = if is_alone { vec![] } else { ids.clone() };
        let mut waiting = RunsGuard { checks: self.checks.clone(), runs: given_up };
        let finished = self.checks.finished(&ids).await?;
        waiting.runs.clear();
        Ok(finished)
    }

    /// Returns the checks that decide about a merge: the required ones, or all if none is, and those that the policy
    /// requires. The latter run regardless of their path filters.
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

    /// Returns the changed paths including those of the pull requests ahead, which are in the tree too; `None` if
    /// unknown.
    async fn changed_with(
        &self,
        own: Option<Vec<String>>,
        ahead: &[LanePart],
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
        let mut writing = self.pulls.writing().await;
        // Finish the merge of an earlier call, if that has landed.
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
            return Ok(self.merged(order, commit, tip, landed).await?);
        }
        let branch = entry.pull.base_branch.clone();
        let held = |why| MergeOutcome::Refused { tip: None, why, in_the_way: true };
        if let Some(why) = self.held_back(&branch) {
            return Ok(held(why));
        }
        match self.make_and_land(&mut writing, order).await? {
            Ok(mut landed) => match landed.pop() {
                Some((_, commit)) => Ok(self.merged(order, commit.clone(), commit, landed).await?),
                None => Err(ScmError::Failed("nothing was to be merged".to_owned())),
            },
            Err(NotLanded { tip, why, in_the_way }) => {
                // The base may have been moved by an agent, and then nothing must be tested on it.
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

    /// Returns the outcome of a merge, after deleting the branches that are to go.
    async fn merged(
        &self,
        order: &MergeOrder,
        commit: Commit,
        tip: Commit,
        with: Vec<(LanePart, Commit)>,
    ) -> Result<MergeOutcome, LocalError> {
        let mut branch_left = None;
        if order.delete_branch {
            for pull in with.iter().map(|(part, _)| &part.pull).chain([&order.pull]) {
                branch_left = self.take_branch(&self.entry(pull).await?.pull).await;
            }
        }
        Ok(MergeOutcome::Merged { commit, tip, branch_left, with })
    }

    /// Makes the commits of all pull requests that land together, and moves the base over all of them at once: the
    /// states in between were not tested, so the base is never there.
    async fn make_and_land(
        &self,
        writing: &mut WriteAccess,
        order: &MergeOrder,
    ) -> Result<Result<Vec<(LanePart, Commit)>, NotLanded>, LocalError> {
        let mut refs = writing.refs.clone().unwrap_or_default();
        let branch = self.entry(&order.pull).await?.pull.base_branch.clone();
        let tip = self.tip_of(&refs, &branch).await?;
        let mut made = match self.made(order, &tip, &branch).await? {
            Ok(made) => made,
            Err(not) => return Ok(Err(not)),
        };
        let Some(last) = made.last().map(|(_, _, commit)| commit.clone()) else { return Ok(Ok(vec![])) };
        // No ref reaches them before they have landed, and git must not prune a recorded commit.
        let pins = made.iter().map(|(_, entry, commit)| (format!("{}/landing", entry.pull.number), commit));
        let pins: Vec<(String, &Commit)> = pins.collect();
        self.repository.pin(&pins).await?;
        let names: Vec<String> = pins.into_iter().map(|(name, _)| name).collect();
        let written = |made: &[Made]| made.iter().map(|(_, entry, _)| entry.clone()).collect();
        self.pulls.save(writing, written(&made)).await?;
        let message = match order.with.len() {
            0 => format!("ao: merge {}", order.pull),
            others => format!("ao: merge {} and {others} others", order.pull),
        };
        if let Err(not) = self.repository.land(&branch, &tip, &last, &message).await? {
            made.iter_mut().for_each(|(_, entry, _)| entry.pull.landing = None);
            self.pulls.save(writing, written(&made)).await?;
            for name in names {
                self.repository.unpin(&name).await?;
            }
            return Ok(Err(not));
        }
        self.landed_at(&branch, &last).await?;
        // The next request must not wait until the watch has noticed the move.
        self.dirty.store(true, Ordering::SeqCst);
        refs.heads.insert(branch, last);
        let mut landed = vec![];
        for (part, entry, commit) in made {
            // An earlier landing in this loop may have changed it.
            let entry =
                self.pulls.open_one(entry.pull.number).map_or(entry, |known| PullEntry::clone(&known));
            self.finish(writing, &entry, commit.clone(), order.by.clone(), &refs).await?;
            landed.push((part, commit));
        }
        // The base keeps them from now on. The merge has happened, so a ref lock that blocks the cleanup is no
        // failure.
        if let Err(err) = self.repository.unpin_all(&names).await {
            tracing::debug!(%err, "pins of what has landed stay until they are archived");
        }
        Ok(Ok(landed))
    }

    /// Makes the commits to land, each on top of the one before it, if everything is as ordered.
    async fn made(
        &self,
        order: &MergeOrder,
        tip: &BaseTip,
        branch: &str,
    ) -> Result<Result<Vec<Made>, NotLanded>, LocalError> {
        let refused = |why: String| Ok(Err(NotLanded { tip: None, why, in_the_way: false }));
        if tip.commit != order.base {
            let why = format!("`{branch}` is at {} now, which it was not tested with", tip.commit);
            return Ok(Err(NotLanded { tip: Some(tip.commit.clone()), why, in_the_way: false }));
        }
        let last = LanePart { pull: order.pull.clone(), head: order.head.clone() };
        let mut made: Vec<Made> = vec![];
        for part in order.with.iter().cloned().chain([last]) {
            let mut entry = PullEntry::clone(&*self.entry(&part.pull).await?);
            if let Err(why) = is_as_ordered(&entry.pull, &part, branch) {
                return refused(why);
            }
            let at = made.last().map_or(&order.base, |(_, _, commit)| commit).clone();
            let (tree, commit) = match self.onto(&entry.pull, &part.head, &at, order.strategy).await? {
                MergeOnto::Conflict(files) => {
                    return refused(format!("it conflicts with `{branch}` in {}", files.join(", ")));
                }
                MergeOnto::Made { tree, commit } => (tree, commit),
            };
            if part.pull == order.pull && tree != order.tree {
                return refused("merging gives other files than were tested; test it again".to_owned());
            }
            let same = |landing: &&PendingLanding| {
                (&landing.head, &landing.base, &landing.tree, landing.strategy)
                    == (&part.head, &at, &tree, order.strategy)
            };
            // Reuse the commit of an earlier call, so that a part of it that still runs has the same effect.
            let earlier = match entry.pull.landing.as_ref().filter(same) {
                Some(landing) if self.repository.has(&landing.commit).await? => Some(landing.commit.clone()),
                _ => None,
            };
            let commit = match (earlier, commit) {
                (Some(commit), _) | (None, Ok(commit)) => commit,
                (None, Err(why)) => return refused(why),
            };
            entry.pull.landing = Some(PendingLanding {
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

    pub(super) async fn delete_merged_branch(
        &self,
        pull: &PullId,
        head: &Commit,
    ) -> Result<Option<String>, LocalError> {
        let mut writing = self.pulls.writing().await;
        if self.is_behind_about(pull) {
            self.look(&mut writing).await?;
        }
        let entry = self.entry(pull).await?;
        match &entry.pull.state {
            PullState::Merged { .. } if entry.pull.head == *head => Ok(self.take_branch(&entry.pull).await),
            PullState::Merged { .. } => Ok(Some(merged_with(pull, &entry.pull.head))),
            PullState::Open | PullState::Closed => {
                Err(ScmError::refused(format!("`{pull}` is not merged")).into())
            }
        }
    }

    /// Deletes the branch of a merged pull request, or returns why it stays. The merge is valid either way.
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
    /// Returns the reason if another open pull request needs the branch.
    fn needed_by(&self, pull: &PullRecord) -> Option<String> {
        if pull.head_repo.is_some() {
            return None;
        }
        self.pulls
            .open()
            .iter()
            .map(|entry| &entry.pull)
            .filter(|other| other.number != pull.number)
            .find_map(|other| {
                let id = self.id(other.number);
                if other.head_repo.is_none() && other.head_branch == pull.head_branch {
                    return Some(format!("it is the branch of `{id}` too"));
                }
                (other.base_branch == pull.head_branch).then(|| format!("`{id}` is to be merged into it"))
            })
    }
}

/// Returns the outcome for a pull request that is no longer open.
fn ended(pull: &PullRecord, order: &MergeOrder) -> Option<MergeOutcome> {
    let refused = |why: String| Some(MergeOutcome::Refused { tip: None, why, in_the_way: false });
    match &pull.state {
        PullState::Open => None,
        PullState::Merged { commit } if pull.head == order.head => {
            let (commit, tip) = (commit.clone(), commit.clone());
            Some(MergeOutcome::Merged { commit, tip, branch_left: None, with: vec![] })
        }
        PullState::Merged { .. } => refused(merged_with(&order.pull, &pull.head)),
        PullState::Closed => refused(format!("`{}` is closed; open it again first", order.pull)),
    }
}

fn merged_with(pull: &PullId, head: &Commit) -> String {
    format!("`{pull}` was merged with the head {head}")
}

fn is_as_ordered(pull: &PullRecord, part: &LanePart, branch: &str) -> Result<(), String> {
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
        return Err(format!("the change of `{id}` cannot be computed; check the repository with `git fsck`"));
    }
    if pull.head != part.head {
        return Err(format!("`{id}` is at {} now, which was not tested", pull.head));
    }
    Ok(())
}

fn outcome(tree: String, runs: &[CheckRun], wanted: &[String]) -> Result<TestOutcome, ScmError> {
    let failed: Vec<&CheckRun> = runs.iter().filter(|run| run.state == RunState::Failed).collect();
    if !failed.is_empty() {
        let parts: Vec<String> = failed.into_iter().map(failed_check).collect();
        return Ok(TestOutcome::Red { output: parts.join("\n\n"), between: String::new() });
    }
    let is_inconclusive = |run: &&CheckRun| match run.state {
        RunState::Passed => false,
        RunState::Skipped => wanted.contains(&run.check),
        _ => true,
    };
    match runs.iter().find(is_inconclusive) {
        Some(run) => {
            let why = run.why.as_deref().unwrap_or(match run.state {
                RunState::Skipped => "it was skipped, and policy requires it",
                _ => "it was cancelled",
            });
            Err(ScmError::Failed(format!("the check `{}` gave no result for the change: {why}", run.check)))
        }
        None => Ok(TestOutcome::Green { tree }),
    }
}

/// Returns the name of a failed check and its relevant output.
fn failed_check(run: &CheckRun) -> String {
    let excerpt = run.failure.as_ref().map(|failure| failure.excerpt.as_str());
    let text = excerpt.filter(|excerpt| !excerpt.is_empty()).or(run.why.as_deref()).unwrap_or_default();
    let end = (0..=text.len().min(EXCERPT)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}:\n{}", run.check, &text[..end])
}
