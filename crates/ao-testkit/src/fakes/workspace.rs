//! Fake worktrees, which exist or not, and are dirty or not.

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::pull::{Mergeable, PullFacts};
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, Commit, PullId, SessionId, Timestamp};
use ao_ports::{
    CleanedFiles, CreatedWorkspace, LookHint, RebaseOrder, RebaseOutcome, RemovalOutcome, RemoveOrder,
    TreeRef, Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::{self, SimTree};
use crate::universe::{FakeBug, UniverseState};
use crate::watch::Invariant;

#[async_trait]
impl Workspace for FakePort {
    async fn create(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError> {
        let passed =
            self.universe.before(self.life, PortCall::Create).await.map_err(WorkspaceError::Failed)?;
        let made = create(&mut self.universe.lock(), session, attempt, plan)?;
        self.universe.after(passed).await.map_err(WorkspaceError::Failed)?;
        Ok(made)
    }

    async fn set_up(&self, session: SessionId, _: Attempt, plan: &SetUpPlan) -> Result<(), WorkspaceError> {
        let passed =
            self.universe.before(self.life, PortCall::SetUp).await.map_err(WorkspaceError::Failed)?;
        set_up(&mut self.universe.lock(), session, plan)?;
        self.universe.after(passed).await.map_err(WorkspaceError::Failed)
    }

    async fn end_programs(&self, _: SessionId, _: &str) -> Result<(), WorkspaceError> {
        Ok(())
    }

    async fn whereabouts(&self, _: &TreeRef) -> WorkspaceDrift {
        WorkspaceDrift::default()
    }

    async fn rebase(&self, order: &RebaseOrder) -> Result<RebaseOutcome, WorkspaceError> {
        let passed =
            self.universe.before(self.life, PortCall::Rebase).await.map_err(WorkspaceError::Failed)?;
        let mut outcome = rebase(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            outcome = rebase(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(WorkspaceError::Failed)?;
        Ok(outcome)
    }

    async fn survey(&self, _: &str, _: &[TreeRef]) -> Result<Vec<WorkspaceSurvey>, WorkspaceError> {
        Ok(vec![])
    }

    async fn clean(&self, _: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        Ok(CleanedFiles { bytes: 0, paths: 0 })
    }

    async fn forget_rescues(&self, _: &str, _: Timestamp) -> Result<u32, WorkspaceError> {
        Ok(0)
    }

    async fn inspect(&self, tree: &TreeRef) -> TreeFacts {
        let inner = self.universe.lock();
        place(&inner, tree).map(|path| inner.outside.tree_facts(&path)).unwrap_or_default()
    }

    async fn remove(&self, order: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError> {
        let passed =
            self.universe.before(self.life, PortCall::Remove).await.map_err(WorkspaceError::Failed)?;
        let mut removal = remove(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            removal = remove(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(WorkspaceError::Failed)?;
        Ok(removal)
    }
}

fn create(
    inner: &mut UniverseState,
    session: SessionId,
    attempt: Attempt,
    plan: &WorkspacePlan,
) -> Result<CreatedWorkspace, WorkspaceError> {
    let admitted = inner.log.ledger.was_admitted(session, attempt);
    inner.must(admitted, Invariant::CommitFirst, || {
        format!("a workspace is made for attempt {attempt} of {session}, which has no slot in the log")
    });
    let one_turn =
        inner.log.shadow.sessions.get(&session).is_some_and(|session| session.spec.agent.abilities.one_turn);
    inner.outside.meet(session, one_turn);
    let path = format!("/trees/{}/{}", plan.project, plan.name);
    let base = inner.outside.base(&plan.project).to_string();
    let taken = |tree: &SimTree| {
        tree.session != session && tree.project == plan.project && tree.branch == plan.branch
    };
    match inner.outside.trees.get(&path) {
        // A tree that the core does not know can still exist: a creation whose result was lost, of a session that was
        // stopped before the retry.
        Some(tree) if tree.session != session => {
            let other = path.clone();
            return Err(WorkspaceError::BranchInUse { branch: plan.branch.clone(), other });
        }
        Some(_) => {}
        None => {
            if let Some((other, _)) = inner.outside.trees.iter().find(|(_, tree)| taken(tree)) {
                let (branch, other) = (plan.branch.clone(), other.clone());
                return Err(WorkspaceError::BranchInUse { branch, other });
            }
            let tree = SimTree::clean(session, plan.project.clone(), plan.branch.clone());
            inner.outside.trees.insert(path.clone(), tree);
        }
    }
    Ok(CreatedWorkspace { path, base, as_found: false })
}

fn set_up(inner: &mut UniverseState, session: SessionId, plan: &SetUpPlan) -> Result<(), WorkspaceError> {
    if inner.outside.behaviour(session).setup_fails {
        let (why, log, tail) =
            ("`make deps` failed".into(), Some("/logs/setup.log".into()), "no rule".into());
        return Err(WorkspaceError::SetupFailed { why, log, tail });
    }
    let tree = inner.outside.trees.get_mut(&plan.path).filter(|tree| tree.session == session);
    let Some(tree) = tree else {
        let what = format!("`{}` is set up for {session}, and is no workspace of its own", plan.path);
        inner.broken(Invariant::CommitFirst, what);
        return Err(WorkspaceError::Failed("there is no such tree".into()));
    };
    tree.set_up = true;
    Ok(())
}

fn remove(inner: &mut UniverseState, order: &RemoveOrder) -> RemovalOutcome {
    let session = order.tree.session;
    let wanted = inner.log.ledger.removal_wanted(session);
    inner.must(wanted, Invariant::CommitFirst, || {
        format!("the tree of {session} is removed without a request in the log")
    });
    let gone = RemovalOutcome::Removed { rescue: Some(format!("refs/rescue/{session}")) };
    let Some(path) = place(inner, &order.tree) else { return gone };
    let reasons = order.reasons(&inner.outside.tree_facts(&path));
    if !reasons.is_empty() && inner.fake_bug != FakeBug::Workspace {
        return RemovalOutcome::Kept { reasons };
    }
    inner.must(reasons.is_empty(), Invariant::NothingDeleted, || {
        format!("`{path}` was removed, though the gate forbids it: {reasons:?}")
    });
    inner.outside.trees.remove(&path);
    gone
}

/// Rebases a branch, and pushes it.
fn rebase(inner: &mut UniverseState, order: &RebaseOrder) -> RebaseOutcome {
    if place(inner, &order.tree).is_none() {
        return RebaseOutcome::Moved;
    }
    if inner.faults.are_random() && inner.rng.u8(..4) == 0 {
        return RebaseOutcome::Busy { why: "a merge is in progress".into() };
    }
    if inner.outside.rebased.get(&order.head) == Some(&order.base) {
        return RebaseOutcome::UpToDate;
    }
    let number = inner.outside.rebased.len();
    let at_head = |(pull, facts): &(&PullId, &mut PullFacts)| {
        pull.project == order.tree.project && facts.head_branch == order.branch && facts.head == order.head
    };
    let head = Commit::new(&format!("{}@rebased{number}", order.branch));
    let mut moved = vec![];
    for (pull, facts) in inner.outside.pulls.iter_mut().filter(at_head) {
        if let Mergeable::Conflict { files } = &facts.mergeable {
            return RebaseOutcome::Conflict { files: files.clone() };
        }
        facts.head = head.clone();
        facts.checks.clear();
        moved.push(pull.clone());
    }
    if moved.is_empty() {
        return RebaseOutcome::Moved;
    }
    inner.outside.rebased.insert(head.clone(), order.base.clone());
    moved.into_iter().for_each(|pull| outside::hint(inner, LookHint::Pull(pull)));
    RebaseOutcome::Rebased { head, pushed: true }
}

/// Returns the path of the tree, if it exists: the recorded one, or else the one of the session.
fn place(inner: &UniverseState, tree: &TreeRef) -> Option<String> {
    let trees = &inner.outside.trees;
    match &tree.recorded {
        Some(recorded) => trees.contains_key(&recorded.path).then(|| recorded.path.clone()),
        None => trees.iter().find(|(_, known)| known.session == tree.session).map(|(path, _)| path.clone()),
    }
}
