//! The simulated forge and notifier on the benches of their contracts, in a world without an engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_core::pull::{CheckState, PullState};
use ao_core::{Commit, ProjectId};
use ao_ports::{Notifier, Scm};
use async_trait::async_trait;

use super::FakePort;
use crate::contract::notifier::NotifierBench;
use crate::contract::scm::ScmBench;
use crate::faults::{Fault, FaultPlan, PortCall};
use crate::outside;
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};

/// A simulated port in a calm world.
#[derive(Debug)]
pub struct SimPortBench(FakePort);

impl Default for SimPortBench {
    fn default() -> SimPortBench {
        let universe = SimUniverse::new(1, FaultPlan::Calm, FakeBug::None, None, Trace::default());
        SimPortBench(FakePort { universe, life: 0, project: None })
    }
}

#[async_trait]
impl ScmBench for SimPortBench {
    fn scm(&self) -> Arc<dyn Scm> {
        Arc::new(self.0.clone())
    }

    fn project(&self) -> ProjectId {
        ProjectId::new("app")
    }

    fn commit(&self, branch: &str, path: &str, text: &str) -> Commit {
        let outside = &mut self.0.universe.lock().outside;
        let tip = outside.base(&self.project());
        let named = |number: u32| Commit::new(&format!("{branch}@{number}"));
        let number = (1..).find(|number| !outside.files.contains_key(&named(*number))).unwrap_or(1);
        let (commit, first) = (named(number), number == 1 || branch == "main");
        let parent = if first { tip } else { named(number - 1) };
        let mut files: BTreeMap<String, Vec<u8>> = outside.files.get(&parent).cloned().unwrap_or_default();
        files.insert(path.to_owned(), text.into());
        outside.files.insert(commit.clone(), files);
        outside.branches.insert(branch.to_owned(), commit.clone());
        if branch == "main" {
            outside.tips.insert(self.project(), commit.clone());
        }
        for facts in outside.pulls.values_mut().filter(|facts| facts.state == PullState::Open) {
            if facts.head_branch == branch {
                facts.head = commit.clone();
            }
        }
        commit
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        self.0.universe.lock().outside.branches.get(name).cloned()
    }

    /// The script runs the checks of simulated worlds. Here they pass.
    async fn finish_checks(&self) {
        let mut inner = self.0.universe.lock();
        for facts in inner.outside.pulls.values_mut().filter(|facts| facts.checks.is_empty()) {
            outside::check(facts, CheckState::Passed);
        }
        for rerun in inner.outside.reruns.clone() {
            outside::ran(&mut inner, &rerun);
        }
    }

    async fn restart(&mut self) {
        let universe = self.0.universe.clone();
        let life = {
            let mut inner = universe.lock();
            inner.life += 1;
            inner.life
        };
        self.0 = FakePort { universe, life, project: None };
    }
}

#[async_trait]
impl NotifierBench for SimPortBench {
    fn notifier(&self) -> Arc<dyn Notifier> {
        Arc::new(self.0.clone())
    }

    async fn accepted(&self) -> usize {
        let inner = self.0.universe.lock();
        inner.outside.notified.values().map(|times| *times as usize).sum()
    }

    async fn set_working(&mut self, works: bool) {
        let (call, fault, times) = (PortCall::Notify, Fault::FailBefore, u32::MAX);
        self.0.universe.lock().faults.plan =
            if works { FaultPlan::Calm } else { FaultPlan::These { call, fault, times } };
    }
}
