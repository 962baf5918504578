//! A fake forge that tests and merges changes.

use ao_core::pull::{PullFacts, PullState};
use ao_core::queue::LanePart;
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{
    BaseView, LookHint, MergeAbilities, MergeOrder, MergeOutcome, NewPull, Scm, ScmChecks, ScmError,
    ScmReviews, TestOrder, TestOutcome, Webhook,
};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::fresh_pull;
use crate::universe::UniverseState;
use crate::watch::Invariant;

#[async_trait]
impl Scm for FakePort {
    fn merge_abilities(&self) -> MergeAbilities {
        MergeAbilities::ALL
    }

    fn reviews(&self) -> Option<&dyn ScmReviews> {
        None
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        None
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
        let inner = self.universe.lock();
        let known = |id: &PullId| inner.outside.pulls.get(id).map(|facts| (id.clone(), facts.clone()));
        Ok(pulls.iter().filter_map(known).collect())
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        let inner = self.universe.lock();
        let open = inner.outside.pulls.iter().filter(|(_, facts)| facts.state == PullState::Open);
        Ok(open.map(|(pull, _)| pull).filter(|pull| pull.project == *project).cloned().collect())
    }

    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView { tip: Some(self.universe.lock().outside.base(project)), ..BaseView::default() })
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
        let passed = self.universe.before(self.life, PortCall::Test).await.map_err(ScmError::Failed)?;
        let outcome = test(&mut self.universe.lock(), order);
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(outcome)
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let passed = self.universe.before(self.life, PortCall::Merge).await.map_err(ScmError::Failed)?;
        let mut outcome = merge(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            outcome = merge(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(outcome)
    }

    async fn webhook(&self, _: &Webhook) -> Result<Vec<LookHint>, ScmError> {
        Ok(vec![])
    }
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
        }
        with.push((part.clone(), commit.clone()));
        at = commit;
    }
    inner.outside.tips.insert(order.pull.project.clone(), at.clone());
    with.pop();
    MergeOutcome::Merged { tip: at.clone(), commit: at, branch_left: None, with }
}
