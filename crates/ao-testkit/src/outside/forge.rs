//! Pull requests of the fake forge and issues of the fake tracker, how they change, and the hints about that.

use std::fmt;
use std::sync::Arc;

use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, CommentFacts, Mergeable, PullFacts,
    PullState, ReviewFacts, ReviewVerdict, ThreadFacts,
};
use ao_core::task::TaskFacts;
use ao_core::{Commit, ProjectId, TaskId, Timestamp};
use ao_ports::{
    CommentPlace, HintReceiver, LookHint, NewComment, NewReview, PullEdit, ReviewComment, ScmError, TaskSeen,
    ThreadReply, TrackerError,
};
use fastrand::Rng;

use super::{CheckRerun, WorldEvent, send};
use crate::contract::scm::CHECK;
use crate::universe::{FakeBug, UniverseState};

/// Returns an open pull request of a branch, with nothing said or checked about it: head `h1` on base `b1` of `main`.
pub fn pull_facts(branch: &str) -> PullFacts {
    PullFacts {
        head_title: None,
        no_checks: false,
        observed_at: Timestamp(1),
        title: format!("Work on {branch}"),
        url: format!("https://forge/{branch}"),
        head: Commit::new("h1"),
        head_branch: branch.to_owned(),
        head_repo: None,
        head_author: None,
        base_remote: None,
        base_branch: "main".into(),
        base: Commit::new("b1"),
        draft: false,
        state: PullState::Open,
        author: AuthorFacts { login: "ao-agent".into(), standing: AuthorStanding::Agent },
        labels: Default::default(),
        mergeable: Mergeable::Clean,
        checks: vec![],
        reviews: vec![],
        threads: vec![],
        size: ChangeSize { files: vec!["src/lib.rs".into()], added: 10, removed: 2 },
    }
}

/// Returns a pull request that was just opened in a simulated world.
pub(crate) fn fresh_pull(branch: &str, base: Commit, at: Timestamp) -> PullFacts {
    PullFacts {
        observed_at: at,
        head: Commit::new(&format!("{branch}@1")),
        base_remote: Some("origin".into()),
        base,
        ..pull_facts(branch)
    }
}

/// Returns an issue that was just written.
pub(crate) fn fresh_task(task: &TaskId) -> TaskSeen {
    let facts = TaskFacts {
        observed: Timestamp(0),
        title: format!("issue {}", task.key),
        labels: Default::default(),
        priority: 0,
        blocked_by: Default::default(),
        closed: false,
        trusted: true,
        branch: None,
        author: None,
    };
    TaskSeen {
        task: task.clone(),
        facts,
        body: "It does not work.".into(),
        branch: None,
        url: None,
        author: None,
        assignee: None,
        created: Timestamp(0),
        updated: Timestamp(0),
        comments: vec![],
    }
}

/// A member approves its current head.
pub(crate) fn approve(facts: &mut PullFacts) {
    let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
    let (id, commit) = (format!("r{}", facts.reviews.len()), facts.head.clone());
    let (body, revision) = (String::new(), "1".to_owned());
    facts.reviews.push(ReviewFacts { id, author, verdict: ReviewVerdict::Approved, commit, body, revision });
}

/// A member asks for something in a thread of its own.
pub(crate) fn ask_for(facts: &mut PullFacts, body: &str) {
    let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
    let number = facts.threads.len() + 1;
    let (url, revision) = ("https://forge/c".to_owned(), "1".to_owned());
    let comment = CommentFacts { id: format!("c{number}"), author, body: body.into(), url, revision };
    let (id, path) = (format!("t{number}"), Some("src/lib.rs".into()));
    facts.threads.push(ThreadFacts { id, path, line: Some(1), resolved: false, comments: vec![comment] });
}

/// Changes something about a pull request: a check, a review, a push, a conflict, its end.
pub(crate) fn change_randomly(rng: &mut Rng, facts: &mut PullFacts) {
    match rng.u8(..12) {
        0..=2 => check(facts, CheckState::Pending),
        3 | 4 => {
            let signature = format!("E{}", rng.u8(..2));
            let (excerpt, url) = (format!("error: {signature}"), "https://ci/build".into());
            check(
                facts,
                CheckState::Failed { certain: false, files: vec![], signature, excerpt, url, log: None },
            );
        }
        5 | 6 => check(facts, CheckState::Passed),
        7 => {
            facts.head = Commit::new(&format!("{}@{}", facts.head_branch, rng.u32(..)));
            facts.head_title = Some("another try".into());
            facts.checks.clear();
            facts.mergeable = Mergeable::Unknown;
        }
        8 => facts.mergeable = Mergeable::Conflict { files: vec!["src/lib.rs".into()] },
        9 => facts.mergeable = Mergeable::Clean,
        10 => {
            let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
            let (id, commit) = (format!("r{}", facts.reviews.len()), facts.head.clone());
            let verdict = if rng.bool() { ReviewVerdict::Approved } else { ReviewVerdict::ChangesRequested };
            let (body, revision) = ("please".to_owned(), "1".to_owned());
            facts.reviews.push(ReviewFacts { id, author, verdict, commit, body, revision });
        }
        _ => {
            let author = AuthorFacts { login: "lint-bot".into(), standing: AuthorStanding::Bot };
            let id = format!("c{}", rng.u8(..3));
            let (url, revision) = ("https://forge/c".to_owned(), rng.u8(..3).to_string());
            let comment = CommentFacts { id, author, body: "a remark".into(), url, revision };
            let resolved = rng.u8(..3) == 0;
            facts.threads = vec![ThreadFacts {
                id: "t1".into(),
                path: Some("src/lib.rs".into()),
                line: Some(1),
                resolved,
                comments: vec![comment],
            }];
        }
    }
}

/// Ends the rerun of a check, if it is still of the head: it passes by chance, unless the base fails it or the test
/// decides otherwise.
pub(crate) fn ran(inner: &mut UniverseState, rerun: &CheckRerun) {
    let red = {
        let tip = inner.outside.base(&rerun.pull.project);
        inner.outside.red.contains(&(rerun.pull.project.clone(), tip))
    };
    let chance = inner.faults.are_random() && inner.rng.bool();
    let passes = !red && inner.outside.passes_again.unwrap_or(chance);
    let Some(facts) = inner.outside.pulls.get_mut(&rerun.pull) else { return };
    if facts.head != rerun.commit || facts.state != PullState::Open {
        return;
    }
    let Some(check) = facts.checks.iter_mut().find(|check| check.name == rerun.check) else { return };
    check.run = Some(format!("again {}", rerun.number));
    if passes {
        check.state = CheckState::Passed;
    }
    hint(inner, LookHint::Pull(rerun.pull.clone()));
}

/// Finds a thread of a pull request.
pub(crate) fn thread<'a>(facts: &'a mut PullFacts, id: &str) -> Result<&'a mut ThreadFacts, ScmError> {
    let found = facts.threads.iter_mut().find(|thread| thread.id == id);
    found.ok_or_else(|| ScmError::not_found(format!("`{id}`")))
}

/// Adds a comment, and returns its thread. The key makes a second call harmless.
pub(crate) fn comment(facts: &mut PullFacts, new: &NewComment) -> Result<String, ScmError> {
    let number = facts.threads.iter().map(|thread| thread.comments.len()).sum::<usize>() + 1;
    let id = new.key.clone().unwrap_or_else(|| format!("c{number}"));
    let known = |thread: &&ThreadFacts| thread.comments.iter().any(|comment| comment.id == id);
    if let Some(thread) = facts.threads.iter().find(known) {
        return Ok(thread.id.clone());
    }
    let (author, body, revision) = (new.by.clone(), new.body.clone(), "1".to_owned());
    let comment = CommentFacts { id, author, body, url: "https://forge/c".into(), revision };
    let (path, line) = match &new.at {
        CommentPlace::Pull => (None, None),
        CommentPlace::Line { path, line, .. } => (Some(path.clone()), *line),
        CommentPlace::Thread(id) => {
            thread(facts, id)?.comments.push(comment);
            return Ok(id.clone());
        }
    };
    let id = format!("t{}", facts.threads.len() + 1);
    let begun = ThreadFacts { id: id.clone(), path, line, resolved: false, comments: vec![comment] };
    facts.threads.push(begun);
    Ok(id)
}

/// Edits a pull request. One that was merged stays so.
pub(crate) fn edit(facts: &mut PullFacts, edit: &PullEdit) -> Result<(), ScmError> {
    if edit.closed.is_some() && matches!(facts.state, PullState::Merged { .. }) {
        return Err(ScmError::refused("it is merged, and stays so"));
    }
    match edit.closed {
        Some(true) => facts.state = PullState::Closed,
        Some(false) => facts.state = PullState::Open,
        None => {}
    }
    facts.title = edit.title.clone().unwrap_or_else(|| facts.title.clone());
    facts.base_branch = edit.base_branch.clone().unwrap_or_else(|| facts.base_branch.clone());
    facts.draft = edit.draft.unwrap_or(facts.draft);
    facts.labels.extend(edit.add_labels.iter().cloned());
    facts.labels.retain(|label| !edit.remove_labels.contains(label));
    Ok(())
}

/// Changes the text of a comment or a review in the name of its author or the owner.
pub(crate) fn edit_comment(
    facts: &mut PullFacts,
    id: &str,
    by: &AuthorFacts,
    body: &str,
) -> Result<(), ScmError> {
    let comments = facts.threads.iter_mut().flat_map(|thread| &mut thread.comments);
    let comments = comments.map(|one| (&one.id, &one.author, &mut one.body, &mut one.revision));
    let reviews = facts.reviews.iter_mut();
    let reviews = reviews.map(|one| (&one.id, &one.author, &mut one.body, &mut one.revision));
    let found = comments.chain(reviews).find(|(known, ..)| *known == id);
    let (_, author, text, revision) = found.ok_or_else(|| ScmError::not_found(format!("`{id}`")))?;
    if by != author && by.standing != AuthorStanding::Owner {
        return Err(ScmError::refused("only its author and the owner can edit it"));
    }
    if text != body {
        body.clone_into(text);
        *revision = format!("{revision}+");
    }
    Ok(())
}

/// Gives a review, and returns its id. The key makes a second call harmless.
pub(crate) fn review(facts: &mut PullFacts, new: &NewReview) -> Result<String, ScmError> {
    let id = new.key.clone().unwrap_or_else(|| format!("r{}", facts.reviews.len()));
    if facts.reviews.iter().any(|known| known.id == id) {
        return Ok(id);
    }
    if new.head.as_ref().is_some_and(|head| *head != facts.head) {
        return Err(ScmError::refused("its head has moved"));
    }
    for ReviewComment { path, line, side, body } in new.comments.iter().cloned() {
        let (pull, by, at) = (new.pull.clone(), new.by.clone(), CommentPlace::Line { path, line, side });
        comment(facts, &NewComment { pull, by, body, at, key: None })?;
    }
    let (author, commit, body) = (new.by.clone(), facts.head.clone(), new.body.clone());
    let (verdict, revision) = (new.verdict, "1".to_owned());
    facts.reviews.push(ReviewFacts { id: id.clone(), author, verdict, commit, body, revision });
    Ok(id)
}

/// Adds our reply to a thread. The key makes a second call harmless.
pub(crate) fn reply(inner: &mut UniverseState, reply: &ThreadReply) -> Result<(), TrackerError> {
    let facts = inner.outside.pulls.get_mut(&reply.pull);
    let threads = facts.map(|facts| facts.threads.iter_mut()).into_iter().flatten();
    let Some(thread) = threads.into_iter().find(|thread| thread.id == reply.thread) else {
        return Err(TrackerError::not_found(format!("`{}`", reply.thread)));
    };
    thread.resolved |= reply.resolve;
    if !reply.text.is_empty() && thread.comments.iter().all(|comment| comment.id != reply.key) {
        let author = AuthorFacts { login: "ao".into(), standing: AuthorStanding::Agent };
        let (id, body, revision) = (reply.key.clone(), reply.text.clone(), "1".to_owned());
        thread.comments.push(CommentFacts { id, author, body, url: "https://forge/c".into(), revision });
    }
    inner.outside.answered.insert(reply.key.clone());
    hint(inner, LookHint::Pull(reply.pull.clone()));
    Ok(())
}

/// Returns an issue as it is now.
pub(crate) fn see_task(inner: &mut UniverseState, task: &TaskId) -> Option<TaskSeen> {
    let now = inner.wall();
    let blocked_by = inner.outside.open_blockers(task);
    let issue = inner.outside.tasks.get_mut(task)?;
    // The clock of a tracker does not jump with ours.
    issue.facts.observed = issue.facts.observed.max(now);
    let mut seen = issue.clone();
    seen.facts.blocked_by = blocked_by;
    Some(seen)
}

/// Changes an issue, if there is one. If that closes or opens it, the issues that wait for it change too.
pub(crate) fn change_task(
    inner: &mut UniverseState,
    task: &TaskId,
    change: impl FnOnce(&mut TaskSeen),
) -> bool {
    let now = inner.tracker_time();
    let tasks = &mut inner.outside.tasks;
    let Some(issue) = tasks.get_mut(task) else { return false };
    let was = issue.clone();
    change(issue);
    if *issue != was {
        issue.updated = now;
    }
    let closed = issue.facts.closed;
    let mut waiting = vec![];
    if closed != was.facts.closed {
        let waits = |other: &&mut TaskSeen| other.facts.blocked_by.contains(task) && other.task != *task;
        for other in tasks.values_mut().filter(waits) {
            other.updated = now;
            waiting.push(other.task.clone());
        }
    }
    if closed {
        inner.outside.closed.insert(task.clone());
    }
    for task in [task.clone()].into_iter().chain(waiting) {
        hint(inner, LookHint::Task(task));
    }
    true
}

/// A receiver of hints, in one life of the daemon.
pub(crate) struct HintWatcher {
    pub(crate) life: u32,
    pub(crate) project: Option<ProjectId>,
    /// True for the watch of a tracker.
    pub(crate) tasks: bool,
    pub(crate) hints: Arc<dyn HintReceiver>,
}

/// Notes a change, and sends a hint, which may be lost, doubled or late.
pub(crate) fn hint(inner: &mut UniverseState, hint: LookHint) {
    let now = inner.elapsed();
    inner.outside.changed.insert(hint.clone(), now);
    send(inner, WorldEvent::Hint(hint));
}

/// Passes a hint on to the daemon.
pub(crate) fn pass_on(inner: &mut UniverseState, hint: &LookHint) {
    let (project, tasks) = match hint {
        LookHint::Pull(pull) => (&pull.project, false),
        LookHint::Task(task) => (&task.project, true),
        LookHint::Project(project) => (project, false),
    };
    if inner.fake_bug == FakeBug::Hints && !inner.outside.looking.is_empty() {
        return;
    }
    let life = inner.life;
    for watcher in inner.outside.watchers.iter().filter(|watcher| watcher.life == life) {
        if watcher.project.as_ref() == Some(project) && watcher.tasks == tasks {
            watcher.hints.hint(hint.clone());
        }
    }
}

impl fmt::Debug for HintWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HintWatcher").field("life", &self.life).finish_non_exhaustive()
    }
}

pub(crate) fn check(facts: &mut PullFacts, state: CheckState) {
    facts.checks =
        vec![CheckFacts { run: None, name: CHECK.into(), commit: facts.head.clone(), state, required: true }];
}
