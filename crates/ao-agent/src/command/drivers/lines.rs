//! Talks to an agent by the line protocol, on its stdin and stdout.

use std::sync::Arc;

use ao_core::evidence::Signal;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LookOrder, ProcessRef, Reporter, Runtime, WriteOrder,
};
use async_trait::async_trait;

use super::follower::turn_of;
use super::{AgentDriver, ProcessLook};
use crate::command::base::{AgentProcess, DriverBase, failed};
use crate::command::{ANSWERS, CANCELS};
use crate::line;

/// Writes lines to a process, and reads those that it prints.
pub(in crate::command) struct LinesDriver {
    base: Arc<DriverBase>,
}

impl LinesDriver {
    pub(in crate::command) fn new(base: Arc<DriverBase>) -> LinesDriver {
        LinesDriver { base }
    }

    /// Returns the state of a process, in which the asks that were answered before a restart count as closed.
    async fn process(&self, session: SessionId, attempt: Attempt) -> Result<Arc<AgentProcess>, AgentError> {
        let agent_process = self.base.agent_process(session, attempt);
        let answered = agent_process.memory().await.map_err(failed)?.answered_asks().clone();
        agent_process.follower.close_answered(answered);
        Ok(agent_process)
    }

    /// Reads all output until now.
    async fn caught_up(&self, agent_process: &AgentProcess, process: &ProcessRef) -> Result<(), AgentError> {
        let runtime = self.base.runtime(process)?;
        agent_process.follower.catch_up(process, runtime, &*self.base.clock).await.map_err(failed)
    }

    async fn write(&self, process: &ProcessRef, number: u64, line: String) -> Result<(), AgentError> {
        let write = WriteOrder { process: process.clone(), number, bytes: line.into_bytes() };
        self.base.runtime(process)?.write(&write).await.map_err(failed).map(drop)
    }
}

#[async_trait]
impl AgentDriver for LinesDriver {
    fn can_cancel(&self) -> bool {
        self.base.options.cancel
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        let Some(process) = &order.process else {
            return Err(AgentError::Failed("there is no process to write to".into()));
        };
        let agent_process = self.process(order.session, order.attempt).await?;
        // Always, not only on retries: after a crash the first try is repeated as the first.
        self.caught_up(&agent_process, process).await?;
        if let Some(text) = agent_process.follower.taken(order.delivery) {
            return Ok(DeliveryOutcome::Taken { turn: turn_of(order.attempt, order.delivery), text });
        }
        if let Some(ask) = agent_process.follower.open_ask() {
            let why = format!("a question is open: {}", ask.title);
            return Ok(DeliveryOutcome::Held { why, signals: vec![] });
        }
        let mut text = line::message(order.delivery, &order.text, order.interrupt);
        if order.tries > 1 {
            // An earlier try may have been cut off in the middle of its line.
            text.insert(0, '\n');
        }
        let number = u64::from(order.delivery) << 20 | u64::from(order.tries);
        self.write(process, number, text).await?;
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
        let before = memory.answered(order.number);
        // A daemon that ended in between may not have written it. Written again, it is written once, if the runtime remembers.
        if before && !self.base.runtime(&order.process)?.abilities().remembers_writes {
            return Ok(AnswerOutcome::Given);
        }
        let Some(ask) = order.ask.as_ref().filter(|ask| before || agent_process.follower.is_open(ask)) else {
            return Ok(AnswerOutcome::Gone { why: "the agent no longer waits for it".into() });
        };
        if !before {
            memory.answer(order.number, Some(ask)).map_err(failed)?;
            agent_process.follower.close_answered([ask.clone()].into());
        }
        let line = line::answer(ask, order.option.as_deref(), &order.text);
        self.write(&order.process, ANSWERS | u64::from(order.number), line).await?;
        Ok(AnswerOutcome::Given)
    }

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError> {
        if !self.base.options.cancel {
            return Err(self.base.unable("cancel a turn"));
        }
        let agent_process = self.process(order.session, order.attempt).await?;
        self.caught_up(&agent_process, &order.process).await?;
        let mut memory = agent_process.memory().await.map_err(failed)?;
        if let Some(cancelled) = memory.cancelled(order.number) {
            return Ok(cancelled);
        }
        let cancelled = match agent_process.follower.cancel_turn() {
            true => Cancelled::Cut,
            false => Cancelled::NoTurn,
        };
        memory.cancel(order.number, cancelled).map_err(failed)?;
        if cancelled == Cancelled::Cut {
            self.write(&order.process, CANCELS | u64::from(order.number), line::cancel()).await?;
        }
        Ok(cancelled)
    }

    /// Adds nothing: its last claim is not repeated by a look, because an old claim must not pass for a new one.
    async fn look(&self, _: &LookOrder, _: &ProcessRef, _: &dyn Runtime, _: ProcessLook) -> Option<Signal> {
        None
    }
}
