//! Reading along with a terminal: woken by output, never by the clock alone.

use std::time::Duration;

use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::{Attempt, Timestamp};
use ao_ports::{FollowOrder, Report, Reporter, RuntimeError};
use tokio::time::Instant;

use super::agent::CommandAgent;

/// How much output is read at a time; of its content only the screen is of interest.
const PIECE: usize = 64 * 1024;
/// A screen is read once nothing was put out for so long,
const QUIET: Duration = Duration::from_millis(150);
/// or after so long, if there is always something.
const FLOWING: Duration = Duration::from_millis(400);
/// How long one call waits for output. Any bound would do; this one notices within a minute if a runtime has failed to.
const LONG: Duration = Duration::from_secs(60);
/// How long a question that was answered may stand there.
const ANSWERED: Duration = Duration::from_secs(3);
/// How long to leave a runtime alone that has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// A screen that is half drawn looks like none that is known, so an unknown one has to stay for a moment.
const DOUBT: Duration = Duration::from_secs(1);
/// An idle screen is believed against fresher words of others only after a while, so it is told once more then.
const IDLE_AGAIN: Duration = Duration::from_millis(5500);
/// The same for what is easier to be sure of.
const CLAIM_AGAIN: Duration = Duration::from_millis(2500);
/// A claim to be working has to be renewed, and is, as long as the screen moves.
const WORK_AGAIN: Duration = Duration::from_secs(20);

impl CommandAgent {
    /// Reports what the screen shows, until the process has ended.
    pub(super) async fn watch_screen(&self, order: &FollowOrder, reporter: &dyn Reporter) {
        let mut watched = Watched::default();
        let mut offset = 0;
        let mut moved = true;
        // Until it has been at its prompt or at work, in this life of ours or in an earlier one.
        let mut launching = !self.options.first_launch.is_empty();
        let mut with_launch = order.with_launch.clone();
        loop {
            let mut patience = LONG;
            match self.runtime.screen(&order.process).await {
                Ok(screen) => {
                    offset = screen.offset.max(offset);
                    let at = self.clock.now();
                    let reading = self.patterns.read(&screen, at);
                    if launching && matches!(reading, Reading::Idle | Reading::Working { .. }) {
                        launching = false;
                        self.settled(order).await;
                    }
                    if let Some(proof) = self.shown_proof(order, &reading, &mut with_launch) {
                        reporter.report(proof).await;
                    }
                    if launching && self.is_welcomed(order, &reading).await {
                        // What it was about should be gone by then.
                        patience = ANSWERED;
                    } else if watched.is_news(&reading, moved) {
                        let signal = signal(order.attempt, at, reading);
                        reporter.report(Report::Signal { session: order.session, signal }).await;
                    }
                }
                Err(err) => {
                    tracing::warn!(%err, session = %order.session, "the screen of an agent cannot be read");
                }
            }
            match self.more_output(order, &mut offset, watched.wait().min(patience)).await {
                Ok(Progress { ended: true, .. }) => return,
                Ok(progress) => moved = progress.moved,
                Err(err) => {
                    tracing::warn!(%err, session = %order.session, "the output of an agent cannot be read");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            if moved {
                self.desk(order.session, order.attempt).moved();
            }
        }
    }

    /// The proof that an agent without hooks has what it was started with: its screen shows it at work, or at its prompt again.
    fn shown_proof(
        &self,
        order: &FollowOrder,
        reading: &Reading,
        with_launch: &mut Option<String>,
    ) -> Option<Report> {
        let shows = matches!(reading, Reading::Working { .. } | Reading::Idle);
        if self.options.hooks || !self.options.prompt_at_launch() || !shows {
            return None;
        }
        let (session, attempt) = (order.session, order.attempt);
        let turn = format!("launch {attempt}");
        with_launch.take().map(|text| Report::Taken { session, attempt, turn, text })
    }

    /// Writes down that a launch is over. Not to know it again after a restart would answer questions that are a person's.
    async fn settled(&self, order: &FollowOrder) {
        let desk = self.desk(order.session, order.attempt);
        let settled = match desk.memory().await {
            Ok(mut memory) => memory.settle(),
            Err(err) => Err(err),
        };
        if let Err(err) = settled {
            tracing::warn!(%err, session = %order.session, "that a launch is over cannot be written down");
        }
    }

    /// Whether it is a question of a first launch, and answered.
    async fn is_welcomed(&self, order: &FollowOrder, reading: &Reading) -> bool {
        let Reading::Asking { question } = reading else { return false };
        let welcomed = self.welcomes(order, question).await;
        welcomed.unwrap_or_else(|err| {
            tracing::warn!(%err, session = %order.session, "a question of a first launch cannot be answered");
            false
        })
    }

    /// Waits for output, and then for it to pause.
    async fn more_output(
        &self,
        order: &FollowOrder,
        offset: &mut u64,
        wait: Duration,
    ) -> Result<Progress, RuntimeError> {
        let mut progress = Progress::default();
        let (mut wait, mut until) = (wait, None);
        loop {
            let piece = self.runtime.output(&order.process, *offset, PIECE, wait).await?;
            progress.ended = piece.ended;
            if piece.bytes.is_empty() || piece.ended {
                return Ok(progress);
            }
            progress.moved = true;
            *offset = piece.from + piece.bytes.len() as u64;
            let until = *until.get_or_insert_with(|| Instant::now() + FLOWING);
            if Instant::now() >= until {
                return Ok(progress);
            }
            wait = QUIET;
        }
    }
}

#[derive(Debug, Default)]
struct Progress {
    moved: bool,
    ended: bool,
}

/// What the screen says, and how far it is to be believed.
pub(super) fn signal(attempt: Attempt, at: Timestamp, reading: Reading) -> Signal {
    // A prompt can be seen for a moment between two steps of a turn.
    let confidence = if reading == Reading::Idle { Confidence::Low } else { Confidence::Medium };
    Signal { attempt, source: Source::Terminal, at, confidence, reading }
}

/// What was last told of a screen, and when it is to be told again.
#[derive(Debug, Default)]
struct Watched {
    told: Option<Reading>,
    due: Option<Instant>,
    /// The screen has become unknown and may just be half drawn.
    doubt: bool,
}

impl Watched {
    /// Whether a reading is to be told. The same one again is, once, when others may have spoken in between: that is, a
    /// little later than the first time, and whenever the screen has moved since.
    fn is_news(&mut self, reading: &Reading, moved: bool) -> bool {
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        if self.told.as_ref().is_some_and(|told| is_same(told, reading)) {
            self.doubt = false;
            if is_due {
                self.due = None;
            } else if moved && self.due.is_none() {
                self.due = Some(Instant::now() + again(reading, true));
            }
            return is_due && reading.is_claim();
        }
        if matches!(reading, Reading::Unreadable { .. }) && !(self.doubt && is_due) {
            if !self.doubt {
                self.doubt = true;
                self.due = Some(Instant::now() + DOUBT);
            }
            return false;
        }
        self.doubt = false;
        self.told = Some(reading.clone());
        self.due = Some(Instant::now() + again(reading, false));
        true
    }

    /// How long nothing is to be told unless something is put out.
    fn wait(&self) -> Duration {
        self.due.map_or(LONG, |due| due.saturating_duration_since(Instant::now()))
    }
}

fn again(reading: &Reading, renewed: bool) -> Duration {
    match reading {
        Reading::Idle => IDLE_AGAIN,
        Reading::Working { .. } if renewed => WORK_AGAIN,
        _ => CLAIM_AGAIN,
    }
}

fn is_same(one: &Reading, other: &Reading) -> bool {
    match (one, other) {
        // Its words change with every turn of the spinner.
        (Reading::Working { .. }, Reading::Working { .. }) => true,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working() -> Reading {
        Reading::Working { doing: String::new() }
    }

    fn unknown() -> Reading {
        Reading::Unreadable { why: String::new() }
    }

    async fn after(time: Duration) {
        tokio::time::advance(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_is_told_once_more_and_then_only_if_the_screen_moves() {
        let mut watched = Watched::default();
        assert!(watched.is_news(&Reading::Idle, true));
        assert!(!watched.is_news(&Reading::Idle, false));
        after(IDLE_AGAIN).await;
        assert!(watched.is_news(&Reading::Idle, false));
        after(LONG).await;
        assert!(!watched.is_news(&Reading::Idle, false));
        assert_eq!(watched.wait(), LONG);
        assert!(!watched.is_news(&Reading::Idle, true));
        after(IDLE_AGAIN).await;
        assert!(watched.is_news(&Reading::Idle, false));
        assert!(watched.is_news(&working(), true));
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_renewed_as_long_as_the_spinner_turns() {
        let mut watched = Watched::default();
        let mut told = 0;
        for _ in 0..300 {
            told += u32::from(watched.is_news(&working(), true));
            after(FLOWING).await;
        }
        assert!((6..=8).contains(&told), "told {told} times in two minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_screen_that_is_half_drawn_is_not_told_and_one_that_stays_unknown_is() {
        let mut watched = Watched::default();
        assert!(watched.is_news(&Reading::Idle, true));
        assert!(!watched.is_news(&unknown(), true));
        assert!(!watched.is_news(&Reading::Idle, true));
        assert!(!watched.is_news(&unknown(), true));
        after(DOUBT).await;
        assert!(watched.is_news(&unknown(), false));
        after(LONG).await;
        assert!(!watched.is_news(&unknown(), false));
    }
}
