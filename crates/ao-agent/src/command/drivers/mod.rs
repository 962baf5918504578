//! Drivers, one for each way to talk to an agent's process.
//!
//! | driver | the agent gets messages | and is read by |
//! |---|---|---|
//! | [`lines`] | on stdin, by the line protocol | its output, line by line |
//! | [`protocol`] | on stdin, by the protocol of its maker | its output, line by line |
//! | [`one_turn`] | one with each start of its process | its output, in the format of its maker |
//! | [`terminal`] | typed at its terminal | its screen |

pub(super) mod follower;
pub(super) mod lines;
pub(super) mod one_turn;
pub(super) mod output;
pub(super) mod protocol;
pub(super) mod terminal;

use ao_core::Timestamp;
use ao_core::evidence::Signal;
use ao_ports::{
    AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LookOrder, ProcessRef, Reporter, Runtime,
};
use async_trait::async_trait;

/// A way to talk to an agent's process. The contract of each method is that of [`Agent`](ao_ports::Agent).
#[async_trait]
pub(super) trait AgentDriver: Send + Sync {
    /// Returns true if it can cancel a turn.
    fn can_cancel(&self) -> bool;

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError>;

    async fn follow(&self, order: &FollowOrder, runtime: &dyn Runtime, reporter: &dyn Reporter);

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError>;

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError>;

    /// Returns a signal of its own, beside that of the process, if it has one to add.
    async fn look(
        &self,
        order: &LookOrder,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        seen: ProcessLook,
    ) -> Option<Signal>;
}

/// The result of a look at a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessLook {
    pub(super) at: Timestamp,
    pub(super) alive: bool,
    pub(super) busy: bool,
}

/// Holds a message for an agent that gets one only with its launch.
fn only_at_launch() -> DeliveryOutcome {
    DeliveryOutcome::Held { why: "it takes messages only when it is started".into(), signals: vec![] }
}
