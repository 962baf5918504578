//! Reading along with one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::{Attempt, SessionId};
use ao_ports::{Clock, Output, ProcessRef, Report, Reporter, Runtime, RuntimeError};

use crate::line::{Line, Splitter, denials, parse_line};

/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How many texts that were taken are remembered. Only the last few deliveries are ever asked for again.
const TAKEN_KEPT: usize = 16;
/// How many lines may wait to be reported. A program that floods us loses the oldest, of which the latest says it all.
const WAITING_MOST: usize = 1024;
/// How many of the calls that were denied before we began to read are told. Fewer than the core knows by name, so that those
/// that it has heard of are not counted again.
const DENIED_TOLD: usize = 32;
/// How long one call waits for output. Any bound would do; this one notices within a minute if a runtime has failed to.
const LONG: Duration = Duration::from_secs(60);
/// How long to leave a runtime alone that has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A process whose output is read.
pub(super) struct Follower {
    session: SessionId,
    attempt: Attempt,
    /// Held only to look and to add, never while output is waited for: whoever delivers reads too, and does not wait.
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    offset: u64,
    splitter: Splitter,
    taken: BTreeMap<u32, String>,
    /// The last that it has said of what it does.
    claim: Option<Line>,
    waiting: VecDeque<Line>,
    /// How many calls it has said were denied.
    denied: u64,
    /// Whose output this is.
    attempt: Attempt,
    /// What was there before we began to read is history, of which only the last word counts.
    caught_up: bool,
    /// There will be no more.
    ended: bool,
}

/// What the task finds whenever it comes back.
struct News {
    lines: Vec<Line>,
    /// Where to read on. Taken together with the lines: if another reads from here meanwhile, the wait for output behind
    /// it is over at once, and what that one has found is not left lying.
    from: u64,
    caught_up: bool,
    ended: bool,
}

impl Follower {
    pub(super) fn new(session: SessionId, attempt: Attempt) -> Follower {
        Follower { session, attempt, read: Mutex::new(Read { attempt, ..Read::default() }) }
    }

    /// Reports whatever the process says until it has ended and all is read.
    pub(super) async fn run(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        reporter: &dyn Reporter,
        clock: &dyn Clock,
    ) {
        loop {
            let news = self.read().news();
            for line in &news.lines {
                // Between a message that was taken and the work on it nobody may look idle.
                if let Line::Taken { .. } = line {
                    let signal = self.signal(Reading::Working { doing: String::new() }, clock);
                    reporter.report(signal).await;
                }
                if let Some(report) = self.report(line, clock) {
                    reporter.report(report).await;
                }
            }
            if news.ended {
                return;
            }
            let wait = if news.caught_up { LONG } else { Duration::ZERO };
            if let Err(err) = self.read_on(process, runtime, news.from, wait).await {
                tracing::warn!(%err, session = %self.session, "the output of an agent cannot be read");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }

    /// The text that was taken for a delivery, if it was, by all that has been put out until now.
    pub(super) async fn taken(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        delivery: u32,
    ) -> Result<Option<String>, RuntimeError> {
        loop {
            let from = self.read().offset;
            if self.read_on(process, runtime, from, Duration::ZERO).await? {
                return Ok(self.read().taken.get(&delivery).cloned());
            }
        }
    }

    /// Reads a piece, and returns whether that was all there is for now.
    async fn read_on(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        from: u64,
        wait: Duration,
    ) -> Result<bool, RuntimeError> {
        let piece = runtime.output(process, from, PIECE, wait).await?;
        let mut read = self.read();
        // Otherwise another has read this meanwhile, and perhaps more.
        Ok(read.offset == from && read.add(&piece))
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().expect("nobody panics while reading")
    }

    /// Whether the process itself has said what it does.
    pub(super) fn has_claimed(&self) -> bool {
        self.read().claim.is_some()
    }

    /// The question that is open, by the last word of the process.
    pub(super) fn question(&self) -> Option<String> {
        match &self.read().claim {
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
        if let Line::Denied { tool, call } = line {
            let call = call.clone().unwrap_or_default();
            return Some(Report::Denied { session, attempt, call, tool: tool.clone() });
        }
        Some(self.signal(line.reading()?, clock))
    }

    fn signal(&self, reading: Reading, clock: &dyn Clock) -> Report {
        let (attempt, source, at) = (self.attempt, Source::Protocol, clock.now());
        let signal = Signal { attempt, source, at, confidence: Confidence::High, reading };
        Report::Signal { session: self.session, signal }
    }
}

/// The name of the turn in which a delivery was taken, the same from whoever tells of it.
pub(super) fn turn_of(attempt: Attempt, delivery: u32) -> String {
    format!("attempt {attempt} delivery {delivery}")
}

impl Read {
    /// Adds what comes next, and returns whether it is all there is for now.
    fn add(&mut self, piece: &Output) -> bool {
        if !piece.bytes.is_empty() {
            self.offset = piece.from + piece.bytes.len() as u64;
            let lines = self.splitter.push(&piece.bytes);
            for line in &lines {
                match parse_line(line) {
                    Some(line) => self.take(line),
                    None => denials(line).into_iter().for_each(|line| self.take(line)),
                }
            }
        }
        self.ended = piece.ended;
        let all = piece.bytes.is_empty() || piece.ended;
        if all && !self.caught_up {
            self.caught_up = true;
            // A text that was taken long ago must not pass for the proof of a later one with the same words. Deliveries
            // without a proof are asked for again, and found by their number.
            let denied = std::mem::take(&mut self.waiting).into_iter().rev();
            let denied = denied.filter(|line| matches!(line, Line::Denied { .. })).take(DENIED_TOLD);
            self.waiting = denied.collect::<Vec<_>>().into_iter().rev().chain(self.claim.clone()).collect();
        }
        all
    }

    fn news(&mut self) -> News {
        let lines = if self.caught_up { self.waiting.drain(..).collect() } else { vec![] };
        News { lines, from: self.offset, caught_up: self.caught_up, ended: self.ended }
    }

    fn take(&mut self, mut line: Line) {
        if let Line::Denied { call, .. } = &mut line {
            self.denied += 1;
            // Counted from the beginning of the output, so that it is the same whenever it is read.
            call.get_or_insert_with(|| format!("attempt {} denied {}", self.attempt, self.denied));
        }
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
