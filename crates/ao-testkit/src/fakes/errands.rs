//! A fake that runs jobs: reruns checks, checks the base, replies in threads.

use ao_core::errand::{Errand, ErrandOutcome, JobOrder};
use ao_core::pull::PullState;
use ao_ports::{ErrandError, JobRunner};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::{CheckRerun, WorldEvent};
use crate::universe::UniverseState;
use crate::watch::Invariant;

#[async_trait]
impl JobRunner for FakePort {
    async fn run(&self, errand: &Errand) -> Result<ErrandOutcome, ErrandError> {
        let passed = self.universe.before(self.life, PortCall::Errand).await.map_err(ErrandError::Later)?;
        let mut outcome = run(&mut self.universe.lock(), errand);
        if passed.times() > 1 {
            outcome = run(&mut self.universe.lock(), errand);
        }
        self.universe.after(passed).await.map_err(ErrandError::Later)?;
        outcome
    }
}

fn run(inner: &mut UniverseState, errand: &Errand) -> Result<ErrandOutcome, ErrandError> {
    let wanted = inner.log.ledger.was_ordered(errand.id);
    inner.must(wanted, Invariant::CommitFirst, || {
        format!("{} is run before it was in the log: {:?}", errand.id, errand.order)
    });
    let done = || Ok(ErrandOutcome::Done { said: String::new() });
    let chance = inner.faults.are_random();
    match &errand.order {
        JobOrder::Rerun { pull, check, commit, number } => {
            let known = inner.outside.pulls.get(pull);
            if !known.is_some_and(|facts| facts.head == *commit && facts.state == PullState::Open) {
                return Err(ErrandError::Never("that commit is not the head any more".into()));
            }
            if chance && inner.rng.u8(..8) == 0 {
                return Err(ErrandError::Never("this forge cannot run it again".into()));
            }
            let rerun = CheckRerun {
                pull: pull.clone(),
                check: check.clone(),
                commit: commit.clone(),
                number: *number,
            };
            // The number makes a second call harmless.
            if inner.outside.reruns.insert(rerun.clone()) {
                let at = inner.elapsed() + inner.rng.u64(1_000..60_000);
                inner.outside.plan(at, WorldEvent::Ran(rerun));
            }
            done()
        }
        JobOrder::CheckBase { project, commit, .. } => {
            match inner.outside.red.contains(&(project.clone(), commit.clone())) {
                _ if chance && inner.rng.u8(..8) == 0 => {
                    Err(ErrandError::Never("no base can be checked here".into()))
                }
                // Now and then for a different reason.
                true if chance && inner.rng.u8(..8) == 0 => {
                    Ok(ErrandOutcome::BaseRed { signature: "E9".into(), excerpt: "error: E9".into() })
                }
                true => Ok(ErrandOutcome::BaseRed { signature: "E0".into(), excerpt: "error: E0".into() }),
                false => Ok(ErrandOutcome::BaseGreen {}),
            }
        }
        JobOrder::Rebase { .. } | JobOrder::Run { .. } if chance && inner.rng.bool() => {
            Ok(ErrandOutcome::Refused { why: "it does not go".into() })
        }
        JobOrder::Reply { key, .. } => {
            inner.outside.answered.insert(key.clone());
            done()
        }
        JobOrder::Spawn { .. }
        | JobOrder::Assign { .. }
        | JobOrder::Settle { .. }
        | JobOrder::Rebase { .. }
        | JobOrder::Run { .. }
        | JobOrder::Hook { .. } => done(),
    }
}
