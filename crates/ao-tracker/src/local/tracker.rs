//! The local tracker: one change at a time, with either storage.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::task::TaskFacts;
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::{
    Clock, HintReceiver, LookHint, NewTask, Records, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen,
    Tracker, TrackerError,
};
use async_trait::async_trait;
use camino::Utf8PathBuf;
use tokio::sync::{Mutex, broadcast};

use super::blocks;
use super::files::{FileStorage, FileWarning};
use super::issue::{self, Issue, IssueComment, task_id};
use super::records::RecordStorage;
use super::storage::{IssueMatcher, IssueStorage};
use crate::import;

/// Tasks per page.
const PAGE: usize = 100;

/// Most queued change events. A receiver that falls behind further asks for the whole project instead.
const NEWS: usize = 1024;

/// The project, and how its issues are stored.
#[derive(Debug, Clone)]
pub struct Options {
    pub project: ProjectId,
    pub keep: Keep,
}

/// The storage of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// In the daemon's own database.
    Store,
    /// As Markdown files in `.ao/issues` of a checkout.
    Files { root: Utf8PathBuf },
}

/// The issues of one project.
pub struct LocalTracker {
    project: ProjectId,
    storage: Arc<dyn IssueStorage>,
    /// The same storage, if it consists of files, which can change without us.
    files: Option<Arc<FileStorage>>,
    clock: Arc<dyn Clock>,
    /// Held from reading an issue until its change is written. Across awaits, so it is an async lock.
    turn: Mutex<()>,
    news: broadcast::Sender<u64>,
}

impl LocalTracker {
    pub fn new(options: Options, records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> LocalTracker {
        let Options { project, keep } = options;
        let (storage, files): (Arc<dyn IssueStorage>, _) = match keep {
            Keep::Store => (Arc::new(RecordStorage::new(&project, records, Arc::clone(&clock))), None),
            Keep::Files { root } => {
                let files = Arc::new(FileStorage::new(&project, root, records));
                (Arc::clone(&files) as _, Some(files))
            }
        };
        let (news, _) = broadcast::channel(NEWS);
        LocalTracker { project, storage, files, clock, turn: Mutex::new(()), news }
    }

    /// Returns the mistakes in the files that people edit, as they are now. Empty if issues are not stored in files.
    pub async fn warnings(&self) -> Result<Vec<FileWarning>, TrackerError> {
        match &self.files {
            Some(files) => files.warnings().await,
            None => Ok(vec![]),
        }
    }

    fn must_be_ours(&self, project: &ProjectId) -> Result<(), TrackerError> {
        if *project == self.project {
            return Ok(());
        }
        Err(TrackerError::not_found(format!("the project `{project}` in the issues of `{}`", self.project)))
    }

    async fn issue(&self, task: &TaskId) -> Result<Issue, TrackerError> {
        let missing = || TrackerError::not_found(format!("issue `{task}`"));
        if task.project != self.project {
            return Err(missing());
        }
        let number = match import::github_number(&task.key) {
            Some(number) => self.imported_from_github(number, task).await?,
            None => issue::number(&task.key),
        };
        self.storage.get(number.ok_or_else(missing)?).await?.ok_or_else(missing)
    }

    /// Finds the issue that GitHub calls `GH-789`: the one that was imported with that number. If no issue came from
    /// GitHub, the numbers are our own, and it is issue 789. An issue with another number at GitHub is never taken for
    /// it.
    async fn imported_from_github(&self, number: u64, task: &TaskId) -> Result<Option<u64>, TrackerError> {
        let imported: Vec<(u64, u64)> = (self.storage.keys().await?)
            .into_iter()
            .filter_map(|(key, ours)| Some((import::github_number_of(&key)?, ours)))
            .collect();
        let meant: Vec<u64> =
            imported.iter().filter(|(theirs, _)| *theirs == number).map(|(_, ours)| *ours).collect();
        match meant[..] {
            [one] => Ok(Some(one)),
            [] if imported.is_empty() => Ok(Some(number)),
            [] => Ok(None),
            _ => {
                let ids: Vec<String> =
                    meant.iter().map(|ours| format!("`{}`", task_id(&self.project, *ours))).collect();
                let what = format!("`{task}` is the number of several imported issues: {}", ids.join(", "));
                Err(TrackerError::refused(what))
            }
        }
    }

    /// Converts the ids of blockers to numbers.
    fn numbers(&self, tasks: &BTreeSet<TaskId>) -> Result<BTreeSet<u64>, TrackerError> {
        let number = |task: &TaskId| {
            issue::number(&task.key).filter(|_| task.project == self.project).ok_or_else(|| {
                TrackerError::refused(format!(
                    "`{task}` cannot be waited for: an issue waits for issues of its own project, such as `{}`",
                    task_id(&self.project, 9)
                ))
            })
        };
        tasks.iter().map(number).collect()
    }

    async fn seen(&self, issues: Vec<Issue>) -> Result<Vec<TaskSeen>, TrackerError> {
        let blockers = issues.iter().flat_map(|issue| issue.blocked_by.iter().copied()).collect();
        let open = self.storage.still_open(&blockers).await?;
        let observed = self.clock.now();
        Ok(issues.into_iter().map(|issue| self.task_seen(issue, &open, observed)).collect())
    }

    fn task_seen(&self, issue: Issue, open: &BTreeSet<u64>, observed: Timestamp) -> TaskSeen {
        let blocked_by = issue.blocked_by.intersection(open).map(|n| task_id(&self.project, *n)).collect();
        TaskSeen {
            task: task_id(&self.project, issue.number),
            facts: TaskFacts {
                observed,
                title: issue.title,
                labels: issue.labels,
                priority: issue.priority,
                blocked_by,
                closed: issue.closed,
                // Only users of this daemon, or people who can write to this repository, can create one. Imported
                // issues keep the standing that their author has at the source.
                trusted: issue
                    .author
                    .as_ref()
                    .is_none_or(|author| author.standing != AuthorStanding::Outsider),
                branch: None,
                author: issue.author.clone(),
            },
            body: issue.body,
            branch: None,
            url: None,
            author: issue.author,
            assignee: issue.assignee,
            created: issue.created,
            updated: issue.updated,
            comments: vec![],
        }
    }

    fn announce(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            // There may be no receiver.
            _ = self.news.send(number);
        }
    }

    fn edited(&self, was: &Issue, edit: &TaskEdit) -> Result<Issue, TrackerError> {
        let mut is = was.clone();
        if let Some(title) = &edit.title {
            is.title = issue::title(title)?;
        }
        if let Some(body) = &edit.body {
            is.body = issue::body("a body", body)?;
        }
        is.labels.retain(|label| !edit.remove_labels.contains(label));
        is.labels.extend(issue::labels(&edit.add_labels)?);
        is.priority = edit.priority.unwrap_or(is.priority);
        let removed = self.numbers(&edit.remove_blocked_by)?;
        is.blocked_by.retain(|blocker| !removed.contains(blocker));
        is.blocked_by.extend(self.numbers(&edit.add_blocked_by)?);
        if let Some(assignee) = &edit.assignee {
            is.assignee = assignee.as_deref().map(|login| issue::word("an assignee", login)).transpose()?;
        }
        is.closed = edit.closed.unwrap_or(is.closed);
        issue::few_enough(&is)?;
        Ok(is)
    }
}

#[async_trait]
impl Tracker for LocalTracker {
    async fn changed(
        &self,
        project: &ProjectId,
        since: Timestamp,
        page: Option<&str>,
    ) -> Result<TaskPage, TrackerError> {
        self.must_be_ours(project)?;
        let (issues, next) = self.storage.changed(since, page, PAGE).await?;
        Ok(TaskPage { tasks: self.seen(issues).await?, next })
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        let issue = self.issue(task).await?;
        let comments = self.storage.comments(issue.number).await?;
        let numbered = |(n, IssueComment { author, body, at, .. }): (usize, IssueComment)| TaskComment {
            id: (n + 1).to_string(),
            author,
            body,
            at,
        };
        let mut seen = self.seen(vec![issue]).await?.pop().expect("one for one");
        seen.comments = comments.into_iter().enumerate().map(numbered).collect();
        Ok(seen)
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        self.must_be_ours(project)?;
        let wanted = IssueMatcher::new(filter);
        let mut found = Vec::new();
        if filter.closed != Some(true) {
            found.extend(self.storage.open().await?.into_iter().filter(|issue| wanted.fits(issue)));
        }
        if filter.closed != Some(false) {
            found.extend(self.storage.closed(&wanted, filter.limit).await?);
        }
        found.sort_by_key(|issue| std::cmp::Reverse((issue.updated, issue.number)));
        found.truncate(filter.limit);
        self.seen(found).await
    }

    async fn warnings(&self) -> Result<Vec<String>, TrackerError> {
        let formatted = |FileWarning { path, line, what }: &FileWarning| format!("{path}:{line}: {what}");
        Ok(LocalTracker::warnings(self).await?.iter().map(formatted).collect())
    }

    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        self.must_be_ours(&new.project)?;
        let now = self.clock.now();
        let issue = Issue {
            number: 0,
            title: issue::title(&new.title)?,
            body: issue::body("a body", &new.body)?,
            labels: issue::labels(&new.labels)?,
            priority: new.priority,
            blocked_by: self.numbers(&new.blocked_by)?,
            assignee: new.assignee.as_deref().map(|login| issue::word("an assignee", login)).transpose()?,
            closed: new.closed,
            author: Some(author(&new.by)?),
            key: new.key.as_deref().map(|key| issue::word("a mark", key)).transpose()?,
            created: now,
            updated: now,
        };
        issue::few_enough(&issue)?;
        let _turn = self.turn.lock().await;
        if let Some(key) = &issue.key
            && let Some(number) = self.storage.find(key).await?
        {
            return Ok(task_id(&self.project, number));
        }
        blocks::must_exist(&*self.storage, &issue.blocked_by).await?;
        let number = self.storage.add(issue).await?;
        self.announce([number]);
        Ok(task_id(&self.project, number))
    }

    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        self.must_be_ours(project)?;
        let number = self.storage.find(key.trim()).await?;
        Ok(number.map(|number| task_id(&self.project, number)))
    }

    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let _turn = self.turn.lock().await;
        let was = self.issue(task).await?;
        let is = self.edited(&was, edit)?;
        if is == was {
            return Ok(());
        }
        let new: BTreeSet<u64> = is.blocked_by.difference(&was.blocked_by).copied().collect();
        blocks::must_exist(&*self.storage, &new).await?;
        blocks::must_not_be_circular(&*self.storage, is.number, &new).await?;
        let mut waiting = Vec::new();
        if was.closed != is.closed {
            waiting = self.storage.open().await?;
            waiting.retain(|other| other.number != is.number && other.blocked_by.contains(&is.number));
        }
        self.storage.save(&was, &is, &waiting).await?;
        self.announce([is.number].into_iter().chain(waiting.iter().map(|issue| issue.number)));
        Ok(())
    }

    /// An empty `key` does not deduplicate: such a comment is added each time.
    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError> {
        let body = issue::body("a comment", text)?;
        if body.is_empty() {
            return Err(TrackerError::refused("a comment needs some text"));
        }
        let author = author(by)?;
        let key = Some(key.trim()).filter(|key| !key.is_empty());
        let key = key.map(|key| issue::word("a mark", key)).transpose()?;
        let _turn = self.turn.lock().await;
        let issue = self.issue(task).await?;
        if key.is_some()
            && self.storage.comments(issue.number).await?.iter().any(|comment| comment.key == key)
        {
            return Ok(());
        }
        let comment = IssueComment { key, author, body, at: self.clock.now() };
        self.storage.comment(&issue, comment).await?;
        self.announce([issue.number]);
        Ok(())
    }

    async fn close(&self, task: &TaskId) -> Result<(), TrackerError> {
        self.edit(task, &TaskEdit { closed: Some(true), ..TaskEdit::default() }).await
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        let mut news = self.news.subscribe();
        if let Some(files) = &self.files {
            return files
                .watch(news, |number| hints.hint(LookHint::Task(task_id(&self.project, number))))
                .await;
        }
        loop {
            match news.recv().await {
                Ok(number) => hints.hint(LookHint::Task(task_id(&self.project, number))),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    hints.hint(LookHint::Project(self.project.clone()));
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }
}

impl fmt::Debug for LocalTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.is_some();
        f.debug_struct("LocalTracker")
            .field("project", &self.project)
            .field("files", &files)
            .finish_non_exhaustive()
    }
}

fn author(by: &AuthorFacts) -> Result<AuthorFacts, TrackerError> {
    Ok(AuthorFacts { login: issue::word("an author", &by.login)?, standing: by.standing })
}
