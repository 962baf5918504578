//! The drivers keep the promises of the port, each with an agent that talks its way.

use std::sync::Arc;

use ao_agent::{Options, Prompt, ProtocolKind};
use ao_core::{Attempt, SessionId};
use ao_ports::{Agent, FollowOrder, ProcessRef};
use ao_testkit::ReportLog;
use ao_testkit::contract::agent::AgentBench;
use async_trait::async_trait;
use tokio::task::JoinHandle;

use crate::place::On;
use crate::stage::{CONVERSATION, Set};
use crate::support::{self, ATTEMPT, Buffers, SESSION, agent_over, follow, following, process};

mod lines {
    ao_testkit::agent_contract!(super::InMemory::by_lines());
}

mod one_turn {
    ao_testkit::agent_contract!(super::InMemory::for_one_turn(); [
        an_agent_for_one_turn_takes_nothing_in_between,
        the_turn_of_a_launch_is_reported_to_its_end,
    ]);
}

mod claude {
    ao_testkit::agent_contract!(super::InMemory::by_protocol(ao_agent::ProtocolKind::Claude).await);
}

mod codex {
    ao_testkit::agent_contract!(super::InMemory::by_protocol(ao_agent::ProtocolKind::Codex).await);
}

mod acp {
    ao_testkit::agent_contract!(super::InMemory::by_protocol(ao_agent::ProtocolKind::Acp).await);
}

mod terminal {
    ao_testkit::agent_contract!(super::OnTerminal::launch().await);
}

/// An agent over a runtime in memory, and the daemon that follows it.
struct InMemory {
    buffers: Arc<Buffers>,
    stage: support::Stage,
    options: Options,
    follower: JoinHandle<()>,
}

impl InMemory {
    /// An agent that speaks the line protocol by itself.
    fn by_lines() -> InMemory {
        let buffers = Arc::new(Buffers::playing());
        buffers.says(r#"{"ao":"idle"}"#);
        InMemory::follow(buffers, Options { cancel: true, ..Options::default() }, follow())
    }

    /// A program that was started with a message, and prints what it does.
    fn for_one_turn() -> InMemory {
        let buffers = Arc::new(Buffers::default());
        buffers.says("I look at the tests.");
        let options = Options { prompt: Prompt::Argument, ..Options::default() };
        InMemory::follow(buffers, options, FollowOrder { with_launch: Some("go".into()), ..follow() })
    }

    /// An agent that speaks the protocol of its maker.
    async fn by_protocol(kind: ProtocolKind) -> InMemory {
        let buffers = Arc::new(Buffers::speaking(kind));
        let options = Options { protocol: Some(kind), ..Options::default() };
        let stage = support::agent_with(&buffers, options.clone());
        stage.agent.prepare(SESSION, ATTEMPT, &support::plan()).await.unwrap();
        InMemory::with(buffers, options, stage, follow())
    }

    fn follow(buffers: Arc<Buffers>, options: Options, order: FollowOrder) -> InMemory {
        let stage = support::agent_with(&buffers, options.clone());
        InMemory::with(buffers, options, stage, order)
    }

    fn with(buffers: Arc<Buffers>, options: Options, stage: support::Stage, order: FollowOrder) -> InMemory {
        tokio::time::pause();
        let follower = following(&stage.agent, order, &stage.notebook);
        InMemory { buffers, stage, options, follower }
    }
}

#[async_trait]
impl AgentBench for InMemory {
    fn agent(&self) -> Arc<dyn Agent> {
        self.stage.agent.clone()
    }

    fn reports(&self) -> Arc<ReportLog> {
        self.stage.notebook.clone()
    }

    fn process(&self) -> (SessionId, Attempt, ProcessRef) {
        (SESSION, ATTEMPT, process())
    }

    async fn restart(&mut self) {
        self.follower.abort();
        self.stage.agent = agent_over(&self.buffers, self.options.clone(), self.stage.folder());
        self.stage.notebook = Arc::default();
        self.follower = following(&self.stage.agent, follow(), &self.stage.notebook);
    }

    async fn end(&self) {
        self.buffers.ends();
    }

    async fn turns(&self) -> Vec<String> {
        self.buffers.turns()
    }

    async fn answers(&self) -> usize {
        let by_lines = self.buffers.told().iter().filter(|line| line.contains(r#""ao":"answer""#)).count();
        by_lines + self.buffers.answers()
    }
}

/// The scripted agent on a terminal in memory, with hooks.
struct OnTerminal(crate::stage::Stage);

impl OnTerminal {
    async fn launch() -> OnTerminal {
        OnTerminal(crate::stage::Stage::set(Set { on: On::Pty, ..Set::default() }).await)
    }
}

#[async_trait]
impl AgentBench for OnTerminal {
    fn agent(&self) -> Arc<dyn Agent> {
        self.0.agent.clone()
    }

    fn reports(&self) -> Arc<ReportLog> {
        self.0.notebook.clone()
    }

    fn process(&self) -> (SessionId, Attempt, ProcessRef) {
        (self.0.session(), ATTEMPT, self.0.process.clone())
    }

    async fn restart(&mut self) {
        self.0.restart().await;
    }

    async fn end(&self) {
        self.0.end().await;
    }

    async fn turns(&self) -> Vec<String> {
        self.0.turns()
    }

    async fn works(&self) {
        self.0.shows("working…").await;
    }

    async fn rests(&self) {
        self.0.at_prompt().await;
    }

    async fn answers(&self) -> usize {
        self.0.home.choices(CONVERSATION).len()
    }
}
