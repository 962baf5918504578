//! Reading along with one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ao_core::evidence::{Confidence, Signal, Source};
use ao_core::{Attempt, SessionId};
use ao_ports::{Clock, ProcessRef, Report, Reporter, Runtime, RuntimeError};
use tokio::sync::{Mutex, Notify};

use crate::line::{Line, Splitter, parse_line};

/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How many texts that were taken are remembered. Only the last few deliveries are ever asked for again.
const TAKEN_KEPT: usize = 16;
/// How many lines may wait to be reported. A program that floods us loses the oldest, of which the latest says it all.
const WAITING_MOST: usize = 1024;
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(1);

/// A process whose output is read.
pub(super) struct Follower {
    pub(super) session: SessionId,
    pub(super) attempt: Attempt,
    pub(super) process: ProcessRef,
    read: Mutex<Read>,
    /// Something was said to the process, so it will soon answer.
    pub(super) wake: Notify,
}

#[derive(Default)]
struct Read {
    offset: u64,
    splitter: Splitter,
    taken: BTreeMap<u32, String>,
    /// The last that it has said of what it does.
    claim: Option<Line>,
    waiting: VecDeque<Line>,
    /// What was there before we began to read is history, of which only the last word counts.
    caught_up: bool,
}

impl Follower {
    pub(super) fn new(session: SessionId, attempt: Attempt, process: ProcessRef) -> Follower {
        Follower { session, attempt, process, read: Mutex::default(), wake: Notify::new() }
    }

    /// Reports whatever the process says, for ever. Ended by its owner.
    pub(super) async fn run(&self, runtime: &dyn Runtime, reporter: &dyn Reporter, clock: &dyn Clock) {
        let mut pause = OFTEN;
        loop {
            match self.next(runtime).await {
                Ok(lines) if lines.is_empty() => pause = (pause * 3 / 2).min(SELDOM),
                Ok(lines) => {
                    pause = OFTEN;
                    for line in lines {
                        if let Some(report) = self.report(&line, clock) {
                            reporter.report(report).await;
                        }
                    }
                }
                Err(err) => {
                    tracing::warn!(%err, session = %self.session, "the output of an agent cannot be read");
                    pause = SELDOM;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => pause = OFTEN,
            }
        }
    }

    /// Reads on, and takes what waits to be reported.
    async fn next(&self, runtime: &dyn Runtime) -> Result<Vec<Line>, RuntimeError> {
        let mut read = self.read.lock().await;
        read.on(runtime, &self.process).await?;
        Ok(read.waiting.drain(..).collect())
    }

    /// The text that was taken for a delivery, if it was, by all that has been put out until now.
    pub(super) async fn taken(
        &self,
        runtime: &dyn Runtime,
        delivery: u32,
    ) -> Result<Option<String>, RuntimeError> {
        let mut read = self.read.lock().await;
        read.on(runtime, &self.process).await?;
        Ok(read.taken.get(&delivery).cloned())
    }

    /// The question that is open, by the last word of the process.
    pub(super) async fn question(&self) -> Option<String> {
        match &self.read.lock().await.claim {
            Some(Line::Asking { question }) => Some(question.clone()),
            _ => None,
        }
    }

    fn report(&self, line: &Line, clock: &dyn Clock) -> Option<Report> {
        let (session, attempt) = (self.session, self.attempt);
        if let Line::Taken { delivery, text } = line {
            let turn = match delivery {
                Some(delivery) => turn_of(attempt, *delivery),
                // Not one of ours; it is told once, so any name will do that no other has.
                None => format!("attempt {attempt} at {} {text}", clock.now()),
            };
            return Some(Report::Taken { session, attempt, turn, text: text.clone() });
        }
        if let Some(spend) = line.spend() {
            return Some(Report::Spent { session, attempt, spend });
        }
        let signal = Signal {
            attempt,
            source: Source::Protocol,
            at: clock.now(),
            confidence: Confidence::High,
            reading: line.reading()?,
        };
        Some(Report::Signal { session, signal })
    }
}

/// The name of the turn in which a delivery was taken, the same from whoever tells of it.
pub(super) fn turn_of(attempt: Attempt, delivery: u32) -> String {
    format!("attempt {attempt} delivery {delivery}")
}

impl Read {
    /// Reads to the end of what there is.
    async fn on(&mut self, runtime: &dyn Runtime, process: &ProcessRef) -> Result<(), RuntimeError> {
        loop {
            let piece = runtime.output(process, self.offset, PIECE).await?;
            if piece.bytes.is_empty() {
                break;
            }
            self.offset = piece.from + piece.bytes.len() as u64;
            let lines = self.splitter.push(&piece.bytes);
            for line in lines.iter().filter_map(|line| parse_line(line)) {
                self.take(line);
            }
        }
        if !self.caught_up {
            self.caught_up = true;
            // A text that was taken long ago must not pass for the proof of a later one with the same words. Deliveries
            // without a proof are asked for again, and found by their number.
            self.waiting = self.claim.clone().into_iter().collect();
        }
        Ok(())
    }

    fn take(&mut self, line: Line) {
        if let Line::Taken { delivery: Some(delivery), text } = &line {
            self.taken.insert(*delivery, text.clone());
            while self.taken.len() > TAKEN_KEPT {
                self.taken.pop_first();
            }
        }
        if line.reading().is_some() {
            self.claim = Some(line.clone());
        }
        if self.waiting.len() == WAITING_MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(line);
    }
}

/// What a follower's task needs to live on its own.
pub(super) struct Ears {
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) reporter: Arc<dyn Reporter>,
    pub(super) clock: Arc<dyn Clock>,
}
