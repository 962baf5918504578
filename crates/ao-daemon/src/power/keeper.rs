//! Keeps the machine awake, releases it, and notices when the hold is lost.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::PowerError;
use super::{Inhibitor, system};

/// The reason that the system shows.
const REASON: &str = "agents are working";
/// Pause before the next attempt, doubled each time. There is nothing to wait on instead: the path of a bus appears
/// before a process listens on it.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The bus of the service that keeps the machine awake. Ignored on systems without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PowerBus {
    /// The system bus.
    #[default]
    System,
    /// Another bus, such as a test's.
    At(String),
}

/// Keeps the machine awake while `working` is true, and returns when its sender is dropped.
pub async fn keep_awake(mut working: watch::Receiver<bool>, bus: PowerBus) {
    let mut keeper = PowerKeeper::new(bus);
    let mut pause = PAUSE;
    loop {
        if !*working.borrow_and_update() {
            keeper.release();
            pause = PAUSE;
            if working.changed().await.is_err() {
                return;
            }
            continue;
        }
        let holding = async {
            let begun = Instant::now();
            if keeper.hold(REASON).await || keeper.unable {
                keeper.lost().await;
            }
            // A hold that was lost at once counts as a failure, so that requests are paced.
            pause = if begun.elapsed() > LONGEST_PAUSE { PAUSE } else { pause };
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        tokio::select! {
            changed = working.changed() => if changed.is_err() { return },
            () = holding => {}
        }
    }
}

/// A hold on the machine's wakefulness, released when dropped.
#[derive(Debug)]
pub struct PowerKeeper {
    bus: PowerBus,
    held: Option<Inhibitor>,
    /// The failure was logged, and is not logged again.
    told: bool,
    /// This machine does not support it.
    unable: bool,
}

impl PowerKeeper {
    pub fn new(bus: PowerBus) -> PowerKeeper {
        PowerKeeper { bus, held: None, told: false, unable: false }
    }

    /// Keeps the machine awake, and returns true if it is held. Has no effect if it is held already.
    pub async fn hold(&mut self, reason: &str) -> bool {
        if self.held.is_none() && !self.unable {
            match system::inhibit(&self.bus, reason).await {
                Ok(inhibitor) => {
                    tracing::debug!("the machine is kept awake");
                    self.held = Some(inhibitor);
                    // Losing it again is worth a log message.
                    self.told = false;
                }
                Err(err) => self.tell(&err),
            }
        }
        self.held.is_some()
    }

    /// Lets the machine sleep. Has no effect if nothing is held.
    pub fn release(&mut self) {
        if self.held.take().is_some() {
            tracing::debug!("the machine may sleep");
        }
    }

    /// Waits until the hold is lost from outside; for ever, if nothing is held.
    async fn lost(&mut self) {
        match &mut self.held {
            Some(inhibitor) => inhibitor.lost().await,
            None => std::future::pending().await,
        }
        self.held = None;
    }

    fn tell(&mut self, err: &PowerError) {
        self.unable = err.for_good;
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(%err, "the machine cannot be kept awake and may go to sleep while agents work");
        }
    }
}
