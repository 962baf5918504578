//! How everybody else talks to the engine.

use std::fmt;
use std::sync::Arc;

use ao_core::{Input, Stamped, State};
use ao_ports::{EventStore, Report, Reporter, Seq};
use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use crate::error::AskError;
use crate::feed::{Feed, Subscription};
use crate::slots::Slots;

/// What an input came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The place of the last event in the log, or of the log's end if nothing happened.
    pub seq: Seq,
    pub events: Vec<Stamped>,
}

pub(crate) type Answer = oneshot::Sender<Result<Receipt, AskError>>;

type Look = Box<dyn FnOnce(&State, Seq) + Send>;

/// What comes through the door.
pub(crate) enum Letter {
    Input(Input, Option<Answer>),
    View(Look),
    Plug(Box<Slots>),
}

/// A way to the engine. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inbox: mpsc::Sender<Letter>,
    pub(crate) feed: Feed,
    pub(crate) store: Arc<dyn EventStore>,
}

impl Handle {
    /// Hands an input in and waits until what it came to is on disk.
    pub async fn ask(&self, input: Input) -> Result<Receipt, AskError> {
        let (answer, answered) = oneshot::channel();
        self.inbox.send(Letter::Input(input, Some(answer))).await.map_err(|_| AskError::Stopped)?;
        answered.await.map_err(|_| AskError::Stopped)?
    }

    /// Looks at the state between two turns, when all of it is on disk. Changes nothing.
    pub async fn view<T, F>(&self, look: F) -> Result<T, AskError>
    where
        T: Send + 'static,
        F: FnOnce(&State) -> T + Send + 'static,
    {
        self.view_at(|state, _| look(state)).await
    }

    /// The same, with the place of the last event that the state holds. What happens behind it is news to whoever looks.
    pub async fn view_at<T, F>(&self, look: F) -> Result<T, AskError>
    where
        T: Send + 'static,
        F: FnOnce(&State, Seq) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let look = Box::new(move |state: &State, seq: Seq| {
            // Whoever asked may have gone; then nobody wants to know.
            let _ = answer.send(look(state, seq));
        });
        self.inbox.send(Letter::View(look)).await.map_err(|_| AskError::Stopped)?;
        answered.await.map_err(|_| AskError::Stopped)
    }

    /// Puts other adapters into the slots. What is under way goes on with those that it was begun with.
    pub async fn plug(&self, slots: Slots) -> Result<(), AskError> {
        self.inbox.send(Letter::Plug(Box::new(slots))).await.map_err(|_| AskError::Stopped)
    }

    /// Watches what happens behind a place in the log; 0 is the beginning.
    pub fn subscribe(&self, after: Seq) -> Subscription {
        self.feed.subscribe(self.store.clone(), after)
    }
}

#[async_trait]
impl Reporter for Handle {
    async fn report(&self, report: Report) {
        // The engine has logged a refusal; a report has nobody to hand it to.
        let _ = self.ask(report.into()).await;
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
