//! A forge where changes are tested and merged.

use ao_core::pull::{PullFacts, PullState};
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{
    Hint, MergeOrder, MergeOutcome, NewPull, Quota, Scm, ScmAbilities, ScmError, TestOrder, TestOutcome,
    ThreadReply, TrackerError, Webhook,
};
use async_trait::async_trait;

use super::Fake;
use crate::faults::Call;
use crate::universe::Inner;
use crate::watch::Invariant;

#[async_trait]
impl Scm for Fake {
    fn abilities(&self) -> ScmAbilities {
        ScmAbilities { pinned_merge: true, ..ScmAbilities::default() }
    }

    async fn open(&self, _: &NewPull) -> Result<PullId, TrackerError> {
        Err(TrackerError::Failed("the script opens pull requests itself".into()))
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, TrackerError> {
        let inner = self.universe.lock();
        let known = |id: &PullId| inner.outside.pulls.get(id).map(|facts| (id.clone(), facts.clone()));
        Ok(pulls.iter().filter_map(known).collect())
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, TrackerError> {
        let inner = self.universe.lock();
        Ok(inner.outside.pulls.keys().filter(|pull| pull.project == *project).cloned().collect())
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        let passed = self.universe.before(self.life, Call::Test).await.map_err(ScmError::Failed)?;
        // What does not work together is chance, and so only where there is any.
        let red = {
            let mut inner = self.universe.lock();
            inner.faults.are_random() && inner.rng.u8(..4) == 0
        };
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(if red {
            TestOutcome::Red { output: "error: it does not work together".into() }
        } else {
            TestOutcome::Green { tree: format!("{}+{}", order.head, order.base) }
        })
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        let passed = self.universe.before(self.life, Call::Merge).await.map_err(ScmError::Failed)?;
        let mut outcome = merge(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            outcome = merge(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(ScmError::Failed)?;
        Ok(outcome)
    }

    async fn rerun(&self, _: &PullId, _: &Commit, _: &str) -> Result<(), TrackerError> {
        Ok(())
    }

    async fn reply(&self, _: &ThreadReply) -> Result<(), TrackerError> {
        Ok(())
    }

    async fn webhook(&self, _: &Webhook) -> Result<Vec<Hint>, TrackerError> {
        Ok(vec![])
    }

    fn quota(&self) -> Option<Quota> {
        None
    }
}

/// Merges what was tested, or finds the merge that an earlier call made.
fn merge(inner: &mut Inner, order: &MergeOrder) -> MergeOutcome {
    let decided = inner.log.ledger.was_landing(&order.pull);
    inner.must(decided, Invariant::CommitFirst, || {
        format!("{} is merged before that was in the log", order.pull)
    });
    let tested = format!("{}+{}", order.head, order.base) == order.tree;
    inner.must(tested, Invariant::CommitFirst, || {
        format!("{} is merged as {}, which nobody has tested", order.pull, order.tree)
    });
    let tip = inner.outside.base(&order.pull.project);
    let refused = |why: &str| MergeOutcome::Refused { tip: Some(tip.clone()), why: why.into() };
    let Some(facts) = inner.outside.pulls.get_mut(&order.pull) else {
        return refused("there is no such pull request");
    };
    match &facts.state {
        PullState::Merged { commit } => {
            return MergeOutcome::Merged { commit: commit.clone(), branch_left: None };
        }
        PullState::Closed => return refused("it is closed"),
        PullState::Open if facts.head != order.head => return refused("its head has moved"),
        PullState::Open if tip != order.base => return refused("the base has moved"),
        PullState::Open => {}
    }
    let commit = Commit::new(&format!("m-{}", order.head));
    facts.state = PullState::Merged { commit: commit.clone() };
    inner.outside.tips.insert(order.pull.project.clone(), commit.clone());
    MergeOutcome::Merged { commit, branch_left: None }
}
