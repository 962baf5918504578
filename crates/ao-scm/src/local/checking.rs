//! Checks of pull requests: when they are started, and on what.

use std::collections::BTreeSet;

use ao_core::pull::Mergeable;
use ao_core::{Commit, PullId};
use ao_ports::{CheckOrder, CheckRun, CheckSpec, CheckWhat, RunFilter, RunState, TrackerError};
use tracing::warn;

use super::book::{Entry, Writing};
use super::checks::Job;
use super::record::{Checked, PullRecord};
use super::tree::{Merged, Pair};
use super::{LocalError, LocalScm};

impl LocalScm {
    /// Starts the checks that the heads of these have not had. What conflicts has nothing to check yet.
    pub(super) async fn start_checks(
        &self,
        writing: &mut Writing,
        entries: Vec<Entry>,
    ) -> Result<(), LocalError> {
        let mut started = vec![];
        for mut entry in entries {
            let missing = self.missing_checks(&entry.pull);
            if missing.is_empty() || !entry.pull.is_open() || entry.pull.mergeable != Mergeable::Clean {
                continue;
            }
            // Whoever wants it can have them run again; the rest goes on.
            if let Err(err) = self.check_pull(&entry.pull, missing, false).await {
                warn!(pull = entry.pull.number, %err, "checks could not be started");
                continue;
            }
            let checks = self.options.checks.iter().map(|check| check.name.clone()).collect();
            entry.pull.checked = Some(Checked { head: entry.pull.head.clone(), checks });
            started.push(entry);
        }
        match started.is_empty() {
            true => Ok(()),
            false => self.save(writing, started).await,
        }
    }

    /// After a start: the checks that were added meanwhile, and those that were not started before the end.
    pub(super) async fn start_missing_checks(&self) {
        let mut writing = self.book.writing().await;
        let mut entries: Vec<Entry> = self.book.open().iter().map(|entry| Entry::clone(entry)).collect();
        for entry in entries.iter_mut().filter(|_| !self.options.checks.is_empty()) {
            self.forget_cut_off(&mut entry.pull).await;
        }
        if let Err(err) = self.start_checks(&mut writing, entries).await {
            warn!(%err, "what checks were started could not be written down");
        }
    }

    /// A run that the end of the daemon has cut off says nothing about the head, so it counts as not started.
    async fn forget_cut_off(&self, pull: &mut PullRecord) {
        let Some(checked) = &mut pull.checked else { return };
        let filter = RunFilter { pull: Some(self.id(pull.number)), ..RunFilter::default() };
        let runs = match self.checks.runs(&self.options.project, &filter).await {
            Ok(runs) => runs,
            Err(err) => return warn!(pull = pull.number, %err, "it is not known which checks were cut off"),
        };
        checked.checks.retain(|check| {
            let newest = runs.iter().find(|run| run.check == *check && run.head == checked.head);
            newest.is_some_and(|run| run.state != RunState::Cancelled)
        });
    }

    fn missing_checks(&self, pull: &PullRecord) -> Vec<CheckSpec> {
        let had: BTreeSet<&String> = match &pull.checked {
            Some(checked) if checked.head == pull.head => checked.checks.iter().collect(),
            _ => BTreeSet::new(),
        };
        self.options.checks.iter().filter(|check| !had.contains(&check.name)).cloned().collect()
    }

    /// Has checks run on a pull request as it would land.
    async fn check_pull(
        &self,
        pull: &PullRecord,
        checks: Vec<CheckSpec>,
        again: bool,
    ) -> Result<Vec<CheckRun>, LocalError> {
        let tree = match self.repository.merge(&Pair::of(pull)).await? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(files) => {
                let why = format!(
                    "it conflicts with `{}` in {}; there is nothing to check before that is settled",
                    pull.base_branch,
                    files.join(", ")
                );
                return Err(TrackerError::refused(why).into());
            }
        };
        let job = self.job(pull, &pull.head, &pull.base, tree, checks, again).await?;
        Ok(self.checks.run(job).await?)
    }

    /// An order for the checks of a pull request, with a commit that has the tree which would land.
    pub(super) async fn job(
        &self,
        pull: &PullRecord,
        head: &Commit,
        base: &Commit,
        tree: String,
        checks: Vec<CheckSpec>,
        again: bool,
    ) -> Result<Job, LocalError> {
        // The same things give the same commit, so nothing is made twice.
        let date = format!("@{} +0000", pull.head_at);
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        let git = self.repository.git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        let git = who.into_iter().fold(git, |git, name| git.with(name, "ao@orchestrator.local"));
        let message = format!("{} merged onto {}\n", self.id(pull.number), pull.base_branch);
        let args =
            ["commit-tree", "--no-gpg-sign", "-p", base.as_str(), "-p", head.as_str(), "-F", "-", &tree];
        let commit = git.write_with(&args, Some(&message)).await?;
        Ok(Job {
            project: self.options.project.clone(),
            repository: self.repository.root.clone(),
            common_dir: self.repository.common_dir.clone(),
            pull: Some(self.id(pull.number)),
            head: head.clone(),
            base: Some(base.clone()),
            tree,
            commit: Commit::new(&commit),
            changed: Some(pull.size.files.clone()).filter(|_| pull.fork.is_some()),
            checks,
            again,
        })
    }

    /// Runs what somebody wants to be run.
    pub(super) async fn run_checks(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, LocalError> {
        let checks = self.named(&order.checks)?;
        let revision = match &order.what {
            CheckWhat::Pull(pull) => {
                self.up_to_date().await?;
                let entry = self.entry(pull).await?;
                return self.check_pull(&entry.pull, checks, order.again).await;
            }
            CheckWhat::Revision(revision) => revision,
        };
        let git = &self.repository.git;
        let unknown =
            || TrackerError::refused(format!("there is no branch or commit `{}`", revision.escape_debug()));
        let short = match revision.starts_with('-') {
            true => format!("refs/heads/{revision}"),
            false => revision.clone(),
        };
        let head = git.commit(&short).await.ok().flatten().ok_or_else(unknown)?;
        let tree = git.read(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]).await?;
        let job = Job {
            project: self.options.project.clone(),
            repository: self.repository.root.clone(),
            common_dir: self.repository.common_dir.clone(),
            pull: None,
            head: Commit::new(&head),
            base: None,
            tree,
            commit: Commit::new(&head),
            changed: None,
            checks,
            again: order.again,
        };
        Ok(self.checks.run(job).await?)
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
            return Err(TrackerError::refused(why).into());
        }
        self.check_pull(&entry.pull, self.named(&[check.to_owned()])?, true).await?;
        Ok(())
    }

    /// The checks of these names; all, if there are none.
    fn named(&self, names: &[String]) -> Result<Vec<CheckSpec>, TrackerError> {
        let all = &self.options.checks;
        if all.is_empty() {
            let why = format!("no checks are configured for `{}`", self.options.project);
            return Err(TrackerError::refused(why));
        }
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|check| check.name != **name)) {
            let names: Vec<&str> = all.iter().map(|check| check.name.as_str()).collect();
            let why =
                format!("there is no check `{}`; there are {}", unknown.escape_debug(), names.join(", "));
            return Err(TrackerError::refused(why));
        }
        Ok(all.iter().filter(|check| names.is_empty() || names.contains(&check.name)).cloned().collect())
    }
}
