//! Talks to a program that gets its task with its start, does it and ends.

use std::sync::Arc;

use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_ports::{
    AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LookOrder, ProcessRef, Reporter, Runtime,
};
use async_trait::async_trait;

use super::{AgentDriver, ProcessLook, only_at_launch};
use crate::command::base::DriverBase;

/// Reads the output of a turn. Nothing can be written to it.
pub(in crate::command) struct OneTurnDriver {
    base: Arc<DriverBase>,
}

impl OneTurnDriver {
    pub(in crate::command) fn new(base: Arc<DriverBase>) -> OneTurnDriver {
        OneTurnDriver { base }
    }
}

#[async_trait]
impl AgentDriver for OneTurnDriver {
    fn can_cancel(&self) -> bool {
        false
    }

    async fn deliver(&self, _: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        Ok(only_at_launch())
    }

    async fn follow(&self, order: &FollowOrder, runtime: &dyn Runtime, reporter: &dyn Reporter) {
        let agent_process = self.base.agent_process(order.session, order.attempt);
        agent_process.follower.run(order, runtime, reporter, &*self.base.clock).await;
    }

    async fn answer(&self, _: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        Err(self.base.unable("be answered"))
    }

    async fn cancel(&self, _: &CancelOrder) -> Result<Cancelled, AgentError> {
        Err(self.base.unable("cancel a turn"))
    }

    /// Takes a program that is busy and has reported nothing yet for one at work.
    async fn look(
        &self,
        order: &LookOrder,
        _: &ProcessRef,
        _: &dyn Runtime,
        seen: ProcessLook,
    ) -> Option<Signal> {
        let agent_process = self.base.agent_process(order.session, order.attempt);
        let is_silent = seen.busy && !self.base.options.hooks && !agent_process.follower.has_claimed();
        is_silent.then(|| Signal {
            attempt: order.attempt,
            source: SignalSource::Protocol,
            at: seen.at,
            confidence: Confidence::Medium,
            reading: Reading::Working { doing: String::new() },
        })
    }
}
