//! Sends messages by the line protocol.

use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_ports::{AgentError, AnswerOrder, AnswerOutcome, DeliverOrder, DeliveryOutcome, WriteOrder};

use super::ANSWERS;
use super::agent::{CommandAgent, failed};
use super::follower::turn_of;
use crate::line;

impl CommandAgent {
    /// Delivers a text through stdin.
    pub(super) async fn write_line(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        let Some(process) = &order.process else {
            return Err(AgentError::Failed("there is no process to write to".into()));
        };
        let agent_process = self.agent_process(order.session, order.attempt);
        let runtime = self.runtime(process)?;
        // Always, not only on retries: after a crash the first try is repeated as the first.
        let taken = agent_process
            .follower
            .taken(process, runtime, &*self.clock, order.delivery)
            .await
            .map_err(failed)?;
        if let Some(text) = taken {
            return Ok(DeliveryOutcome::Taken { turn: turn_of(order.attempt, order.delivery), text });
        }
        if let Some(question) = agent_process.follower.question() {
            let why = format!("a question is open: {question}");
            let asking = Signal {
                attempt: order.attempt,
                source: SignalSource::Protocol,
                at: self.clock.now(),
                confidence: Confidence::High,
                reading: Reading::Asking { question },
            };
            return Ok(DeliveryOutcome::Held { why, signals: vec![asking] });
        }
        let mut text = line::message(order.delivery, &order.text, order.interrupt);
        if order.tries > 1 {
            // An earlier try may have been cut off in the middle of its line.
            text.insert(0, '\n');
        }
        let number = u64::from(order.delivery) << 20 | u64::from(order.tries);
        let write = WriteOrder { process: process.clone(), number, bytes: text.into_bytes() };
        runtime.write(&write).await.map_err(failed)?;
        Ok(DeliveryOutcome::Written)
    }

    /// Answers the question that is open according to the last claim of the process.
    pub(super) async fn write_answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        let agent_process = self.agent_process(order.session, order.attempt);
        let runtime = self.runtime(&order.process)?;
        // To have read all output until now.
        agent_process.follower.taken(&order.process, runtime, &*self.clock, 0).await.map_err(failed)?;
        let mut memory = agent_process.memory().await.map_err(failed)?;
        match agent_process.follower.question() {
            Some(open) if open == order.question => {}
            // It is gone because of the answer of an earlier call.
            _ if memory.answered(order.number) => return Ok(AnswerOutcome::Given),
            Some(other) => {
                return Ok(AnswerOutcome::NotAsked { why: format!("another question is open: {other}") });
            }
            None => return Ok(AnswerOutcome::NotAsked { why: "no question is open".into() }),
        }
        memory.answer(order.number).map_err(failed)?;
        let number = ANSWERS | u64::from(order.number);
        let bytes = line::answer(&order.text).into_bytes();
        let write = WriteOrder { process: order.process.clone(), number, bytes };
        runtime.write(&write).await.map_err(failed)?;
        Ok(AnswerOutcome::Given)
    }
}
