//! The simulated runtime on the bench of its contract, in a world without an engine.

use std::sync::{Arc, Mutex};

use ao_core::{Attempt, ConversationId, SessionId};
use ao_ports::{ProcessIo, Reporter, Runtime, StartSpec};
use async_trait::async_trait;
use tokio::task::JoinSet;

use super::FakePort;
use super::agent_bench::run_world;
use crate::contract::runtime::RuntimeBench;
use crate::faults::FaultPlan;
use crate::outside;
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};
use crate::watch::Invariant;

/// Simulated processes in a calm world. Time is simulated too.
#[derive(Debug)]
pub struct SimRuntimeBench {
    universe: Arc<SimUniverse>,
    /// Sends the reports of the world to the last daemon.
    world: Mutex<JoinSet<()>>,
}

impl Default for SimRuntimeBench {
    fn default() -> SimRuntimeBench {
        tokio::time::pause();
        // No engine decides what is started and ended here, so its invariants do not apply.
        let watching = Some(Invariant::MainGreen);
        let universe = SimUniverse::new(1, FaultPlan::Calm, FakeBug::None, watching, Trace::default());
        SimRuntimeBench { universe, world: Mutex::default() }
    }
}

fn key(spec: &StartSpec) -> (SessionId, Attempt) {
    (spec.session, spec.attempt)
}

#[async_trait]
impl RuntimeBench for SimRuntimeBench {
    async fn open(&self, reporter: Arc<dyn Reporter>) -> Arc<dyn Runtime> {
        let world = JoinSet::from_iter([run_world(self.universe.clone(), reporter)]);
        *self.world.lock().expect("no story has failed") = world;
        let mut inner = self.universe.lock();
        inner.life += 1;
        Arc::new(FakePort::new(self.universe.clone(), inner.life))
    }

    fn io(&self) -> ProcessIo {
        ProcessIo::Terminal
    }

    /// The simulated runtime starts only prepared agents.
    fn prepare(&self, spec: &StartSpec) {
        let plan = (ConversationId::new("talk"), None, None);
        self.universe.lock().outside.plans.insert(key(spec), plan);
    }

    fn starts(&self, spec: &StartSpec) -> usize {
        self.universe.lock().outside.starts.get(&key(spec)).copied().unwrap_or_default()
    }

    fn runs(&self, spec: &StartSpec) -> bool {
        self.universe.lock().outside.processes.get(&key(spec)).is_some_and(outside::SimProcess::lives)
    }

    async fn exit(&self, spec: &StartSpec, code: u8) {
        outside::die(&mut self.universe.lock(), key(spec), Some(code.into()));
    }
}
