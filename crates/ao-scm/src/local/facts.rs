//! Pull requests as the facts of the port.

use std::collections::BTreeMap;

use ao_core::pull::{
    CheckFacts, CheckState, CommentFacts, PullFacts, ReviewFacts, ReviewVerdict, ThreadFacts,
};
use ao_ports::{CheckRun, FailureItem, FailureKind, FailureReport, RunFilter, RunState};

use super::pull_records::PullEntry;
use super::record::{CommentRecord, PullRecord, ReviewRecord, ThreadRecord};
use super::{LocalError, LocalScm};

impl LocalScm {
    /// Returns all facts of a pull request that the core needs.
    pub(super) async fn facts(&self, entry: &PullEntry) -> Result<PullFacts, LocalError> {
        let runs = if entry.pull.is_open() { self.runs_of(&entry.pull).await? } else { vec![] };
        Ok(self.facts_with(entry, &runs))
    }

    pub(super) fn facts_with(&self, entry: &PullEntry, runs: &[CheckRun]) -> PullFacts {
        let pull = &entry.pull;
        PullFacts {
            head_title: pull.head_title.clone(),
            observed_at: self.now(),
            title: pull.title.clone(),
            url: self.url(pull, ""),
            head: pull.head.clone(),
            head_branch: pull.head_branch.clone(),
            head_repo: pull.head_repo.clone(),
            head_author: pull.head_author.clone(),
            base_branch: pull.base_branch.clone(),
            base_remote: pull.base_remote.clone(),
            base: pull.base.clone(),
            draft: pull.draft,
            state: pull.state.clone(),
            author: pull.author.clone(),
            labels: pull.labels.clone(),
            mergeable: pull.mergeable.clone(),
            checks: self.check_facts(pull, runs),
            no_checks: self.options.checks.is_empty(),
            reviews: pull.reviews.iter().map(|given| review(pull, given)).collect(),
            threads: entry.threads.values().map(|thread| self.thread(pull, thread)).collect(),
            size: pull.size.clone(),
        }
    }

    /// Returns the runs of its current head, the newest first, without speculative ones: a failure there may be the
    /// fault of any pull request ahead, and a cancelled one would stay missing.
    pub(super) async fn runs_of(&self, pull: &PullRecord) -> Result<Vec<CheckRun>, LocalError> {
        if self.options.checks.is_empty() {
            return Ok(vec![]);
        }
        let limit = 32 + 4 * self.options.checks.len();
        let pull_id = Some(self.id(pull.number));
        let filter = RunFilter { pull: pull_id, alone: true, limit, ..RunFilter::default() };
        let mut runs = self.checks.runs(&self.options.project, &filter).await?;
        runs.retain(|run| run.head == pull.head);
        Ok(runs)
    }

    /// Returns the newest state of each configured check. A check without a run is pending.
    fn check_facts(&self, pull: &PullRecord, runs: &[CheckRun]) -> Vec<CheckFacts> {
        if !pull.is_open() {
            return vec![];
        }
        let mut newest: BTreeMap<&str, &CheckRun> = BTreeMap::new();
        for run in runs {
            newest.entry(&run.check).or_insert(run);
        }
        let state = |name: &str| newest.get(name).map_or(CheckState::Pending, |run| self.check_state(run));
        let fact = |name: &str, required| CheckFacts {
            run: newest.get(name).map(|run| run.id.clone()),
            name: name.to_owned(),
            commit: pull.head.clone(),
            state: state(name),
            required,
        };
        self.options.checks.iter().map(|check| fact(&check.name, check.required)).collect()
    }

    fn check_state(&self, run: &CheckRun) -> CheckState {
        let failed = |signature: String, excerpt: String| CheckState::Failed {
            certain: run.failure.as_ref().is_some_and(is_certain),
            files: run.failure.as_ref().map(files).unwrap_or_default(),
            signature,
            excerpt,
            url: format!("ao://{}/checks/{}", self.options.project, run.id),
            log: run.log.clone(),
        };
        let why = || run.why.clone().unwrap_or_default();
        match run.state {
            // A cancelled run has no result, so the check stays pending until it runs again.
            RunState::Queued | RunState::Running | RunState::Cancelled => CheckState::Pending,
            RunState::Passed => CheckState::Passed,
            RunState::Skipped => CheckState::Skipped,
            RunState::Broken => CheckState::Broken { why: why() },
            RunState::Failed => match &run.failure {
                Some(failure) => failed(failure.signature.clone(), excerpt(run, failure)),
                None => failed(why(), why()),
            },
        }
    }

    fn thread(&self, pull: &PullRecord, thread: &ThreadRecord) -> ThreadFacts {
        let begun = thread.begun.as_ref();
        let now = thread.now.as_ref();
        ThreadFacts {
            id: thread.id(),
            path: now.map(|now| now.path.clone()).or_else(|| begun.map(|begun| begun.path.clone())),
            line: now.and_then(|now| now.line),
            resolved: thread.resolved,
            comments: thread.comments.iter().map(|comment| self.comment_facts(pull, comment)).collect(),
        }
    }

    fn comment_facts(&self, pull: &PullRecord, comment: &CommentRecord) -> CommentFacts {
        CommentFacts {
            id: comment.id.clone(),
            author: comment.by.clone(),
            body: comment.body.clone(),
            url: self.url(pull, &format!("#{}", comment.id)),
            revision: comment.edits.revision(),
        }
    }

    fn url(&self, pull: &PullRecord, rest: &str) -> String {
        format!("ao://{}/pulls/{}{rest}", self.options.project, pull.number)
    }
}

fn review(pull: &PullRecord, review: &ReviewRecord) -> ReviewFacts {
    // An approval covers the change as it was then. If the base changed to a branch with another fork point, the same
    // head brings a different change along, so the approval is reported for the old fork point. Merging a pull
    // request below does not invalidate it.
    let is_other = review.base_branch.as_ref().is_some_and(|base| *base != pull.base_branch)
        && review.fork != pull.fork
        && review.commit == pull.head
        && review.verdict == ReviewVerdict::Approved;
    let commit = match is_other {
        true => review.fork.as_ref().unwrap_or(&pull.base),
        false => &review.commit,
    };
    ReviewFacts {
        id: review.id.clone(),
        author: review.by.clone(),
        verdict: review.verdict,
        commit: commit.clone(),
        body: review.body.clone(),
        revision: review.edits.revision(),
    }
}

/// The most files of a failure that are reported.
const FILES: usize = 50;

/// Returns the files of the repository that a failure names. Skips files outside the checkout.
fn files(failure: &FailureReport) -> Vec<String> {
    let inside = |path: &&str| !path.is_empty() && !path.starts_with(['/', '~']) && !path.starts_with("../");
    let paths = failure.items.iter().filter_map(|item| item.path.as_deref());
    let plain = paths.map(|path| path.strip_prefix("./").unwrap_or(path)).filter(inside);
    let mut files: Vec<String> = plain.map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files.truncate(FILES);
    files
}

/// Returns true if a failure cannot be flaky: only errors at source locations, one of them with a code, as compilers
/// and linters print it. An exception has a name without a code, and may come from the network.
fn is_certain(failure: &FailureReport) -> bool {
    let placed =
        |item: &FailureItem| item.kind == FailureKind::Error && item.path.is_some() && item.line.is_some();
    let coded = |item: &FailureItem| {
        let name = item.name.as_deref().unwrap_or_default();
        name.contains("::") || name.contains(['-', '/']) || name.contains(|c: char| c.is_ascii_digit())
    };
    !failure.items.is_empty() && failure.items.iter().all(placed) && failure.items.iter().any(coded)
}

/// The most characters of a command that are shown.
const COMMAND: usize = 200;

/// Returns the command, how it ended and in which step, followed by the relevant lines.
fn excerpt(run: &CheckRun, failure: &FailureReport) -> String {
    let mut lines = run.command.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut command: String = lines.next().unwrap_or_default().chars().take(COMMAND).collect();
    if lines.next().is_some() || command.len() < run.command.trim().len() {
        command.push('…');
    }
    let why = run.why.as_deref().unwrap_or("failed");
    let step = failure.step.as_ref().map(|step| format!(" in step `{step}`")).unwrap_or_default();
    format!("`{command}` {why}{step}\n{}", failure.excerpt)
}
