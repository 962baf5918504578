//! Talks to an agent through its terminal: reads the screen by patterns, and types.

mod answering;
pub(in crate::command) mod patterns;
mod typing;
mod watching;

use std::sync::Arc;

use ao_core::evidence::{Reading, Signal};
use ao_ports::{
    AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LookOrder, ProcessRef, Reporter, Runtime,
};
use async_trait::async_trait;

use self::patterns::ScreenPatterns;
use super::{AgentDriver, ProcessLook};
use crate::command::base::DriverBase;

/// Types at a terminal, and reads its screen if there are patterns for it.
pub(in crate::command) struct TerminalDriver {
    base: Arc<DriverBase>,
    patterns: ScreenPatterns,
}

impl TerminalDriver {
    pub(in crate::command) fn new(base: Arc<DriverBase>, patterns: ScreenPatterns) -> TerminalDriver {
        TerminalDriver { base, patterns }
    }
}

#[async_trait]
impl AgentDriver for TerminalDriver {
    fn can_cancel(&self) -> bool {
        self.base.options.keys.interrupt.is_some() && !self.patterns.are_none()
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        match self.base.options.one_turn() {
            true => Ok(super::only_at_launch()),
            false => self.type_in(order).await,
        }
    }

    async fn follow(&self, order: &FollowOrder, runtime: &dyn Runtime, reporter: &dyn Reporter) {
        if self.patterns.are_none() {
            let agent_process = self.base.agent_process(order.session, order.attempt);
            agent_process.follower.run(order, runtime, reporter, &*self.base.clock).await;
        } else {
            self.watch_screen(order, runtime, reporter).await;
        }
    }

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        self.press_answer(order).await
    }

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError> {
        match &self.base.options.keys.interrupt {
            Some(keys) => self.press_cancel(order, keys).await,
            None => Err(self.base.unable("cancel a turn: it has no keys for that")),
        }
    }

    /// Reads the screen. A spinner that stands still is no sign of work.
    async fn look(
        &self,
        order: &LookOrder,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        seen: ProcessLook,
    ) -> Option<Signal> {
        if !seen.alive || self.patterns.are_none() {
            return None;
        }
        let reading = match runtime.screen(process).await {
            Ok(screen) => self.patterns.read(&screen, seen.at),
            Err(err) => Reading::Unreadable { why: err.to_string() },
        };
        let moves = || self.base.agent_process(order.session, order.attempt).moves();
        let is_stale = matches!(reading, Reading::Working { .. }) && !moves();
        (!is_stale).then(|| watching::signal(order.attempt, seen.at, reading))
    }
}
