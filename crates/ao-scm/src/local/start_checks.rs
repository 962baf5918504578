//! Checks of pull requests: when they start, and on which commit.

use std::sync::atomic::Ordering;

use ao_core::pull::Mergeable;
use ao_core::{Commit, PullId};
use ao_ports::{CheckOrder, CheckRun, CheckSpec, CheckWhat, RunState, ScmError};
use tracing::warn;

use super::check_service::CheckJob;
use super::merge_tree::{CommitPair, TreeMerge};
use super::pull_records::{PullEntry, WriteAccess};
use super::record::{FreshMerge, PullRecord};
use super::{LocalError, LocalScm};

impl LocalScm {
    /// Starts the checks of new heads. A pull request with conflicts has nothing to check yet.
    pub(super) async fn start_checks(
        &self,
        writing: &mut WriteAccess,
        entries: Vec<PullEntry>,
    ) -> Result<(), LocalError> {
        let all = &self.options.checks;
        let mut started = vec![];
        for mut entry in entries {
            let pull = &mut entry.pull;
            let fresh = pull.fresh.take();
            if self.is_due(pull) && self.start(pull, fresh, all.clone()).await {
                pull.checked = Some(pull.head.clone());
                started.push(entry);
            }
        }
        if !started.is_empty() {
            self.save(writing, started).await?;
        }
        self.owes.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Starts all checks that are due. The request that should have started them may have been dropped.
    pub(super) async fn start_due_checks(&self, writing: &mut WriteAccess) -> Result<(), LocalError> {
        let open = self.pulls.open();
        let due: Vec<PullEntry> = open
            .iter()
            .filter(|entry| self.is_due(&entry.pull))
            .map(|entry| PullEntry::clone(entry))
            .collect();
        self.start_checks(writing, due).await
    }

    /// Returns true if checks have to be started on its head.
    pub(super) fn is_due(&self, pull: &PullRecord) -> bool {
        !self.options.checks.is_empty()
            && pull.is_open()
            && pull.mergeable == Mergeable::Clean
            && pull.checked.as_ref() != Some(&pull.head)
    }

    /// After a start of the daemon: starts checks that were cancelled with the last daemon, were never started, or
    /// are new.
    pub(super) async fn start_missing_checks(&self) {
        for entry in self.pulls.open() {
            let runs = self.runs_of(&entry.pull).await.unwrap_or_else(|err| {
                warn!(pull = entry.pull.number, %err, "what was checked could not be read");
                vec![]
            });
            let newest = |check: &CheckSpec| runs.iter().find(|run| run.check == check.name);
            let had = |check: &CheckSpec| newest(check).is_some_and(|run| run.state != RunState::Cancelled);
            let missing = self.options.checks.iter().filter(|check| !had(check)).cloned().collect();
            self.start(&entry.pull, None, missing).await;
        }
    }

    /// Returns true if checks were started. A failure is only logged, because checks can be run again on request.
    async fn start(&self, pull: &PullRecord, fresh: Option<FreshMerge>, checks: Vec<CheckSpec>) -> bool {
        if checks.is_empty() || !pull.is_open() || pull.mergeable != Mergeable::Clean {
            return false;
        }
        let started = match fresh {
            Some(fresh) => {
                let job = self.job_on(pull, &pull.head, &pull.base, fresh, checks, false);
                self.checks.run(job).await.map_err(LocalError::from)
            }
            None => self.check_pull(pull, checks, false).await,
        };
        started.inspect_err(|err| warn!(pull = pull.number, %err, "checks could not be started")).is_ok()
    }

    /// Runs checks on the merge result of a pull request.
    async fn check_pull(
        &self,
        pull: &PullRecord,
        checks: Vec<CheckSpec>,
        again: bool,
    ) -> Result<Vec<CheckRun>, LocalError> {
        let tree = match self.repository.merge(&CommitPair::of(pull)).await? {
            TreeMerge::Tree(tree) => tree,
            TreeMerge::Conflict(files) => {
                let why = format!(
                    "it conflicts with `{}` in {}; there is nothing to check before that is settled",
                    pull.base_branch,
                    files.join(", ")
                );
                return Err(ScmError::refused(why).into());
            }
        };
        let job = self.job(pull, &pull.head, &pull.base, tree, checks, again).await?;
        Ok(self.checks.run(job).await?)
    }

    /// Returns a job for the checks of a pull request, with a commit that has the tree of the merge result.
    pub(super) async fn job(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        tree: String,
        checks: Vec<CheckSpec>,
        again: bool,
    ) -> Result<CheckJob, LocalError> {
        let commit = self.merged_commit(pull, head, base, &tree).await?;
        Ok(self.job_on(pull, head, base, FreshMerge { tree, commit }, checks, again))
    }

    pub(super) fn job_on(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        FreshMerge { tree, commit }: FreshMerge,
        checks: Vec<CheckSpec>,
        again: bool,
    ) -> CheckJob {
        CheckJob {
            pull: Some(self.id(pull.number)),
            base: Some(base.clone()),
            commit,
            changed: pull.touched().map(<[String]>::to_vec),
            ..self.job_at(head.clone(), tree, checks, again)
        }
    }

    /// Returns a job for the checks of a commit as it is.
    fn job_at(&self, head: Commit, tree: String, checks: Vec<CheckSpec>, again: bool) -> CheckJob {
        CheckJob {
            project: self.options.project.clone(),
            repository: self.repository.root.clone(),
            common_dir: self.repository.common_dir.clone(),
            pull: None,
            commit: head.clone(),
            head,
            base: None,
            tree,
            ahead: vec![],
            changed: None,
            checks,
            again,
        }
    }

    /// Creates a commit with the merged tree. The same inputs give the same commit, so nothing is made twice.
    pub(super) async fn merged_commit(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        tree: &str,
    ) -> Result<Commit, LocalError> {
        let date = format!("@{} +0000", pull.head_at);
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        let git = self.repository.git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        let git = who.into_iter().fold(git, |git, name| git.with(name, "ao@orchestrator.local"));
        let message = format!("{} merged onto {}\n", self.id(pull.number), pull.base_branch);
        let args =
            ["commit-tree", "--no-gpg-sign", "-p", base.as_str(), "-p", head.as_str(), "-F", "-", tree];
        Ok(Commit::new(&git.write_with(&args, Some(&message)).await?))
    }

    /// Runs checks on request.
    pub(super) async fn run_checks(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, LocalError> {
        let checks = self.named(&order.checks)?;
        let revision = match &order.what {
            CheckWhat::Pull(pull) => {
                self.up_to_date_about(pull).await?;
                let entry = self.entry(pull).await?;
                return self.check_pull(&entry.pull, checks, order.again).await;
            }
            CheckWhat::Revision(revision) => revision,
        };
        let git = &self.repository.git;
        let unknown =
            || ScmError::refused(format!("there is no branch or commit `{}`", revision.escape_debug()));
        let short = match revision.starts_with('-') {
            true => format!("refs/heads/{revision}"),
            false => revision.clone(),
        };
        let head = git.commit(&short).await.ok().flatten().ok_or_else(unknown)?;
        let tree = git.read(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]).await?;
        Ok(self.checks.run(self.job_at(Commit::new(&head), tree, checks, order.again)).await?)
    }

    /// Runs a check of a head again.
    pub(super) async fn rerun_check(
        &self,
        pull: &PullId,
        head: &Commit,
        check: &str,
    ) -> Result<(), LocalError> {
        let entry = self.entry(pull).await?;
        if entry.pull.head != *head {
            let why = format!(
                "`{pull}` is at {} now; checks of an earlier head are not run again",
                entry.pull.head
            );
            return Err(ScmError::refused(why).into());
        }
        self.check_pull(&entry.pull, self.named(&[check.to_owned()])?, true).await?;
        Ok(())
    }

    /// Returns the checks of these names; all, if there are no names.
    fn named(&self, names: &[String]) -> Result<Vec<CheckSpec>, ScmError> {
        let all = &self.options.checks;
        if all.is_empty() {
            let why = format!("no checks are configured for `{}`", self.options.project);
            return Err(ScmError::refused(why));
        }
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|check| check.name != **name)) {
            let names: Vec<&str> = all.iter().map(|check| check.name.as_str()).collect();
            let why =
                format!("there is no check `{}`; there are {}", unknown.escape_debug(), names.join(", "));
            return Err(ScmError::refused(why));
        }
        Ok(all.iter().filter(|check| names.is_empty() || names.contains(&check.name)).cloned().collect())
    }
}
