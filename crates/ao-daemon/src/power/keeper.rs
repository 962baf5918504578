//! Holding the machine awake, letting go, and noticing when the hold is lost.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::PowerError;
use super::system::{self, Inhibitor};

/// What people see who ask their system why it does not sleep.
const REASON: &str = "agents are working";
/// The pause before the next try, which doubles each time. There is nothing to wait on instead: the path of a bus appears
/// before anybody listens on it.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Where the one is who can keep the machine awake. Of no matter where no bus is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Bus {
    /// The system's own.
    #[default]
    System,
    /// Another one, such as a test's.
    At(String),
}

/// Keeps the machine awake while `working` says so, and returns when nobody can say so any more. The whole service.
pub async fn keep_awake(mut working: watch::Receiver<bool>, bus: Bus) {
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
            // A hold that was lost at once counts like one that was never had, so that nobody is asked without pause.
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

/// A hold on the machine's wakefulness. Dropped, it lets go.
#[derive(Debug)]
pub struct PowerKeeper {
    bus: Bus,
    held: Option<Inhibitor>,
    /// Nobody wants to hear of it twice.
    told: bool,
    /// It is known that it cannot be had here.
    unable: bool,
}

impl PowerKeeper {
    pub fn new(bus: Bus) -> PowerKeeper {
        PowerKeeper { bus, held: None, told: false, unable: false }
    }

    /// Holds the machine awake, and says whether it is held. Changes nothing if it is held already.
    pub async fn hold(&mut self, reason: &str) -> bool {
        if self.held.is_none() && !self.unable {
            match system::inhibit(&self.bus, reason).await {
                Ok(inhibitor) => {
                    tracing::debug!("the machine is kept awake");
                    self.held = Some(inhibitor);
                    // If it goes away again, that is news.
                    self.told = false;
                }
                Err(err) => self.tell(&err),
            }
        }
        self.held.is_some()
    }

    /// Lets the machine sleep. Changes nothing if it may already.
    pub fn release(&mut self) {
        if self.held.take().is_some() {
            tracing::debug!("the machine may sleep");
        }
    }

    /// Waits until the hold is lost by no doing of ours. For ever, if that does not happen or nothing is held.
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
