//! Follows a terminal: woken by output, never by the clock alone.

use std::time::Duration;

use ao_core::agent_report::AgentReport;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::{Attempt, Timestamp};
use ao_ports::{FollowOrder, Report, Reporter, Runtime, RuntimeError};
use tokio::time::Instant;

use super::TerminalDriver;

/// Most output read at a time; only the resulting screen matters.
const PIECE: usize = 64 * 1024;
/// A screen is read once there was no output for this long,
const QUIET: Duration = Duration::from_millis(150);
/// or after this long, if the output never pauses.
const FLOWING: Duration = Duration::from_millis(400);
/// Longest wait for output per call. Any bound would do; with this one a failed runtime is noticed within a minute.
const LONG: Duration = Duration::from_secs(60);
/// Time that an answered question may stay on the screen.
const ANSWERED: Duration = Duration::from_secs(3);
/// Pause after a failure of the runtime.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// A half-drawn screen looks unknown, so an unknown one has to stay for a moment.
const DOUBT: Duration = Duration::from_secs(1);
/// An idle screen outweighs newer reports of others only after a while, so it is reported once more then.
const IDLE_AGAIN: Duration = Duration::from_millis(5500);
/// The same for states that are easier to be sure of.
const CLAIM_AGAIN: Duration = Duration::from_millis(2500);
/// A claim to be working has to be renewed, and is, as long as the screen changes.
const WORK_AGAIN: Duration = Duration::from_secs(20);

impl TerminalDriver {
    /// Reports the state that the screen shows, until the process has ended.
    pub(super) async fn watch_screen(
        &self,
        order: &FollowOrder,
        runtime: &dyn Runtime,
        reporter: &dyn Reporter,
    ) {
        let mut watched = ReportedScreen::default();
        let mut offset = 0;
        let mut moved = true;
        // Until it has been idle or working, in this daemon or in an earlier one.
        let mut launching = !self.base.options.first_launch.is_empty();
        let mut with_launch = order.with_launch.clone();
        loop {
            let mut patience = LONG;
            match runtime.screen(&order.process).await {
                Ok(screen) => {
                    offset = screen.offset.max(offset);
                    let at = self.base.clock.now();
                    let reading = self.patterns.read(&screen, at);
                    if launching && matches!(reading, Reading::Idle | Reading::Working { .. }) {
                        launching = false;
                        self.settled(order).await;
                    }
                    if let Some(proof) = self.shown_proof(order, &reading, &mut with_launch) {
                        reporter.report(proof).await;
                    }
                    if launching && self.is_welcomed(order, &reading).await {
                        // The question should be gone by then.
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
            match self.more_output(order, runtime, &mut offset, watched.wait().min(patience)).await {
                Ok(OutputProgress { ended: true, .. }) => return,
                Ok(progress) => moved = progress.moved,
                Err(err) => {
                    tracing::warn!(%err, session = %order.session, "the output of an agent cannot be read");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            if moved {
                self.base.agent_process(order.session, order.attempt).moved();
            }
        }
    }

    /// Returns the proof that an agent without hooks has the text it was started with: its screen shows it working, or
    /// idle again.
    fn shown_proof(
        &self,
        order: &FollowOrder,
        reading: &Reading,
        with_launch: &mut Option<String>,
    ) -> Option<Report> {
        let shows = matches!(reading, Reading::Working { .. } | Reading::Idle);
        if self.base.options.hooks || !self.base.options.prompt_at_launch() || !shows {
            return None;
        }
        let (session, attempt) = (order.session, order.attempt);
        let turn = format!("launch {attempt}");
        with_launch.take().map(|text| Report::Agent {
            session,
            attempt,
            source: SignalSource::Terminal,
            at: self.base.clock.now(),
            report: AgentReport::taken(&turn, &text),
        })
    }

    /// Records that a launch is over. If that were forgotten in a restart, questions for a person would be answered.
    async fn settled(&self, order: &FollowOrder) {
        let agent_process = self.base.agent_process(order.session, order.attempt);
        let settled = match agent_process.memory().await {
            Ok(mut memory) => memory.settle(),
            Err(err) => Err(err),
        };
        if let Err(err) = settled {
            tracing::warn!(%err, session = %order.session, "that a launch is over cannot be written down");
        }
    }

    /// Returns true if it is a question of a first launch, and was answered.
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
        runtime: &dyn Runtime,
        offset: &mut u64,
        wait: Duration,
    ) -> Result<OutputProgress, RuntimeError> {
        let mut progress = OutputProgress::default();
        let (mut wait, mut until) = (wait, None);
        loop {
            let piece = runtime.output(&order.process, *offset, PIECE, wait).await?;
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
struct OutputProgress {
    moved: bool,
    ended: bool,
}

/// Builds a signal from the screen, with its confidence.
pub(in crate::command) fn signal(attempt: Attempt, at: Timestamp, reading: Reading) -> Signal {
    // A prompt can appear for a moment between two steps of a turn.
    let confidence = if reading == Reading::Idle { Confidence::Low } else { Confidence::Medium };
    Signal { attempt, source: SignalSource::Terminal, at, confidence, reading }
}

/// The last reported state of a screen, and when it is to be reported again.
#[derive(Debug, Default)]
struct ReportedScreen {
    reported: Option<Reading>,
    due: Option<Instant>,
    /// The screen has become unknown and may just be half drawn.
    doubt: bool,
}

impl ReportedScreen {
    /// Returns true if a reading is to be reported. A repeated one is, once, when other sources may have reported in
    /// between: a little later than the first time, and whenever the screen has changed since.
    fn is_news(&mut self, reading: &Reading, moved: bool) -> bool {
        let is_due = self.due.is_some_and(|due| due <= Instant::now());
        if self.reported.as_ref().is_some_and(|last| is_same(last, reading)) {
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
        self.reported = Some(reading.clone());
        self.due = Some(Instant::now() + again(reading, false));
        true
    }

    /// Returns the time until the next report is due without output.
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
        // The text changes with every turn of the spinner.
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
    async fn a_reading_is_repeated_once_and_then_only_if_the_screen_moves() {
        let mut watched = ReportedScreen::default();
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
        let mut watched = ReportedScreen::default();
        let mut reports = 0;
        for _ in 0..300 {
            reports += u32::from(watched.is_news(&working(), true));
            after(FLOWING).await;
        }
        assert!((6..=8).contains(&reports), "reported {reports} times in two minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_drawn_screen_is_not_reported_and_one_that_stays_unknown_is() {
        let mut watched = ReportedScreen::default();
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
