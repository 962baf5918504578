//! The simulated forge, tracker and notifier on the benches of their contracts, in a world without an engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::pull::{CheckState, PullState};
use ao_core::{Commit, ProjectId};
use ao_ports::{Notifier, Scm, Tracker};
use async_trait::async_trait;
use tokio::task::JoinSet;

use super::agent_bench::run_world;
use super::{FakePort, ReportLog};
use crate::contract::notifier::NotifierBench;
use crate::contract::scm::ScmBench;
use crate::contract::tracker::TrackerBench;
use crate::faults::{Fault, FaultPlan, PortCall};
use crate::outside;
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};

/// A simulated port in a calm world. Time is simulated too.
#[derive(Debug)]
pub struct SimPortBench {
    port: FakePort,
    /// Carries hints.
    _world: JoinSet<()>,
}

impl Default for SimPortBench {
    fn default() -> SimPortBench {
        tokio::time::pause();
        let universe = SimUniverse::new(1, FaultPlan::Calm, FakeBug::None, None, Trace::default());
        let reports = Arc::<ReportLog>::default();
        let _world = JoinSet::from_iter([run_world(universe.clone(), reports)]);
        SimPortBench { port: FakePort { universe, life: 0, project: Some(app()) }, _world }
    }
}

fn app() -> ProjectId {
    ProjectId::new("app")
}

#[async_trait]
impl ScmBench for SimPortBench {
    fn scm(&self) -> Arc<dyn Scm> {
        Arc::new(self.port.clone())
    }

    fn project(&self) -> ProjectId {
        app()
    }

    fn commit(&self, branch: &str, path: &str, text: &str) -> Commit {
        let outside = &mut self.port.universe.lock().outside;
        let tip = outside.base(&app());
        let named = |number: u32| Commit::new(&format!("{branch}@{number}"));
        let number = (1..).find(|number| !outside.files.contains_key(&named(*number))).unwrap_or(1);
        let (commit, first) = (named(number), number == 1 || branch == "main");
        let parent = if first { tip } else { named(number - 1) };
        let mut files: BTreeMap<String, Vec<u8>> = outside.files.get(&parent).cloned().unwrap_or_default();
        files.insert(path.to_owned(), text.into());
        outside.files.insert(commit.clone(), files);
        outside.branches.insert(branch.to_owned(), commit.clone());
        if branch == "main" {
            outside.tips.insert(app(), commit.clone());
        }
        for facts in outside.pulls.values_mut().filter(|facts| facts.state == PullState::Open) {
            if facts.head_branch == branch {
                facts.head = commit.clone();
            }
        }
        commit
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        self.port.universe.lock().outside.branches.get(name).cloned()
    }

    /// The script runs the checks of simulated worlds. Here they pass.
    async fn finish_checks(&self) {
        let mut inner = self.port.universe.lock();
        for facts in inner.outside.pulls.values_mut().filter(|facts| facts.checks.is_empty()) {
            outside::check(facts, CheckState::Passed);
        }
        for rerun in inner.outside.reruns.clone() {
            outside::ran(&mut inner, &rerun);
        }
    }

    async fn restart(&mut self) {
        self.port.life += 1;
        self.port.universe.lock().life = self.port.life;
    }
}

#[async_trait]
impl TrackerBench for SimPortBench {
    fn project(&self) -> ProjectId {
        app()
    }

    fn tracker(&self) -> Arc<dyn Tracker> {
        Arc::new(self.port.clone())
    }

    async fn later(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[async_trait]
impl NotifierBench for SimPortBench {
    fn notifier(&self) -> Arc<dyn Notifier> {
        Arc::new(self.port.clone())
    }

    async fn accepted(&self) -> usize {
        let inner = self.port.universe.lock();
        inner.outside.notified.values().map(|times| *times as usize).sum()
    }

    async fn set_working(&mut self, works: bool) {
        let (call, fault, times) = (PortCall::Notify, Fault::FailBefore, u32::MAX);
        self.port.universe.lock().faults.plan =
            if works { FaultPlan::Calm } else { FaultPlan::These { call, fault, times } };
    }
}
