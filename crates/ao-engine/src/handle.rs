//! The interface of the engine to all other parts.

use std::fmt;
use std::sync::Arc;

use ao_core::agent_report::AgentReport;
use ao_core::ask::Ask;
use ao_core::{Attempt, Input, SessionId, StampedEvent, State};
use ao_ports::{EventStore, Report, Reporter, Seq};
use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use crate::error::AskError;
use crate::feed::{Feed, Subscription};
use crate::slots::AdapterSet;

/// Keeps all of an ask whose details are longer than the state holds.
#[async_trait]
pub trait LongAsks: fmt::Debug + Send + Sync {
    /// Keeps the details of a long ask before the engine takes its report. Called again if it is reported again.
    async fn keep(&self, session: SessionId, attempt: Attempt, ask: &mut Ask);
}

/// The result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReceipt {
    /// The position of the last event in the log, or of the log's end if there was none.
    pub seq: Seq,
    pub events: Vec<StampedEvent>,
}

pub(crate) type Answer = oneshot::Sender<Result<InputReceipt, AskError>>;

type Look = Box<dyn FnOnce(&State, Seq) + Send>;

/// A request in the inbox.
pub(crate) enum EngineRequest {
    Input(Box<Input>, Option<Answer>),
    View(Look),
    Plug(Box<AdapterSet>),
}

/// A handle to the engine. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inbox: mpsc::Sender<EngineRequest>,
    pub(crate) feed: Feed,
    pub(crate) store: Arc<dyn EventStore>,
    pub(crate) long_asks: Option<Arc<dyn LongAsks>>,
}

impl Handle {
    /// Sends an input and waits until its events are on disk.
    pub async fn ask(&self, input: Input) -> Result<InputReceipt, AskError> {
        let (answer, answered) = oneshot::channel();
        self.inbox
            .send(EngineRequest::Input(Box::new(input), Some(answer)))
            .await
            .map_err(|_| AskError::Stopped)?;
        answered.await.map_err(|_| AskError::Stopped)?
    }

    /// Reads the state between two turns, when all of it is on disk. Changes nothing.
    pub async fn view<T, F>(&self, look: F) -> Result<T, AskError>
    where
        T: Send + 'static,
        F: FnOnce(&State) -> T + Send + 'static,
    {
        self.view_at(|state, _| look(state)).await
    }

    /// Like `view`, with the position of the last event in the state, so that a subscriber can continue from there.
    pub async fn view_at<T, F>(&self, look: F) -> Result<T, AskError>
    where
        T: Send + 'static,
        F: FnOnce(&State, Seq) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let look = Box::new(move |state: &State, seq: Seq| {
            // The caller may have gone.
            let _ = answer.send(look(state, seq));
        });
        self.inbox.send(EngineRequest::View(look)).await.map_err(|_| AskError::Stopped)?;
        answered.await.map_err(|_| AskError::Stopped)
    }

    /// Replaces the adapters. Running effects keep those that they were started with.
    pub async fn plug(&self, slots: AdapterSet) -> Result<(), AskError> {
        self.inbox.send(EngineRequest::Plug(Box::new(slots))).await.map_err(|_| AskError::Stopped)
    }

    /// Subscribes to the events after a position in the log; 0 is the beginning.
    pub fn subscribe(&self, after: Seq) -> Subscription {
        self.feed.subscribe(self.store.clone(), after)
    }
}

#[async_trait]
impl Reporter for Handle {
    async fn report(&self, mut report: Report) {
        if let Report::Agent { session, attempt, report: AgentReport::Asked { ask }, .. } = &mut report
            && ask.is_long()
            && let Some(long_asks) = &self.long_asks
        {
            long_asks.keep(*session, *attempt, ask).await;
        }
        // The engine has logged a refusal; a report has no caller to return it to.
        let _ = self.ask(report.into()).await;
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
