//! A forge and a tracker in memory, for several projects at once, which count how often they are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, CommentFacts, PullFacts, PullState,
    ReviewFacts, ThreadFacts,
};
use ao_core::task::TaskFacts;
use ao_core::{Commit, ProjectId, PullId, TaskId, Timestamp};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, CheckWhat, CommentPlace, LogPart, MergeAbilities, MergeOrder,
    MergeOutcome, NewComment, NewPull, NewReview, NewTask, PullDetail, PullEdit, PullFilter, PullFilterState,
    PullRow, RunFilter, RunState, Scm, ScmChecks, ScmError, ScmReviews, TaskComment, TaskEdit, TaskFilter,
    TaskPage, TaskSeen, TestOrder, TestOutcome, ThreadReply, Tracker, TrackerError,
};
use ao_testkit::pull_facts;
use async_trait::async_trait;

#[derive(Default)]
pub(crate) struct Forge(Mutex<Inside>);

#[derive(Default)]
pub(crate) struct Inside {
    pub(crate) pulls: BTreeMap<PullId, PullFacts>,
    pub(crate) tasks: BTreeMap<TaskId, TaskSeen>,
    pub(crate) runs: Vec<CheckRun>,
    pub(crate) log: Vec<u8>,
    /// Whether the projects have checks.
    pub(crate) configured: bool,
    /// What the test of a merge shows, if not that all is well.
    pub(crate) test: Option<TestOutcome>,
    /// How often another one lands just before a merge.
    pub(crate) overtaken: u32,
    /// The obstacle that keeps the base from being moved.
    pub(crate) in_the_way: Option<String>,
    /// What was asked, a word each.
    pub(crate) asked: Vec<String>,
    /// What every call fails with.
    pub(crate) failing: Option<TrackerError>,
    now: i64,
}

pub(crate) fn pull(project: &str, number: u64) -> PullId {
    PullId { project: ProjectId::new(project), number }
}

pub(crate) fn task(project: &str, key: &str) -> TaskId {
    TaskId { project: ProjectId::new(project), key: key.into() }
}

pub(crate) fn facts(branch: &str) -> PullFacts {
    let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
    let size = ChangeSize { files: vec!["src/lib.rs".into()], added: 3, removed: 1 };
    PullFacts { title: "Add a thing".into(), author, size, ..pull_facts(branch) }
}

pub(crate) fn check(name: &str, state: CheckState) -> CheckFacts {
    CheckFacts { run: None, name: name.into(), commit: Commit::new("h1"), state, required: true }
}

fn fresh_task(id: &TaskId, now: Timestamp) -> TaskSeen {
    let facts = TaskFacts {
        observed: now,
        title: "An issue".into(),
        labels: BTreeSet::new(),
        priority: 0,
        blocked_by: BTreeSet::new(),
        closed: false,
        trusted: true,
        branch: None,
        author: None,
    };
    TaskSeen {
        task: id.clone(),
        facts,
        body: String::new(),
        branch: None,
        url: None,
        author: None,
        assignee: None,
        created: now,
        updated: now,
        comments: vec![],
    }
}

impl Inside {
    /// Makes an issue.
    pub(crate) fn issue(&mut self, id: &TaskId) {
        self.tasks.insert(id.clone(), fresh_task(id, Timestamp(self.now)));
    }
}

impl Forge {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap()
    }

    /// What was asked since the last time somebody wanted to know.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().asked)
    }

    fn ask(&self, what: impl Into<String>) -> Result<MutexGuard<'_, Inside>, TrackerError> {
        let mut inside = self.lock();
        inside.asked.push(what.into());
        inside.now += 1;
        match &inside.failing {
            Some(err) => Err(err.clone()),
            None => Ok(inside),
        }
    }
}

impl Inside {
    fn pull(&mut self, id: &PullId) -> Result<&mut PullFacts, TrackerError> {
        self.pulls.get_mut(id).ok_or_else(|| TrackerError::not_found(format!("`{id}`")))
    }

    fn task(&mut self, id: &TaskId) -> Result<&mut TaskSeen, TrackerError> {
        let now = Timestamp(self.now);
        let seen = self.tasks.get_mut(id).ok_or_else(|| TrackerError::not_found(format!("`{id}`")))?;
        (seen.updated, seen.facts.observed) = (now, now);
        Ok(seen)
    }

    fn say(&mut self, new: &NewComment) -> Result<String, TrackerError> {
        let nth = self.now;
        let facts = self.pull(&new.pull)?;
        let comment = CommentFacts {
            id: format!("c{nth}"),
            author: new.by.clone(),
            body: new.body.clone(),
            url: String::new(),
            revision: "1".into(),
        };
        let (path, line) = match &new.at {
            CommentPlace::Thread(id) => {
                let thread = facts.threads.iter_mut().find(|thread| thread.id == *id);
                let thread = thread.ok_or_else(|| TrackerError::not_found(format!("the thread `{id}`")))?;
                thread.comments.push(comment);
                return Ok(id.clone());
            }
            CommentPlace::Line { path, line, .. } => (Some(path.clone()), *line),
            CommentPlace::Pull => (None, None),
        };
        let id = format!("t{nth}");
        facts.threads.push(ThreadFacts {
            id: id.clone(),
            path,
            line,
            resolved: false,
            comments: vec![comment],
        });
        Ok(id)
    }
}

#[async_trait]
impl Scm for Forge {
    fn merge_abilities(&self) -> MergeAbilities {
        MergeAbilities::ALL
    }

    fn reviews(&self) -> Option<&dyn ScmReviews> {
        Some(self)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        Some(self)
    }

    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        let mut inside = self.ask(format!("open {} by {}", new.head_branch, new.by.login))?;
        let same =
            |facts: &PullFacts| facts.head_branch == new.head_branch && facts.base_branch == new.base_branch;
        let known = inside.pulls.iter().find(|(id, facts)| id.project == new.project && same(facts));
        if let Some((id, _)) = known {
            return Ok(id.clone());
        }
        let taken = inside.pulls.keys().filter(|id| id.project == new.project).map(|id| id.number).max();
        let id = PullId { project: new.project.clone(), number: taken.unwrap_or(0) + 1 };
        let title = if new.title.is_empty() { "newest commit".to_owned() } else { new.title.clone() };
        let opened = PullFacts {
            title,
            base_branch: new.base_branch.clone(),
            author: new.by.clone(),
            draft: new.draft,
            labels: new.labels.clone(),
            ..facts(&new.head_branch)
        };
        inside.pulls.insert(id.clone(), opened);
        Ok(id)
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let inside = self.ask("pulls")?;
        let observed_at = Timestamp(inside.now);
        let no_checks = !inside.configured;
        let look = |id: &PullId| {
            Some((id.clone(), PullFacts { observed_at, no_checks, ..inside.pulls.get(id)?.clone() }))
        };
        Ok(pulls.iter().filter_map(look).collect())
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        Ok(vec![])
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView::default())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(None)
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        let inside = self.ask(format!("test {} on {} checks {}", order.head, order.base, order.checks))?;
        let tree = format!("{}+{}", order.head, order.base);
        let red = matches!(inside.test, Some(TestOutcome::Red { .. })) && !order.checks;
        Ok(inside.test.clone().filter(|_| !red).unwrap_or(TestOutcome::Green { tree }))
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let words = format!(
            "merge {} {:?} by {:?} delete {}",
            order.tree, order.strategy, order.by, order.delete_branch
        );
        let mut inside = self.ask(words)?;
        if inside.overtaken > 0 {
            inside.overtaken -= 1;
            let tip = Commit::new(&format!("b{}", inside.now));
            inside.pull(&order.pull)?.base = tip.clone();
            let why = "the base has moved".into();
            return Ok(MergeOutcome::Refused { tip: Some(tip), why, in_the_way: false });
        }
        if let Some(why) = inside.in_the_way.clone() {
            return Ok(MergeOutcome::Refused { tip: None, why, in_the_way: true });
        }
        let commit = Commit::new("m1");
        inside.pull(&order.pull)?.state = PullState::Merged { commit: commit.clone() };
        Ok(MergeOutcome::Merged { tip: commit.clone(), commit, branch_left: None, with: vec![] })
    }

    async fn delete_branch(&self, pull: &PullId, head: &Commit) -> Result<Option<String>, ScmError> {
        Ok(self.ask(format!("delete the branch of {pull} at {head}"))?.in_the_way.clone())
    }
}

#[async_trait]
impl ScmReviews for Forge {
    async fn reply(&self, _: &ThreadReply) -> Result<(), ScmError> {
        Ok(())
    }

    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        let inside = self.ask(format!("list {project}"))?;
        let wanted = |(id, facts): &(&PullId, &PullFacts)| {
            let state = match filter.state {
                PullFilterState::Open => facts.state == PullState::Open,
                PullFilterState::Closed => facts.state == PullState::Closed,
                PullFilterState::Merged => matches!(facts.state, PullState::Merged { .. }),
                PullFilterState::All => true,
            };
            let head = filter.head_branch.as_ref().is_none_or(|head| *head == facts.head_branch);
            id.project == *project && state && head
        };
        let row = |(id, facts): (&PullId, &PullFacts)| PullRow {
            pull: id.clone(),
            title: facts.title.clone(),
            state: facts.state.clone(),
            draft: facts.draft,
            head_branch: facts.head_branch.clone(),
            base_branch: facts.base_branch.clone(),
            head: facts.head.clone(),
            author: facts.author.clone(),
            labels: facts.labels.clone(),
            created_at: Timestamp(1),
            updated_at: Timestamp(2),
        };
        Ok(inside.pulls.iter().rev().filter(wanted).take(filter.limit).map(row).collect())
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError> {
        let mut inside = self.ask("show")?;
        let checks = inside.runs.iter().filter(|run| run.pull.as_ref() == Some(pull)).cloned().collect();
        let no_checks = !inside.configured;
        Ok(PullDetail {
            pull: pull.clone(),
            facts: PullFacts { no_checks, ..inside.pull(pull)?.clone() },
            body: "why".into(),
            created_at: Timestamp(1),
            updated_at: Timestamp(2),
            stacked_on: None,
            stacked: vec![],
            commits: vec![],
            threads: BTreeMap::new(),
            reviewed_at: BTreeMap::new(),
            reworded_at: BTreeMap::new(),
            checks,
            merged_by: None,
        })
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError> {
        self.ask("diff")?.pull(pull)?;
        let diff = "diff --git a/x b/x\n+one\n+two\n";
        Ok(diff[..diff.len().min(limit)].to_owned())
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), ScmError> {
        let mut inside = self.ask(format!("edit {pull}"))?;
        let facts = inside.pull(pull)?;
        facts.title = edit.title.clone().unwrap_or(facts.title.clone());
        facts.base_branch = edit.base_branch.clone().unwrap_or(facts.base_branch.clone());
        facts.draft = edit.draft.unwrap_or(facts.draft);
        facts.labels.extend(edit.add_labels.clone());
        facts.labels.retain(|label| !edit.remove_labels.contains(label));
        if let Some(closed) = edit.closed {
            facts.state = if closed { PullState::Closed } else { PullState::Open };
        }
        Ok(())
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError> {
        let words = format!("comment on {} by {} ({})", comment.pull, comment.by.login, comment.by.standing);
        self.ask(words)?.say(comment)
    }

    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError> {
        let mut inside = self.ask(format!("edit {comment} of {pull} by {} ({})", by.login, by.standing))?;
        let facts = inside.pull(pull)?;
        let mut comments = facts.threads.iter_mut().flat_map(|thread| thread.comments.iter_mut());
        let comment = comments
            .find(|known| known.id == comment)
            .ok_or_else(|| ScmError::not_found(format!("the comment `{comment}`")))?;
        if comment.author != *by && by.standing != AuthorStanding::Owner {
            return Err(ScmError::refused("somebody else said it"));
        }
        (comment.body, comment.revision) = (body.to_owned(), format!("{}+", comment.revision));
        Ok(())
    }

    async fn review(&self, review: &NewReview) -> Result<String, ScmError> {
        let words = format!("review of {} by {} ({})", review.pull, review.by.login, review.by.standing);
        let mut inside = self.ask(words)?;
        let id = format!("r{}", inside.now);
        let facts = inside.pull(&review.pull)?;
        if review.head.as_ref().is_some_and(|head| *head != facts.head) {
            return Err(ScmError::refused("the head has moved since it was read"));
        }
        facts.reviews.push(ReviewFacts {
            id: id.clone(),
            author: review.by.clone(),
            verdict: review.verdict,
            commit: facts.head.clone(),
            body: review.body.clone(),
            revision: "1".into(),
        });
        for comment in &review.comments {
            let at =
                CommentPlace::Line { path: comment.path.clone(), line: comment.line, side: comment.side };
            let (pull, by, body) = (review.pull.clone(), review.by.clone(), comment.body.clone());
            inside.say(&NewComment { pull, by, body, at, key: None })?;
        }
        Ok(id)
    }

    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        _: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError> {
        let mut inside = self.ask(format!("resolve {thread} {resolved}"))?;
        let found = inside.pull(pull)?.threads.iter_mut().find(|known| known.id == thread);
        found.ok_or_else(|| ScmError::not_found(format!("the thread `{thread}`")))?.resolved = resolved;
        Ok(())
    }

    async fn diff_at(&self, _: &PullId, _: &Commit, _: &Commit, _: usize) -> Result<String, ScmError> {
        Err(ScmError::refused("this forge is not scanned"))
    }
}

#[async_trait]
impl ScmChecks for Forge {
    async fn rerun(&self, _: &PullId, _: &Commit, _: &str) -> Result<(), ScmError> {
        Ok(())
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        let inside = self.ask("runs")?;
        let wanted = |run: &&CheckRun| {
            filter.project.as_ref().is_none_or(|project| run.project == *project)
                && filter.pull.as_ref().is_none_or(|pull| run.pull.as_ref() == Some(pull))
                && filter.check.as_ref().is_none_or(|check| run.check == *check)
                && filter.state.is_none_or(|state| run.state == state)
        };
        Ok(inside.runs.iter().rev().filter(wanted).take(filter.limit).cloned().collect())
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        let mut inside = self.ask(format!("check {:?}", order.what))?;
        let pull = match &order.what {
            CheckWhat::Pull(pull) => Some(pull.clone()),
            CheckWhat::Revision(_) => None,
        };
        if let Some(pull) = &pull {
            inside.pull(pull)?.checks = vec![check("build", CheckState::Pending)];
        }
        let run = CheckRun {
            id: format!("run_{}", inside.now),
            project: order.project.clone(),
            pull,
            check: "build".into(),
            command: "make".into(),
            required: true,
            head: Commit::new("h1"),
            base: None,
            tree: "t".into(),
            ahead: vec![],
            state: RunState::Running,
            why: None,
            exit_code: None,
            queued_at: Timestamp(inside.now),
            began_at: None,
            ended_at: None,
            tries: 1,
            same_as: None,
            log: None,
            failure: None,
        };
        inside.runs.push(run.clone());
        Ok(vec![run])
    }

    async fn check_log(&self, _: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
        loop {
            {
                let inside = self.ask("log")?;
                let from = usize::try_from(from).unwrap().min(inside.log.len());
                let bytes: Vec<u8> = inside.log[from..].iter().take(limit as usize).copied().collect();
                if !wait || !bytes.is_empty() {
                    return Ok(LogPart { next: (from + bytes.len()) as u64, bytes, ended: false });
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

#[async_trait]
impl Tracker for Forge {
    async fn changed(&self, _: &ProjectId, _: Timestamp, _: Option<&str>) -> Result<TaskPage, TrackerError> {
        Ok(TaskPage { tasks: vec![], next: None })
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        let inside = self.ask("task")?;
        inside.tasks.get(task).cloned().ok_or_else(|| TrackerError::not_found(format!("`{task}`")))
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        let inside = self.ask(format!("issues {project}"))?;
        let wanted = |seen: &&TaskSeen| {
            seen.task.project == *project
                && filter.closed.is_none_or(|closed| seen.facts.closed == closed)
                && filter.labels.is_subset(&seen.facts.labels)
                && filter.assignee.as_ref().is_none_or(|who| seen.assignee.as_ref() == Some(who))
                && filter.text.as_ref().is_none_or(|text| seen.facts.title.contains(text))
        };
        let listed = inside.tasks.values().filter(wanted).take(filter.limit).cloned();
        Ok(listed.map(|seen| TaskSeen { comments: vec![], ..seen }).collect())
    }

    async fn find(&self, _: &ProjectId, _: &str) -> Result<Option<TaskId>, TrackerError> {
        self.ask("marked").map(|_| None)
    }

    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        let mut inside = self.ask(format!("create by {} ({})", new.by.login, new.by.standing))?;
        let now = Timestamp(inside.now);
        let taken = inside.tasks.keys().filter(|id| id.project == new.project).count();
        let id = TaskId { project: new.project.clone(), key: (taken + 1).to_string() };
        let mut seen = fresh_task(&id, now);
        seen.facts = TaskFacts {
            title: new.title.clone(),
            labels: new.labels.clone(),
            priority: new.priority,
            blocked_by: new.blocked_by.clone(),
            closed: new.closed,
            ..seen.facts
        };
        seen.body = new.body.clone();
        seen.author = Some(new.by.clone());
        seen.assignee = new.assignee.clone();
        inside.tasks.insert(id.clone(), seen);
        Ok(id)
    }

    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        let mut inside = self.ask(format!("edit {task}"))?;
        let seen = inside.task(task)?;
        seen.facts.title = edit.title.clone().unwrap_or(seen.facts.title.clone());
        seen.facts.labels.extend(edit.add_labels.clone());
        seen.facts.blocked_by.extend(edit.add_blocked_by.clone());
        seen.facts.closed = edit.closed.unwrap_or(seen.facts.closed);
        if let Some(assignee) = &edit.assignee {
            seen.assignee = assignee.clone();
        }
        Ok(())
    }

    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError> {
        let mut inside = self.ask(format!("comment on {task} by {} ({})", by.login, by.standing))?;
        let at = Timestamp(inside.now);
        let (id, author, body) = (key.to_owned(), by.clone(), text.to_owned());
        let comments = &mut inside.task(task)?.comments;
        if comments.iter().all(|known| known.id != id) {
            comments.push(TaskComment { id, author, body, at });
        }
        Ok(())
    }

    async fn close(&self, _: &TaskId) -> Result<(), TrackerError> {
        Ok(())
    }
}
