//! Read models: lists, one pull request in detail, and its diff.

use std::collections::BTreeMap;

use ao_core::pull::PullState;
use ao_core::{Commit, PullId, Timestamp};
use ao_ports::{CommitSeen, PullDetail, PullFilter, PullFilterState, PullRow, ScmError, ThreadDetail};

use super::pull_records::PullEntry;
use super::record::{PullRecord, ThreadRecord};
use super::{LocalError, LocalScm};

/// The most commits of a pull request that are shown, the newest of them.
const COMMITS: usize = 250;

impl LocalScm {
    pub(super) async fn rows(&self, filter: &PullFilter) -> Result<Vec<PullRow>, LocalError> {
        self.up_to_date().await?;
        let wanted = |pull: &PullRecord| is_wanted(pull, filter);
        let mut rows: Vec<PullRow> = vec![];
        if matches!(filter.state, PullFilterState::Open | PullFilterState::All) {
            let open = self.pulls.open();
            let newest = open.iter().rev().filter(|entry| wanted(&entry.pull)).take(filter.limit);
            rows.extend(newest.map(|entry| self.row(&entry.pull)));
        }
        if filter.state != PullFilterState::Open {
            // Higher numbers are newer, so at most `limit` of each kind are needed.
            let done = self.pulls.done(filter.limit, wanted).await?;
            rows.extend(done.iter().map(|pull| self.row(pull)));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.pull.number));
        rows.truncate(filter.limit);
        Ok(rows)
    }

    fn row(&self, pull: &PullRecord) -> PullRow {
        PullRow {
            pull: self.id(pull.number),
            title: pull.title.clone(),
            state: pull.state.clone(),
            draft: pull.draft,
            head_branch: pull.head_branch.clone(),
            base_branch: pull.base_branch.clone(),
            head: pull.head.clone(),
            author: pull.author.clone(),
            labels: pull.labels.clone(),
            created_at: pull.created_at,
            updated_at: pull.updated_at,
        }
    }

    pub(super) async fn detail(&self, pull: &PullId) -> Result<PullDetail, LocalError> {
        self.up_to_date_about(pull).await?;
        let entry = self.entry(pull).await?;
        let runs = self.runs_of(&entry.pull).await?;
        let record = &entry.pull;
        let threads = entry.threads.values().map(|thread| (thread.id(), thread_detail(thread))).collect();
        Ok(PullDetail {
            pull: pull.clone(),
            facts: self.facts_with(&entry, &runs),
            body: record.body.clone(),
            created_at: record.created_at,
            updated_at: record.updated_at,
            stacked_on: self.stacked_on(record).filter(|_| record.is_open()),
            stacked: match record.is_open() {
                true => self.above(record).iter().map(|entry| self.id(entry.pull.number)).collect(),
                false => vec![],
            },
            commits: self.commits_of(&entry).await?,
            threads,
            reviewed_at: record.reviews.iter().map(|review| (review.id.clone(), review.at)).collect(),
            reworded_at: record
                .reviews
                .iter()
                .filter_map(|review| Some((review.id.clone(), review.edits.last?)))
                .collect(),
            checks: runs,
            merged_by: record.merged_by.clone(),
        })
    }

    pub(super) async fn diff_of(&self, pull: &PullId, limit: usize) -> Result<String, LocalError> {
        self.up_to_date_about(pull).await?;
        let entry = self.entry(pull).await?;
        let head = &entry.pull.head;
        if !entry.pull.is_open() && !self.repository.has(head).await? {
            let why = format!(
                "the commits of {pull} are no longer in the repository; `keepRescues` sets how long they are kept after a merge"
            );
            return Err(ScmError::refused(why).into());
        }
        Ok(self.repository.diff(fork(&entry)?, head, limit).await?)
    }

    /// Returns the diff of this head and base, and fails if the pull request has moved on: its fork point belongs to
    /// them.
    pub(super) async fn diff_of_commits(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, LocalError> {
        let entry = self.entry(pull).await?;
        if (&entry.pull.head, &entry.pull.base) != (head, base) {
            let why = format!("{pull} has moved on from {head} on {base}; look at it again");
            return Err(ScmError::Failed(why).into());
        }
        Ok(self.repository.diff_as_text(fork(&entry)?, head, limit).await?)
    }

    pub(super) async fn words_of(&self, pull: &PullId) -> Result<String, LocalError> {
        self.up_to_date_about(pull).await?;
        let entry = self.entry(pull).await?;
        let record = &entry.pull;
        let mut words = format!("{}\n{}\n", record.title, record.body);
        if let Some(fork) = &record.fork {
            let count = format!("--max-count={COMMITS}");
            let (head, not) = (record.head.as_str(), format!("^{fork}"));
            let args = ["log", "--format=%B", "--no-show-signature", &count, head, &not, "--"];
            words += &self.repository.git.read(&args).await?;
        }
        Ok(words)
    }

    async fn commits_of(&self, entry: &PullEntry) -> Result<Vec<CommitSeen>, LocalError> {
        // Commits of a change that was merged long ago are not kept.
        if !entry.pull.is_open() && !self.repository.has(&entry.pull.head).await? {
            return Ok(vec![]);
        }
        let Some(fork) = &entry.pull.fork else { return Ok(vec![]) };
        let count = format!("--max-count={COMMITS}");
        let (head, not) = (entry.pull.head.as_str(), format!("^{fork}"));
        let base = format!("^{}", entry.pull.base);
        let mut args =
            vec!["log", "-z", "--format=%H%x00%s%x00%an%x00%ct", "--no-show-signature", &count, head, &not];
        // Commits that came from the base are not its own; once merged, all of them are in the base.
        if entry.pull.is_open() {
            args.push(&base);
        }
        args.push("--");
        let output = self.repository.git.read(&args).await?;
        let mut commits: Vec<CommitSeen> =
            output.split('\0').collect::<Vec<_>>().chunks(4).filter_map(commit_seen).collect();
        commits.reverse();
        Ok(commits)
    }
}

fn commit_seen(fields: &[&str]) -> Option<CommitSeen> {
    let [commit, title, author, at] = fields else { return None };
    let seconds: i64 = at.trim().parse().ok()?;
    Some(CommitSeen {
        commit: Commit::new(commit.trim()),
        title: title.chars().take(256).collect(),
        author: author.chars().take(256).collect(),
        at: Timestamp(seconds.saturating_mul(1000)),
    })
}

fn is_wanted(pull: &PullRecord, filter: &PullFilter) -> bool {
    let state = match filter.state {
        PullFilterState::All => true,
        PullFilterState::Open => pull.is_open(),
        PullFilterState::Merged => matches!(pull.state, PullState::Merged { .. }),
        PullFilterState::Closed => pull.state == PullState::Closed,
    };
    state
        && filter.head_branch.as_ref().is_none_or(|branch| *branch == pull.head_branch)
        && filter.base_branch.as_ref().is_none_or(|branch| *branch == pull.base_branch)
        && filter.author.as_ref().is_none_or(|login| pull.author.is(login))
        && filter.labels.is_subset(&pull.labels)
}

fn thread_detail(thread: &ThreadRecord) -> ThreadDetail {
    let begun = thread.begun.as_ref();
    let at: BTreeMap<String, Timestamp> =
        thread.comments.iter().map(|comment| (comment.id.clone(), comment.at)).collect();
    let edited = thread.comments.iter().filter_map(|comment| Some((comment.id.clone(), comment.edits.last?)));
    ThreadDetail {
        side: begun.map(|begun| begun.side).unwrap_or_default(),
        commit: begun.map(|begun| begun.commit.clone()),
        begun_line: begun.and_then(|begun| begun.line),
        outdated: begun.is_some() && thread.now.is_none(),
        resolved_by: thread.resolved_by.clone(),
        context: begun.and_then(|begun| begun.context.clone()),
        at,
        edited: edited.collect(),
    }
}

/// Returns the fork point of a pull request.
fn fork(entry: &PullEntry) -> Result<&Commit, ScmError> {
    entry.pull.fork.as_ref().ok_or_else(|| {
        ScmError::refused(format!(
            "`{}` and `{}` have no commit in common, so there is no difference to show",
            entry.pull.head_branch, entry.pull.base_branch
        ))
    })
}
