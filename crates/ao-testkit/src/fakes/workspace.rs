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

    async fn whereabouts(&self, tree: &TreeRef) -> WorkspaceDrift {
        let inner = self.universe.lock();
        let Some(known) = place(&inner, tree).and_then(|path| inner.outside.trees.get(&path)) else {
            let wrong =
                format!("its folder is gone; restore the session for another one of `{}`", tree.branch);
            return WorkspaceDrift { stand: None, wrong: vec![wrong] };
        };
        let wrong = match &known.checked_out.branch {
            Some(branch) if *branch == known.branch => None,
            Some(branch) => {
                Some(format!("the branch `{branch}` is checked out instead of `{}`", known.branch))
            }
            None => Some(format!("its head is on no branch instead of on `{}`", known.branch)),
        };
        WorkspaceDrift { stand: Some(known.checked_out.clone()), wrong: Vec::from_iter(wrong) }
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

    async fn clean(&self, tree: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        match facts(&self.universe.lock(), tree).ours {
            Some(true) => Ok(CleanedFiles { bytes: 0, paths: 0 }),
            _ => Err(WorkspaceError::Failed("it is no workspace of the session".into())),
        }
    }

    async fn forget_rescues(&self, _: &str, before: Timestamp) -> Result<u32, WorkspaceError> {
        let rescues = &mut self.universe.lock().outside.rescues;
        let all = rescues.len();
        rescues.retain(|_, (at, _)| *at >= before);
        Ok((all - rescues.len()) as u32)
    }

    async fn inspect(&self, tree: &TreeRef) -> TreeFacts {
        facts(&self.universe.lock(), tree)
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
    let base = inner.outside.base(&plan.project);
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
            let head = match &plan.rescue {
                None => base.clone(),
                Some(rescue) => match inner.outside.rescues.get(rescue) {
                    Some((_, head)) => head.clone(),
                    None => return Err(WorkspaceError::Failed(format!("there is no `{rescue}`"))),
                },
            };
            let tree = SimTree::clean(session, plan.project.clone(), plan.branch.clone(), head);
            inner.outside.trees.insert(path.clone(), tree);
        }
    }
    Ok(CreatedWorkspace { path, base: base.to_string(), as_found: false })
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
    let name = format!("refs/rescue/{session}");
    let path = place(inner, &order.tree);
    if path.is_none() && !is_main(&order.tree) {
        let rescue = Some(name).filter(|name| inner.outside.rescues.contains_key(name));
        return RemovalOutcome::Removed { rescue };
    }
    let reasons = order.reasons(&facts(inner, &order.tree));
    if !reasons.is_empty() && inner.fake_bug != FakeBug::Workspace {
        return RemovalOutcome::Kept { reasons };
    }
    inner.must(reasons.is_empty(), Invariant::NothingDeleted, || {
        format!("{path:?} was removed, though the gate forbids it: {reasons:?}")
    });
    let removed = path.and_then(|path| inner.outside.trees.remove(&path));
    let head = removed.and_then(|tree| tree.checked_out.head);
    head.into_iter().for_each(|head| keep(inner, &name, head));
    RemovalOutcome::Removed { rescue: Some(name) }
}

/// Keeps a commit in a rescue ref.
fn keep(inner: &mut UniverseState, name: &str, commit: Commit) {
    let at = inner.wall();
    inner.outside.rescues.insert(name.to_owned(), (at, commit));
}

/// Rebases a branch, and pushes it.
fn rebase(inner: &mut UniverseState, order: &RebaseOrder) -> RebaseOutcome {
    let Some(path) = place(inner, &order.tree) else { return RebaseOutcome::Moved };
    if inner.outside.trees[&path].facts.uncommitted == Some(true) {
        return RebaseOutcome::Busy { why: "it has uncommitted changes".into() };
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
    let files = [&order.base, &order.head].into_iter().filter_map(|commit| inner.outside.files.get(commit));
    let files = files.flatten().map(|(path, text)| (path.clone(), text.clone())).collect();
    inner.outside.files.insert(head.clone(), files);
    let name = format!("refs/rescue/{}/{number}", order.tree.session);
    keep(inner, &name, order.head.clone());
    if let Some(tree) = inner.outside.trees.get_mut(&path) {
        tree.checked_out.head = Some(head.clone());
    }
    if let Some(tip) = inner.outside.branches.get_mut(&order.branch) {
        *tip = head.clone();
    }
    moved.into_iter().for_each(|pull| outside::hint(inner, LookHint::Pull(pull)));
    RebaseOutcome::Rebased { head, pushed: true }
}

fn facts(inner: &UniverseState, tree: &TreeRef) -> TreeFacts {
    match place(inner, tree) {
        Some(path) => inner.outside.tree_facts(&path, tree.session),
        None if is_main(tree) => {
            TreeFacts { ours: Some(false), main_worktree: Some(true), ..outside::nothing_to_lose() }
        }
        None => TreeFacts::default(),
    }
}

fn is_main(tree: &TreeRef) -> bool {
    tree.recorded.as_ref().is_some_and(|recorded| recorded.path == tree.repository)
}

/// Returns the path of the tree, if it exists: the recorded one, or else the one of the session.
fn place(inner: &UniverseState, tree: &TreeRef) -> Option<String> {
    let trees = &inner.outside.trees;
    match &tree.recorded {
        Some(recorded) => trees.contains_key(&recorded.path).then(|| recorded.path.clone()),
        None => trees.iter().find(|(_, known)| known.session == tree.session).map(|(path, _)| path.clone()),
    }
}
