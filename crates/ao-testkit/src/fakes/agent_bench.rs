//! The simulated agent on the bench of its contract.

use std::sync::Arc;
use std::time::Duration;

use ao_core::effect::LaunchPlan;
use ao_core::session::{AgentChoice, SessionRole};
use ao_core::{Attempt, ConversationId, ProjectId, SessionId};
use ao_ports::{Agent, ProcessRef, Reporter, StartSpec};
use async_trait::async_trait;
use tokio::task::JoinHandle;

use super::{FakePort, ReportLog};
use crate::contract::agent::AgentBench;
use crate::faults::FaultPlan;
use crate::outside::{self, WorldEvent};
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};

const ATTEMPT: Attempt = Attempt(1);

/// A simulated agent in a world without an engine. Time is simulated too.
#[derive(Debug)]
pub struct SimAgentBench {
    session: SessionId,
    port: FakePort,
    reports: Arc<ReportLog>,
    world: JoinHandle<()>,
}

impl SimAgentBench {
    /// Launches an agent, which reports its asks by their ids or not.
    pub async fn launch(names_asks: bool) -> SimAgentBench {
        tokio::time::pause();
        let universe = SimUniverse::new(1, FaultPlan::Calm, FakeBug::None, None, Trace::default());
        let life = universe.lock().life;
        let port = FakePort::new(universe, life);
        let session = SessionId(if names_asks { 2 } else { 1 });
        let plan = LaunchPlan {
            project: ProjectId::new("app"),
            name: "fix".into(),
            role: SessionRole::Worker,
            agent: AgentChoice { name: "fake".into(), ..AgentChoice::default() },
            runtime: "fake".into(),
            path: "/app".into(),
            conversation: ConversationId::new("talk"),
            resume: false,
            prompt: None,
            environment: Default::default(),
            ports: Default::default(),
        };
        let prepared = port.prepare(session, ATTEMPT, &plan).await.expect("it can be prepared");
        let ao_ports::LaunchPreparation::Run { command, .. } = prepared else {
            panic!("there is nothing to resume")
        };
        let spec = StartSpec {
            session,
            attempt: ATTEMPT,
            name: "fix".into(),
            path: "/app".into(),
            command,
            ports: vec![],
        };
        outside::start(&mut port.universe.lock(), &spec, reference(session));
        let reports = Arc::<ReportLog>::default();
        let world = tokio::spawn(run_world(port.universe.clone(), reports.clone()));
        SimAgentBench { session, port, reports, world }
    }

    fn key(&self) -> (SessionId, Attempt) {
        (self.session, ATTEMPT)
    }
}

impl Drop for SimAgentBench {
    fn drop(&mut self) {
        self.world.abort();
    }
}

fn reference(session: SessionId) -> ProcessRef {
    ProcessRef::new("fake", format!("{session}/{ATTEMPT}"))
}

/// Lets the world happen, and passes its reports on.
pub(super) async fn run_world(universe: Arc<SimUniverse>, reports: Arc<dyn Reporter>) {
    loop {
        let due = {
            let mut inner = universe.lock();
            let now = inner.elapsed();
            inner.outside.pop_due(now)
        };
        match due {
            Some(WorldEvent::Report(report)) => reports.report(report).await,
            Some(event) => outside::perform(&mut universe.lock(), event),
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[async_trait]
impl AgentBench for SimAgentBench {
    fn agent(&self) -> Arc<dyn Agent> {
        Arc::new(self.port.clone())
    }

    fn reports(&self) -> Arc<ReportLog> {
        self.reports.clone()
    }

    fn process(&self) -> (SessionId, Attempt, ProcessRef) {
        (self.session, ATTEMPT, reference(self.session))
    }

    async fn restart(&mut self) {
        self.world.abort();
        self.reports = Arc::default();
        self.world = tokio::spawn(run_world(self.port.universe.clone(), self.reports.clone()));
    }

    async fn end(&self) {
        outside::kill(&mut self.port.universe.lock(), self.key(), None);
    }

    async fn turns(&self) -> Vec<String> {
        let inner = self.port.universe.lock();
        let conversation = ConversationId::new("talk");
        let turns = inner.outside.conversations.get(&conversation).into_iter().flatten();
        turns.map(|turn| turn.text.clone()).collect()
    }

    async fn answers(&self) -> usize {
        let inner = self.port.universe.lock();
        inner.outside.processes.get(&self.key()).map_or(0, |process| process.answers.len())
    }
}
