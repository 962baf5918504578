//! A fake forge: shows, checks, tests and merges changes, and sends hints.

use std::sync::Arc;

use ao_core::pull::{AuthorFacts, PullFacts, PullState};
use ao_core::queue::LanePart;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, CheckWhat, FailureReport, HintReceiver, LogPart, LookHint,
    MergeAbilities, MergeOrder, MergeOutcome, NewComment, NewPull, NewReview, PullDetail, PullEdit,
    PullFilter, PullRow, RunFilter, RunState, Scm, ScmChecks, ScmError, ScmReviews, TestOrder, TestOutcome,
    ThreadReply,
};
use async_trait::async_trait;

use super::{FakePort, LATENCY};
use crate::faults::PortCall;
use crate::outside::{self, CheckRerun, WorldEvent, fresh_pull};
use crate::universe::UniverseState;
use crate::watch::Invariant;

#[async_trait]
impl Scm for FakePort {
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
        let mut inner = self.universe.lock();
        let of_project = |id: &PullId| id.project == new.project;
        let same = |facts: &PullFacts| {
            facts.state == PullState::Open
                && (&facts.head_branch, &facts.base_branch) == (&new.head_branch, &new.base_branch)
        };
        let mut known = inner.outside.pulls.iter().filter(|(id, _)| of_project(id));
        if let Some((id, _)) = known.find(|(_, facts)| same(facts)) {
            return Ok(id.clone());
        }
        let last = inner.outside.pulls.keys().filter(|id| of_project(id)).map(|id| id.number).max();
        let id = PullId { project: new.project.clone(), number: last.unwrap_or(0) + 1 };
        let (base, at) = (inner.outside.base(&new.project), inner.wall());
        let facts = PullFacts {
            title: new.title.clone(),
            base_branch: new.base_branch.clone(),
            draft: new.draft,
            author: new.by.clone(),
            labels: new.labels.clone(),
            ..fresh_pull(&new.head_branch, base, at)
        };
        inner.outside.pulls.insert(id.clone(), facts);
        Ok(id)
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let passed = self.passes(PortCall::Pulls).await?;
        let seen = {
            let mut inner = self.universe.lock();
            pulls.iter().filter_map(|pull| Some((pull.clone(), seen(&mut inner, pull)?))).collect()
        };
        self.latency(PortCall::Pulls).await;
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(seen)
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        let passed = self.passes(PortCall::OpenPulls).await?;
        let open = {
            let inner = self.universe.lock();
            let pulls = inner.outside.pulls.iter();
            let open =
                pulls.filter(|(pull, facts)| pull.project == *project && facts.state == PullState::Open);
            open.map(|(pull, _)| pull.clone()).collect()
        };
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(open)
    }

    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError> {
        let passed = self.passes(PortCall::Base).await?;
        let tip = Some(self.universe.lock().outside.base(project));
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(BaseView { tip, ..BaseView::default() })
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        commit: &Commit,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        let inner = self.universe.lock();
        let files = inner.outside.files.get(commit);
        let file = files.and_then(|files| files.get(path));
        Ok(file.map(|content| content.iter().take(limit).copied().collect()))
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        let passed = self.within_quota(PortCall::Test).await?;
        let outcome = test(&mut self.universe.lock(), order);
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(outcome)
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let passed = self.within_quota(PortCall::Merge).await?;
        let mut outcome = merge(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            outcome = merge(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(outcome)
    }

    async fn delete_branch(&self, pull: &PullId, head: &Commit) -> Result<Option<String>, ScmError> {
        delete_branch(&mut self.universe.lock(), pull, head)
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.send_hints(false, hints).await;
    }
}

#[async_trait]
impl ScmReviews for FakePort {
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        let inner = self.universe.lock();
        let matches = |id: &PullId, facts: &PullFacts| {
            id.project == *project
                && filter.head_branch.as_ref().is_none_or(|head| *head == facts.head_branch)
        };
        let found = inner.outside.pulls.iter().rev().filter(|(id, facts)| matches(id, facts));
        Ok(found.take(filter.limit).map(|(id, facts)| row(id, facts)).collect())
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError> {
        let passed = self.passes(PortCall::Show).await?;
        let (shown, body) = {
            let mut inner = self.universe.lock();
            (seen(&mut inner, pull), inner.outside.bodies.get(pull).cloned())
        };
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        let facts = shown.ok_or_else(|| ScmError::not_found(pull.to_string()))?;
        Ok(PullDetail {
            pull: pull.clone(),
            body: body.unwrap_or_else(|| format!("Closes #{}", pull.number % 5 + 1)),
            created_at: facts.observed_at,
            updated_at: facts.observed_at,
            facts,
            stacked_on: None,
            stacked: vec![],
            commits: vec![],
            threads: Default::default(),
            reviewed_at: Default::default(),
            reworded_at: Default::default(),
            checks: vec![],
            merged_by: None,
        })
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError> {
        let inner = self.universe.lock();
        let facts = inner.outside.pulls.get(pull).ok_or_else(|| ScmError::not_found(pull.to_string()))?;
        Ok(diff(&inner, &facts.head, limit))
    }

    async fn diff_at(&self, _: &PullId, head: &Commit, _: &Commit, limit: usize) -> Result<String, ScmError> {
        Ok(diff(&self.universe.lock(), head, limit))
    }

    async fn edit(&self, id: &PullId, edit: &PullEdit) -> Result<(), ScmError> {
        let mut inner = self.universe.lock();
        outside::edit(pull(&mut inner, id)?, edit)?;
        if let Some(body) = &edit.body {
            inner.outside.bodies.insert(id.clone(), body.clone());
        }
        outside::hint(&mut inner, LookHint::Pull(id.clone()));
        Ok(())
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError> {
        let mut inner = self.universe.lock();
        let thread = outside::comment(pull(&mut inner, &comment.pull)?, comment)?;
        outside::hint(&mut inner, LookHint::Pull(comment.pull.clone()));
        Ok(thread)
    }

    async fn edit_comment(
        &self,
        id: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError> {
        let mut inner = self.universe.lock();
        outside::edit_comment(pull(&mut inner, id)?, comment, by, body)?;
        outside::hint(&mut inner, LookHint::Pull(id.clone()));
        Ok(())
    }

    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError> {
        let passed = self.passes(PortCall::Reply).await?;
        for _ in 0..passed.times() {
            outside::reply(&mut self.universe.lock(), reply)?;
        }
        self.universe.after(passed).await.map_err(ScmError::Failed)
    }

    async fn review(&self, review: &NewReview) -> Result<String, ScmError> {
        let mut inner = self.universe.lock();
        outside::review(pull(&mut inner, &review.pull)?, review)
    }

    async fn resolve(
        &self,
        id: &PullId,
        thread: &str,
        _: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError> {
        let mut inner = self.universe.lock();
        outside::thread(pull(&mut inner, id)?, thread)?.resolved = resolved;
        Ok(())
    }
}

#[async_trait]
impl ScmChecks for FakePort {
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError> {
        let passed = self.passes(PortCall::Rerun).await?;
        for _ in 0..passed.times() {
            rerun(&mut self.universe.lock(), pull, head, check)?;
        }
        self.universe.after(passed).await.map_err(ScmError::Failed)
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        let inner = self.universe.lock();
        let matches = |run: &&CheckRun| {
            filter.project.as_ref().is_none_or(|project| run.project == *project)
                && filter.pull.is_none()
                && filter.check.as_ref().is_none_or(|check| run.check == *check)
                && filter.state.is_none_or(|state| run.state == state)
        };
        Ok(inner.outside.base_runs.iter().rev().filter(matches).take(filter.limit).cloned().collect())
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        let passed = self.passes(PortCall::Check).await?;
        let runs = {
            let mut inner = self.universe.lock();
            if inner.faults.are_random() && inner.rng.u8(..8) == 0 {
                return Err(ScmError::Unsupported { what: "checking a base".into() });
            }
            let now = inner.wall();
            let runs: Vec<CheckRun> =
                order.checks.iter().filter_map(|check| base_run(order, check, now)).collect();
            runs.iter().for_each(|run| keep(&mut inner, run));
            runs
        };
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(runs)
    }

    async fn check_log(&self, run: &str, from: u64, limit: u32, _: bool) -> Result<LogPart, ScmError> {
        tokio::time::sleep(LATENCY).await;
        let known = self.universe.lock().outside.base_runs.iter().any(|known| known.id == run);
        let log: &[u8] = if known { b"checked\n" } else { return Err(ScmError::not_found(run)) };
        let rest = usize::try_from(from).ok().and_then(|from| log.get(from..)).unwrap_or_default();
        let bytes: Vec<u8> = rest.iter().take(limit as usize).copied().collect();
        Ok(LogPart { next: from + bytes.len() as u64, ended: bytes.len() == rest.len(), bytes })
    }

    async fn run(&self, run: &str) -> Result<CheckRun, ScmError> {
        let passed = self.passes(PortCall::RunState).await?;
        let ended = {
            let mut inner = self.universe.lock();
            let ended = base_run_ended(&mut inner, run);
            ended.iter().for_each(|run| keep(&mut inner, run));
            ended
        };
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        ended.ok_or_else(|| ScmError::not_found(run))
    }
}

fn pull<'a>(inner: &'a mut UniverseState, id: &PullId) -> Result<&'a mut PullFacts, ScmError> {
    inner.outside.pulls.get_mut(id).ok_or_else(|| ScmError::not_found(id.to_string()))
}

fn row(id: &PullId, facts: &PullFacts) -> PullRow {
    PullRow {
        pull: id.clone(),
        title: facts.title.clone(),
        state: facts.state.clone(),
        draft: facts.draft,
        head_branch: facts.head_branch.clone(),
        base_branch: facts.base_branch.clone(),
        head: facts.head.clone(),
        author: facts.author.clone(),
        labels: facts.labels.clone(),
        created_at: facts.observed_at,
        updated_at: facts.observed_at,
    }
}

/// Returns the files of a commit as a diff that adds them, of at most `limit` bytes.
fn diff(inner: &UniverseState, head: &Commit, limit: usize) -> String {
    let files = inner.outside.files.get(head).into_iter().flatten();
    let added = files.map(|(path, content)| format!("+++ b/{path}\n+{}", String::from_utf8_lossy(content)));
    let mut added: String = added.collect();
    added.truncate(added.floor_char_boundary(limit));
    added
}

/// Returns the present facts of a pull request, with the tip of its base.
fn seen(inner: &mut UniverseState, pull: &PullId) -> Option<PullFacts> {
    let (now, base) = (inner.wall(), inner.outside.base(&pull.project));
    let facts = inner.outside.pulls.get_mut(pull)?;
    // The clock of a forge does not jump with ours.
    facts.observed_at = facts.observed_at.max(now);
    if facts.state == PullState::Open {
        facts.base = base;
    }
    Some(facts.clone())
}

/// Begins one more run of a check.
fn rerun(inner: &mut UniverseState, pull: &PullId, commit: &Commit, check: &str) -> Result<(), ScmError> {
    let known = inner.outside.pulls.get(pull);
    if !known.is_some_and(|facts| facts.head == *commit && facts.state == PullState::Open) {
        return Err(ScmError::refused("that commit is not the head any more"));
    }
    if inner.faults.are_random() && inner.rng.u8(..8) == 0 {
        return Err(ScmError::Unsupported { what: "running it again".into() });
    }
    let number = inner.outside.reruns.len() as u32 + 1;
    let (pull, check, commit) = (pull.clone(), check.to_owned(), commit.clone());
    let rerun = CheckRerun { pull, check, commit, number };
    inner.outside.reruns.insert(rerun.clone());
    let at = inner.elapsed() + inner.rng.u64(1_000..60_000);
    inner.outside.plan(at, WorldEvent::Ran(rerun));
    Ok(())
}

/// Returns a run of a check on a base that has just begun. Its id holds everything that it is about.
fn base_run(order: &CheckOrder, check: &str, now: Timestamp) -> Option<CheckRun> {
    let CheckWhat::Revision(commit) = &order.what else { return None };
    Some(CheckRun {
        id: format!("{} {commit} {check}", order.project),
        project: order.project.clone(),
        pull: None,
        check: check.to_owned(),
        command: "make test".into(),
        required: true,
        head: Commit::new(commit),
        base: None,
        tree: commit.clone(),
        ahead: vec![],
        state: RunState::Running,
        why: None,
        exit_code: None,
        queued_at: now,
        began_at: Some(now),
        ended_at: None,
        tries: 1,
        same_as: None,
        log: None,
        failure: None,
    })
}

/// Stores a run, in place of its earlier state.
fn keep(inner: &mut UniverseState, run: &CheckRun) {
    let runs = &mut inner.outside.base_runs;
    runs.retain(|known| known.id != run.id);
    runs.push(run.clone());
}

/// Returns the end of such a run: red if the base is, now and then for a different reason.
fn base_run_ended(inner: &mut UniverseState, id: &str) -> Option<CheckRun> {
    let mut parts = id.splitn(3, ' ');
    let (project, commit, check) = (ProjectId::new(parts.next()?), parts.next()?, parts.next()?);
    let other = inner.faults.are_random() && inner.rng.u8(..8) == 0;
    let signature = if other { "E9" } else { "E0" };
    let red = inner.outside.red.contains(&(project.clone(), Commit::new(commit)));
    let (what, checks) = (CheckWhat::Revision(commit.to_owned()), vec![]);
    let run = base_run(&CheckOrder { project, what, checks, again: false }, check, inner.wall())?;
    let failure = FailureReport {
        signature: signature.into(),
        excerpt: format!("error: {signature}"),
        ..FailureReport::default()
    };
    Some(match red {
        true => CheckRun { state: RunState::Failed, failure: Some(failure), ..run },
        false => CheckRun { state: RunState::Passed, ..run },
    })
}

/// Tests a merge result. Changes that do not work together are red each time, unless a person wants them merged
/// without checks; besides that, some tests fail by chance.
fn test(inner: &mut UniverseState, order: &TestOrder) -> TestOutcome {
    let own = LanePart { pull: order.pull.clone(), head: order.head.clone() };
    let tree = inner.outside.tree(&order.base, order.ahead.iter().chain([&own]));
    if !order.checks {
        let asked = inner.log.ledger.may_skip_checks(&order.pull);
        inner.must(asked, Invariant::CommitFirst, || {
            format!("{} is not checked, and the log has no request for that", order.pull)
        });
        inner.outside.unchecked.insert(tree.clone());
        return TestOutcome::Green { tree };
    }
    let chance = inner.faults.are_random() && inner.rng.u8(..8) == 0;
    if chance || inner.outside.is_broken(&tree) {
        let (output, between) = (format!("error: {tree} does not work together"), String::new());
        return TestOutcome::Red { output, between };
    }
    inner.outside.green.insert(tree.clone());
    TestOutcome::Green { tree }
}

/// Merges what was tested, or returns the merge of an earlier call.
fn merge(inner: &mut UniverseState, order: &MergeOrder) -> MergeOutcome {
    let decided = inner.log.ledger.was_landing(&order.pull);
    inner.must(decided, Invariant::CommitFirst, || {
        format!("{} is merged before that was in the log", order.pull)
    });
    let last = LanePart { pull: order.pull.clone(), head: order.head.clone() };
    let parts: Vec<&LanePart> = order.with.iter().chain([&last]).collect();
    let tree = inner.outside.tree(&order.base, parts.iter().copied());
    if let Some(by) = &order.by {
        let asked = inner.log.ledger.has_asked(by, &order.pull);
        inner.must(asked, Invariant::CommitFirst, || {
            format!("{} is merged for {by}, who has not asked for it in the log", order.pull)
        });
    }
    let unchecked = order.by.is_some() && inner.outside.unchecked.contains(&tree);
    let tested = tree == order.tree && (unchecked || inner.outside.green.contains(&tree));
    inner.must(tested, Invariant::MainGreen, || {
        format!("{} is merged as {}, and what would land is {tree}", order.pull, order.tree)
    });
    let tip = inner.outside.base(&order.pull.project);
    let refused = |why: &str| MergeOutcome::Refused { tip: None, why: why.into(), in_the_way: false };
    let landed = |inner: &UniverseState, part: &LanePart| match &inner.outside.pulls.get(&part.pull)?.state {
        PullState::Merged { commit } => Some((part.clone(), commit.clone())),
        _ => None,
    };
    if let Some((_, commit)) = landed(inner, &last) {
        let with = order.with.iter().filter_map(|part| landed(inner, part)).collect();
        return MergeOutcome::Merged { commit, tip, branch_left: None, with };
    }
    for part in &parts {
        match inner.outside.pulls.get(&part.pull) {
            None => return refused("there is no such pull request"),
            Some(facts) if facts.state != PullState::Open => return refused("it is not open"),
            Some(facts) if facts.head != part.head => return refused("its head has moved"),
            Some(_) => {}
        }
    }
    if tip != order.base {
        let why = "the base has moved".to_owned();
        return MergeOutcome::Refused { tip: Some(tip), why, in_the_way: false };
    }
    if tree != order.tree {
        return refused("merging gives other files than were tested");
    }
    inner.must(unchecked || !inner.outside.is_broken(&tree), Invariant::MainGreen, || {
        format!("main is {tree}, which does not work")
    });
    let (mut with, mut at) = (vec![], tip);
    for part in parts {
        let commit = Commit::new(&format!("m{}-{}", part.pull.number, part.head));
        let grown = inner.outside.tree(&at, [part]);
        inner.outside.trees_of.insert(commit.clone(), grown);
        let files = [&at, &part.head].map(|from| inner.outside.files.get(from).cloned().unwrap_or_default());
        inner.outside.files.insert(commit.clone(), files.into_iter().flatten().collect());
        if let Some(facts) = inner.outside.pulls.get_mut(&part.pull) {
            facts.state = PullState::Merged { commit: commit.clone() };
            if order.delete_branch {
                inner.outside.branches.remove(&facts.head_branch);
            }
        }
        outside::hint(inner, LookHint::Pull(part.pull.clone()));
        with.push((part.clone(), commit.clone()));
        at = commit;
    }
    inner.outside.tips.insert(order.pull.project.clone(), at.clone());
    with.pop();
    MergeOutcome::Merged { tip: at.clone(), commit: at, branch_left: None, with }
}

/// Deletes the branch of a merged pull request, or returns why it stays.
fn delete_branch(
    inner: &mut UniverseState,
    pull: &PullId,
    head: &Commit,
) -> Result<Option<String>, ScmError> {
    let facts = inner.outside.pulls.get(pull).ok_or_else(|| ScmError::not_found(pull.to_string()))?;
    if !matches!(facts.state, PullState::Merged { .. }) {
        return Err(ScmError::refused("it is not merged"));
    }
    if facts.head != *head {
        return Ok(Some(format!("it was merged with the head {}", facts.head)));
    }
    match inner.outside.branches.get(&facts.head_branch) {
        Some(tip) if tip != head => return Ok(Some(format!("it has moved on to {tip}"))),
        _ => inner.outside.branches.remove(&facts.head_branch),
    };
    Ok(None)
}
