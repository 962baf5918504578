//! A fake tracker. Faults reach the calls that the engine's looks and jobs make.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::{
    HintReceiver, NewTask, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen, Tracker, TrackerError,
};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::{self, OutsideWorld};
use crate::universe::UniverseState;

const PAGE: usize = 100;
const MAX_WORD: usize = 256;
const MAX_LABELS: usize = 100;
const MAX_BODY: usize = 64 * 1024;

#[async_trait]
impl Tracker for FakePort {
    async fn changed(
        &self,
        project: &ProjectId,
        since: Timestamp,
        page: Option<&str>,
    ) -> Result<TaskPage, TrackerError> {
        self.must_be_ours(project)?;
        let inner = &mut *self.universe.lock();
        let mut tasks = all(inner, project);
        tasks.sort_by_key(place);
        tasks.retain(|seen| seen.updated >= since && page.is_none_or(|last| *place(seen) > *last));
        let has_more = tasks.len() > PAGE;
        tasks.truncate(PAGE);
        let next = tasks.last().filter(|_| has_more).map(place);
        Ok(TaskPage { tasks, next })
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        let passed = self.passes(PortCall::Task).await?;
        let seen = outside::see_task(&mut self.universe.lock(), task);
        self.latency(PortCall::Task).await;
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        seen.ok_or_else(|| TrackerError::not_found(task.to_string()))
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        self.must_be_ours(project)?;
        let passed = self.passes(PortCall::Tasks).await?;
        let mut listed = all(&mut self.universe.lock(), project);
        listed.retain(|seen| fits(seen, filter));
        listed.sort_by_key(|seen| Reverse(place(seen)));
        listed.truncate(filter.limit);
        self.latency(PortCall::Tasks).await;
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        Ok(listed)
    }

    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        self.must_be_ours(&new.project)?;
        let inner = &mut *self.universe.lock();
        if let Some(known) = new.key.as_ref().and_then(|key| inner.outside.task_keys.get(key)) {
            return Ok(known.clone());
        }
        let ours = inner.outside.tasks.keys().filter(|task| task.project == new.project);
        let last = ours.filter_map(|task| task.key.parse::<u64>().ok()).max().unwrap_or(0);
        let task = TaskId { project: new.project.clone(), key: (last + 1).to_string() };
        let mut issue = outside::fresh_task(&task);
        issue.facts.title = new.title.clone();
        issue.facts.labels = new.labels.clone();
        issue.facts.priority = new.priority;
        issue.facts.blocked_by = new.blocked_by.clone();
        issue.facts.closed = new.closed;
        issue.facts.trusted = new.by.standing != AuthorStanding::Outsider;
        (issue.author, issue.facts.author) = (Some(new.by.clone()), Some(new.by.clone()));
        (issue.body, issue.assignee) = (new.body.clone(), new.assignee.clone());
        must_be_valid(&inner.outside, &issue)?;
        inner.outside.tasks.insert(task.clone(), outside::fresh_task(&task));
        inner.outside.task_keys.extend(new.key.clone().map(|key| (key, task.clone())));
        outside::change_task(inner, &task, |known| *known = issue);
        Ok(task)
    }

    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        self.must_be_ours(project)?;
        Ok(self.universe.lock().outside.task_keys.get(key).cloned())
    }

    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let inner = &mut *self.universe.lock();
        let was = known(&inner.outside, task)?;
        let mut is = was.clone();
        apply(&mut is, edit.clone());
        if is == was {
            return Ok(());
        }
        must_be_valid(&inner.outside, &is)?;
        outside::change_task(inner, task, |known| *known = is);
        Ok(())
    }

    /// Adds a comment. Its key is its id.
    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError> {
        if text.trim().is_empty() || text.len() > MAX_BODY {
            return Err(TrackerError::refused("a comment has some text, but not too much"));
        }
        let inner = &mut *self.universe.lock();
        if known(&inner.outside, task)?.comments.iter().all(|comment| comment.id != key) {
            let (id, author, body, at) = (key.to_owned(), by.clone(), text.to_owned(), inner.tracker_time());
            outside::change_task(inner, task, |issue| {
                issue.comments.push(TaskComment { id, author, body, at });
            });
        }
        Ok(())
    }

    async fn close(&self, task: &TaskId) -> Result<(), TrackerError> {
        let passed = self.passes(PortCall::Close).await?;
        let closed = outside::change_task(&mut self.universe.lock(), task, |issue| issue.facts.closed = true);
        self.universe.after(passed).await.map_err(TrackerError::Failed)?;
        closed.then_some(()).ok_or_else(|| TrackerError::not_found(task.to_string()))
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.send_hints(true, hints).await;
    }
}

impl FakePort {
    fn must_be_ours(&self, project: &ProjectId) -> Result<(), TrackerError> {
        let ours = self.project.as_ref() == Some(project);
        ours.then_some(()).ok_or_else(|| TrackerError::not_found(format!("the project `{project}`")))
    }
}

/// Returns the issues of a project, without their comments.
fn all(inner: &mut UniverseState, project: &ProjectId) -> Vec<TaskSeen> {
    let tasks: Vec<TaskId> =
        inner.outside.tasks.keys().filter(|task| task.project == *project).cloned().collect();
    let seen = tasks.iter().filter_map(|task| outside::see_task(inner, task));
    seen.map(|seen| TaskSeen { comments: vec![], ..seen }).collect()
}

fn known(outside: &OutsideWorld, task: &TaskId) -> Result<TaskSeen, TrackerError> {
    outside.tasks.get(task).cloned().ok_or_else(|| TrackerError::not_found(task.to_string()))
}

/// Returns the place of an issue among all changes, as a text that sorts. It names a page.
fn place(seen: &TaskSeen) -> String {
    format!("{:020} {:>20}", seen.updated.0, seen.task.key)
}

fn fits(seen: &TaskSeen, filter: &TaskFilter) -> bool {
    let text = format!("{}\n{}", seen.facts.title, seen.body).to_lowercase();
    let wanted = filter.text.as_deref().unwrap_or_default().to_lowercase();
    filter.closed.is_none_or(|closed| seen.facts.closed == closed)
        && filter.labels.is_subset(&seen.facts.labels)
        && (filter.assignee.is_none() || filter.assignee == seen.assignee)
        && wanted.split_whitespace().all(|word| text.contains(word))
}

fn apply(issue: &mut TaskSeen, edit: TaskEdit) {
    let facts = &mut issue.facts;
    facts.title = edit.title.unwrap_or_else(|| facts.title.clone());
    facts.labels = facts.labels.difference(&edit.remove_labels).chain(&edit.add_labels).cloned().collect();
    facts.priority = edit.priority.unwrap_or(facts.priority);
    facts.blocked_by =
        facts.blocked_by.difference(&edit.remove_blocked_by).chain(&edit.add_blocked_by).cloned().collect();
    facts.closed = edit.closed.unwrap_or(facts.closed);
    issue.body = edit.body.unwrap_or_else(|| issue.body.clone());
    issue.assignee = edit.assignee.unwrap_or_else(|| issue.assignee.clone());
}

/// Refuses text that no list can show, and blockers for which an issue would wait forever.
fn must_be_valid(outside: &OutsideWorld, issue: &TaskSeen) -> Result<(), TrackerError> {
    let facts = &issue.facts;
    let words = [&facts.title].into_iter().chain(&facts.labels).chain(&issue.assignee);
    let odd = |word: &&String| {
        word.trim().is_empty() || word.contains(char::is_control) || word.chars().count() > MAX_WORD
    };
    if words.filter(odd).count() > 0 || facts.labels.len() > MAX_LABELS || issue.body.len() > MAX_BODY {
        return Err(TrackerError::refused("a title and labels are short lines, and a body has its bound"));
    }
    let mut ahead: Vec<&TaskId> = facts.blocked_by.iter().collect();
    let mut passed = BTreeSet::new();
    while let Some(blocker) = ahead.pop() {
        let why = match outside.tasks.get(blocker) {
            _ if facts.blocked_by.contains(&issue.task) => "it cannot wait for itself",
            _ if *blocker == issue.task => "that one waits for it",
            _ if blocker.project != issue.task.project => "it waits for issues of its own project",
            None => "there is no such issue",
            Some(other) => {
                if passed.insert(blocker) {
                    ahead.extend(&other.facts.blocked_by);
                }
                continue;
            }
        };
        return Err(TrackerError::refused(format!("`{blocker}` cannot be waited for: {why}")));
    }
    Ok(())
}
