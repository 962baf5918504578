//! Talks to an agent that stays between its turns, by the protocol of its maker.
//!
//! | protocol | module | spoken by |
//! |---|---|---|
//! | Claude Code's stream-json | [`claude`] | Claude Code |
//! | app-server | [`codex`] | Codex |
//! | Agent Client Protocol | [`acp`] | opencode, Gemini CLI, Qwen Code, Copilot and many others |
//!
//! The process belongs to the runtime and outlives the daemon. The state of a conversation follows from its output, and
//! every line for it has a number by which the runtime writes it once. So a daemon can end at any byte, and the next one goes
//! on.

mod acp;
mod claude;
mod codex;
mod details;
mod dialect;
mod squeeze;

use std::sync::Arc;
use std::time::Duration;

use ao_core::evidence::Signal;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LookOrder, ProcessRef, Reporter, Runtime, WriteOrder,
};
use async_trait::async_trait;
use tokio::time::Instant;

use super::follower::turn_of;
use super::{AgentDriver, ProcessLook};
use crate::command::base::{AgentProcess, DriverBase, failed};

pub use dialect::ProtocolKind;
pub(in crate::command) use dialect::{Dialect, Opening, ProtocolLaunch, ProtocolWrite};
pub(in crate::command) use squeeze::LineSqueezer;

/// Longest wait of a delivery for the opening. After it the delivery is held and tried again.
const OPENING_WAIT: Duration = Duration::from_secs(8);

/// Speaks a protocol with a process.
pub(in crate::command) struct ProtocolDriver {
    base: Arc<DriverBase>,
}

impl ProtocolDriver {
    pub(in crate::command) fn new(base: Arc<DriverBase>) -> ProtocolDriver {
        ProtocolDriver { base }
    }

    /// Returns the state of a process, in which the asks that were answered before a restart count as closed.
    async fn process(&self, session: SessionId, attempt: Attempt) -> Result<Arc<AgentProcess>, AgentError> {
        let agent_process = self.base.agent_process(session, attempt);
        let memory = agent_process.memory().await.map_err(failed)?;
        let Some(launch) = memory.opened() else {
            return Err(AgentError::Failed("the record of its launch is lost; restart the session".into()));
        };
        let launch = launch.clone();
        agent_process.follower.speak(|| dialect(session, launch));
        agent_process.follower.close_answered(memory.answered_asks().clone());
        drop(memory);
        Ok(agent_process)
    }

    /// Reads all output until now, and writes what the protocol requires.
    async fn caught_up(&self, agent_process: &AgentProcess, process: &ProcessRef) -> Result<(), AgentError> {
        let runtime = self.base.runtime(process)?;
        agent_process.follower.catch_up(process, runtime, &*self.base.clock).await.map_err(failed)?;
        agent_process.follower.write_due(process, runtime).await.map_err(failed)
    }

    /// Waits until messages can be sent, and returns false if that takes too long.
    async fn opened(&self, agent_process: &AgentProcess, process: &ProcessRef) -> Result<bool, AgentError> {
        let (runtime, until) = (self.base.runtime(process)?, Instant::now() + OPENING_WAIT);
        loop {
            self.caught_up(agent_process, process).await?;
            let left = until.saturating_duration_since(Instant::now());
            match agent_process.follower.opening() {
                Opening::Ready => return Ok(true),
                Opening::Refused(why) => return Err(AgentError::Failed(why)),
                Opening::Pending if left.is_zero() => return Ok(false),
                Opening::Pending => {
                    let waited = agent_process.follower.wait(process, runtime, &*self.base.clock, left).await;
                    waited.map_err(failed)?;
                }
            }
        }
    }

    async fn write(&self, process: &ProcessRef, writes: Vec<ProtocolWrite>) -> Result<(), AgentError> {
        let runtime = self.base.runtime(process)?;
        for ProtocolWrite { number, line } in writes {
            let write = WriteOrder { process: process.clone(), number, bytes: line.into_bytes() };
            runtime.write(&write).await.map_err(failed)?;
        }
        Ok(())
    }
}

fn dialect(session: SessionId, launch: ProtocolLaunch) -> Box<dyn Dialect> {
    match launch.kind {
        ProtocolKind::Claude => Box::new(claude::ClaudeDialect::new(session)),
        ProtocolKind::Codex => Box::new(codex::CodexDialect::new(session, launch)),
        ProtocolKind::Acp => Box::new(acp::AcpDialect::new(launch)),
    }
}

#[async_trait]
impl AgentDriver for ProtocolDriver {
    fn can_cancel(&self) -> bool {
        true
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        let Some(process) = &order.process else {
            return Err(AgentError::Failed("there is no process to write to".into()));
        };
        let agent_process = self.process(order.session, order.attempt).await?;
        let held = |why: String| Ok(DeliveryOutcome::Held { why, signals: vec![] });
        if !self.opened(&agent_process, process).await? {
            return held("it is still starting".into());
        }
        if let Some(text) = agent_process.follower.taken(order.delivery) {
            // Perhaps its number was confirmed, and its text was not repeated.
            let text = if text.is_empty() { order.text.clone() } else { text };
            return Ok(DeliveryOutcome::Taken { turn: turn_of(order.attempt, order.delivery), text });
        }
        if let Some(ask) = agent_process.follower.open_ask() {
            return held(format!("a question is open: {}", ask.title));
        }
        let writes = agent_process.follower.with_dialect(|dialect| dialect.message(order));
        self.write(process, writes.unwrap_or_default()).await?;
        Ok(DeliveryOutcome::Written)
    }

    async fn follow(&self, order: &FollowOrder, runtime: &dyn Runtime, reporter: &dyn Reporter) {
        match self.process(order.session, order.attempt).await {
            Ok(agent_process) => {
                agent_process.follower.run(order, runtime, reporter, &*self.base.clock).await;
            }
            Err(err) => tracing::warn!(session = %order.session, %err, "an agent is not read along with"),
        }
    }

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        let agent_process = self.process(order.session, order.attempt).await?;
        self.caught_up(&agent_process, &order.process).await?;
        let mut memory = agent_process.memory().await.map_err(failed)?;
        let follower = &agent_process.follower;
        let gone = || Ok(AnswerOutcome::Gone { why: "the agent no longer waits for it".into() });
        let Some(ask) = &order.ask else { return gone() };
        // Formatted again after a crash: the runtime knows if it was written.
        let write = follower.with_dialect(|dialect| dialect.answer(ask, order)).flatten();
        match write {
            _ if memory.answered(order.number) && write.is_none() => return Ok(AnswerOutcome::Given),
            None => return gone(),
            Some(write) => {
                memory.answer(order.number, Some(ask)).map_err(failed)?;
                follower.close_answered([ask.clone()].into());
                self.write(&order.process, vec![write]).await?;
            }
        }
        Ok(AnswerOutcome::Given)
    }

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError> {
        let agent_process = self.process(order.session, order.attempt).await?;
        self.caught_up(&agent_process, &order.process).await?;
        let mut memory = agent_process.memory().await.map_err(failed)?;
        if let Some(cancelled) = memory.cancelled(order.number) {
            return Ok(cancelled);
        }
        let writes = agent_process.follower.with_dialect(|dialect| dialect.cancel(order.number));
        let writes = writes.unwrap_or_default();
        let cancelled = if writes.is_empty() { Cancelled::NoTurn } else { Cancelled::Cut };
        memory.cancel(order.number, cancelled).map_err(failed)?;
        self.write(&order.process, writes).await?;
        // Cancelled requests have to be answered.
        let runtime = self.base.runtime(&order.process)?;
        agent_process.follower.write_due(&order.process, runtime).await.map_err(failed)?;
        Ok(cancelled)
    }

    /// Adds nothing: its last claim is not repeated by a look, because an old claim must not pass for a new one.
    async fn look(&self, _: &LookOrder, _: &ProcessRef, _: &dyn Runtime, _: ProcessLook) -> Option<Signal> {
        None
    }
}

#[cfg(test)]
mod recorded;
