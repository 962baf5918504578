//! Follows the output of one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ao_core::budget::UsageTotal;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::ProcessLife;
use ao_core::{Attempt, ConversationId, SessionId, Timestamp};
use ao_ports::{AgentReport, Clock, FollowOrder, OutputPart, ProcessRef, Reporter, Runtime, RuntimeError};

use tokio::time::Instant;

use super::output::{OutputItem, OutputReader};
use crate::line::{LineSplitter, ProtocolLine};

/// Most bytes read at a time.
const PIECE: usize = 64 * 1024;
/// Taken texts that are remembered. Only the last few deliveries are ever asked for again.
const TAKEN_KEPT: usize = 16;
/// Most lines after a limit in plain text that ended a turn: a goodbye, and the usage.
const AFTER_LIMIT: usize = 5;
/// Most lines that wait to be reported. A program that floods us loses the oldest, since the latest matters most.
const WAITING_MOST: usize = 1024;
/// Most reports about one agent per second. Faster ones are condensed.
const REPORTS_MOST: usize = 20;
/// Most taken texts among them.
const TAKEN_MOST: usize = 8;
/// An agent that prints more lines per second floods us.
const LINES_MOST: u32 = 200;
/// Shortest time between two reports of usage.
const SECOND: Duration = Duration::from_secs(1);
/// Most denied calls from before we began to read that are reported. Fewer than the core remembers by id, so that those
/// it knows are not counted again.
const DENIED_REPORTED: usize = 32;
/// Longest wait for output per call. Any bound would do; with this one a failed runtime is noticed within a minute.
const LONG: Duration = Duration::from_secs(60);
/// Pause after a failure of the runtime.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Follows the output of a process.
pub(super) struct OutputFollower {
    session: SessionId,
    attempt: Attempt,
    reader: Arc<OutputReader>,
    /// Locked only to look and to add, never while waiting for output: deliveries read too, and must not wait.
    read: Mutex<ReadState>,
}

#[derive(Default)]
struct ReadState {
    offset: u64,
    splitter: LineSplitter,
    taken: BTreeMap<u32, String>,
    /// Its last claim about its state.
    claim: Option<ProtocolLine>,
    waiting: VecDeque<OutputItem>,
    /// True after its first output.
    began: bool,
    /// The conversation that it reported; `gone` is set if it did not know the one to resume.
    conversation: Option<ConversationId>,
    gone: bool,
    /// Its last text; `failed` is set if that is the reason why its turn fails.
    words: String,
    failed: bool,
    /// A limit that its text mentions, and the number of lines after it.
    mentioned: Option<(ProtocolLine, usize)>,
    /// Its usage, if it was not reported yet. Several reports are added up.
    spent: Option<UsageTotal>,
    /// The number of its lines in the current second.
    lines: u32,
    /// The number of its denied calls.
    denied: u64,
    /// The attempt that this output belongs to.
    attempt: Attempt,
    /// Output from before we began to read is history, of which only the last claim counts.
    caught_up: bool,
    /// There will be no more output.
    ended: bool,
}

/// The reports that are due.
struct PendingReports {
    heard: Vec<OutputItem>,
    spent: Option<UsageTotal>,
    /// True if more is to be reported in the next second.
    held_back: bool,
    /// The offset to read on from. Taken together with the lines: if another task reads from here meanwhile, the wait
    /// for output behind it ends at once, and its findings are not delayed.
    from: u64,
    caught_up: bool,
    ended: bool,
}

impl OutputFollower {
    pub(super) fn new(session: SessionId, attempt: Attempt, reader: Arc<OutputReader>) -> OutputFollower {
        OutputFollower {
            session,
            attempt,
            reader,
            read: Mutex::new(ReadState { attempt, ..ReadState::default() }),
        }
    }

    /// Reports everything that the process prints until it has ended and all was read.
    pub(super) async fn run(
        &self,
        order: &FollowOrder,
        runtime: &dyn Runtime,
        reporter: &dyn Reporter,
        clock: &dyn Clock,
    ) {
        let mut with_launch = order.with_launch.clone();
        let mut pace = ReportPace::new();
        loop {
            let news = self.read().news(&mut pace);
            if pace.is_flooded() {
                tracing::warn!(session = %self.session, "an agent floods us; only its latest output is reported");
                reporter.report(AgentReport::Flooding { session: self.session, attempt: self.attempt }).await;
            }
            for heard in &news.heard {
                // Between a message that was taken and the work on it no agent may look idle.
                if let OutputItem::Line(ProtocolLine::Taken { .. }) | OutputItem::Began = heard {
                    let signal = self.signal(Reading::Working { doing: String::new() }, clock);
                    reporter.report(signal).await;
                }
                let report = match heard {
                    OutputItem::Began => self.taken_with_launch(&mut with_launch),
                    other => self.report(other, clock),
                };
                if let Some(report) = report {
                    reporter.report(report).await;
                }
            }
            if let Some(spend) = news.spent {
                let (session, attempt) = (self.session, self.attempt);
                reporter.report(AgentReport::Spent { session, attempt, spend }).await;
            }
            if news.ended {
                return self.finish(order, &mut with_launch, runtime, reporter, clock).await;
            }
            // Held-back reports are sent when the second is over.
            let wait = match news.caught_up {
                true if news.held_back => pace.left(),
                true => LONG,
                false => Duration::ZERO,
            };
            if let Err(err) = self.read_on(&order.process, runtime, news.from, wait, clock).await {
                tracing::warn!(%err, session = %self.session, "the output of an agent cannot be read");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }

    /// Reports the final text. A program that ended well has taken what it was started with, even without any output:
    /// running it again would do its work twice.
    async fn finish(
        &self,
        order: &FollowOrder,
        with_launch: &mut Option<String>,
        runtime: &dyn Runtime,
        reporter: &dyn Reporter,
        clock: &dyn Clock,
    ) {
        let (words, mentioned) = self.read().last();
        let (session, attempt) = (self.session, self.attempt);
        let ended_well = match self.reader.is_for_one_turn() {
            true => runtime.look(&order.process).await == (ProcessLife::Gone { code: Some(0) }),
            false => false,
        };
        if let Some((limit, after)) = mentioned
            && (!ended_well || after <= AFTER_LIMIT)
            && let Some(reading) = limit.reading()
        {
            reporter.report(self.signal(reading, clock)).await;
        }
        if !words.is_empty() {
            reporter.report(AgentReport::LastWords { session, attempt, text: words }).await;
        }
        if with_launch.is_some()
            && ended_well
            && let Some(report) = self.taken_with_launch(with_launch)
        {
            reporter.report(report).await;
        }
    }

    /// Returns the proof that the message of the launch was taken, once.
    fn taken_with_launch(&self, with_launch: &mut Option<String>) -> Option<AgentReport> {
        let (session, attempt) = (self.session, self.attempt);
        let text = with_launch.take()?;
        Some(AgentReport::Taken { session, attempt, turn: format!("launch {attempt}"), text })
    }

    /// Returns the text that was taken for a delivery, if it was, according to all output so far.
    pub(super) async fn taken(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        clock: &dyn Clock,
        delivery: u32,
    ) -> Result<Option<String>, RuntimeError> {
        loop {
            let from = self.read().offset;
            if self.read_on(process, runtime, from, Duration::ZERO, clock).await? {
                return Ok(self.read().taken.get(&delivery).cloned());
            }
        }
    }

    /// Reads a piece, and returns true if that was all for now.
    async fn read_on(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        from: u64,
        wait: Duration,
        clock: &dyn Clock,
    ) -> Result<bool, RuntimeError> {
        let piece = runtime.output(process, from, PIECE, wait).await?;
        let mut read = self.read();
        // Otherwise another task has read this meanwhile, and perhaps more.
        Ok(read.offset == from && read.add(&piece, &self.reader, clock.now()))
    }

    fn read(&self) -> MutexGuard<'_, ReadState> {
        self.read.lock().expect("no thread panics while reading")
    }

    /// Returns true if the process itself has reported its state.
    pub(super) fn has_claimed(&self) -> bool {
        self.read().claim.is_some()
    }

    /// Returns the open question, according to the last claim of the process.
    pub(super) fn question(&self) -> Option<String> {
        match &self.read().claim {
            Some(ProtocolLine::Asking { question }) => Some(question.clone()),
            _ => None,
        }
    }

    fn report(&self, heard: &OutputItem, clock: &dyn Clock) -> Option<AgentReport> {
        let (session, attempt) = (self.session, self.attempt);
        let line = match heard {
            OutputItem::Line(line) => line,
            OutputItem::Conversation(conversation) => {
                return Some(AgentReport::Conversation {
                    session,
                    attempt,
                    conversation: conversation.clone(),
                });
            }
            OutputItem::Gone => return Some(AgentReport::ConversationGone { session, attempt }),
            OutputItem::Began | OutputItem::Failed | OutputItem::LimitMentioned(_) => return None,
        };
        if let ProtocolLine::Taken { delivery, text } = line {
            let turn = match delivery {
                Some(delivery) => turn_of(attempt, *delivery),
                // Not one of ours; it is reported once, so any unique name will do.
                None => format!("attempt {attempt} at {} {text}", clock.now()),
            };
            return Some(AgentReport::Taken { session, attempt, turn, text: text.clone() });
        }
        if let ProtocolLine::Denied { tool, call } = line {
            let call = call.clone().unwrap_or_default();
            return Some(AgentReport::Denied { session, attempt, call, tool: tool.clone() });
        }
        Some(self.signal(line.reading()?, clock))
    }

    fn signal(&self, reading: Reading, clock: &dyn Clock) -> AgentReport {
        let (attempt, source, at) = (self.attempt, SignalSource::Protocol, clock.now());
        let signal = Signal { attempt, source, at, confidence: Confidence::High, reading };
        AgentReport::Signal { session: self.session, signal }
    }
}

/// Limits the rate of reports, second by second.
struct ReportPace {
    since: Instant,
    /// The number of reports in this second.
    sent: usize,
    /// True if usage was reported in this second.
    spent: bool,
    floods: bool,
    announced: bool,
}

impl ReportPace {
    fn new() -> ReportPace {
        ReportPace { since: Instant::now(), sent: 0, spent: false, floods: false, announced: false }
    }

    /// Begins the next second, if the last one is over.
    fn begin(&mut self, lines: &mut u32) {
        self.floods |= *lines > LINES_MOST;
        if self.since.elapsed() >= SECOND {
            (self.since, self.sent, self.spent) = (Instant::now(), 0, false);
            *lines = 0;
        }
    }

    /// Returns true once, if the agent floods us.
    fn is_flooded(&mut self) -> bool {
        self.floods && !std::mem::replace(&mut self.announced, self.floods)
    }

    fn left(&self) -> Duration {
        SECOND.saturating_sub(self.since.elapsed())
    }
}

/// Returns the name of the turn in which a delivery was taken, the same for every reporter.
pub(super) fn turn_of(attempt: Attempt, delivery: u32) -> String {
    format!("attempt {attempt} delivery {delivery}")
}

impl ReadState {
    /// Adds the next piece, and returns true if it is all there is for now.
    fn add(&mut self, piece: &OutputPart, reader: &OutputReader, now: Timestamp) -> bool {
        if !piece.bytes.is_empty() {
            self.offset = piece.from + piece.bytes.len() as u64;
        }
        let mut lines = self.splitter.push(&piece.bytes);
        if piece.ended {
            lines.extend(self.splitter.finish());
        }
        for line in &lines {
            if let Some((_, after)) = &mut self.mentioned {
                *after += usize::from(!line.trim().is_empty());
            }
            for heard in reader.read_line(line, now, &mut self.words) {
                self.take(heard);
            }
        }
        self.ended = piece.ended;
        let all = piece.bytes.is_empty() || piece.ended;
        if all && !self.caught_up {
            self.caught_up = true;
            // A text that was taken long ago must not pass for the proof of a later one with the same text. Deliveries
            // without a proof are asked for again, and found by their number.
            let denied = std::mem::take(&mut self.waiting).into_iter().rev();
            let denied =
                denied.filter(|heard| matches!(heard, OutputItem::Line(ProtocolLine::Denied { .. })));
            let denied: Vec<OutputItem> = denied.take(DENIED_REPORTED).collect();
            // The start and the conversation belong to this process, so they cannot be those of another message.
            let own = [self.began.then_some(OutputItem::Began), self.gone.then_some(OutputItem::Gone)];
            let own =
                own.into_iter().flatten().chain(self.conversation.clone().map(OutputItem::Conversation));
            let claim = self.claim.clone().map(OutputItem::Line);
            self.waiting = own.chain(denied.into_iter().rev()).chain(claim).collect();
        }
        all
    }

    fn news(&mut self, pace: &mut ReportPace) -> PendingReports {
        let (mut heard, mut spent) = (vec![], None);
        if self.caught_up {
            pace.begin(&mut self.lines);
            let room = REPORTS_MOST - pace.sent;
            if self.waiting.len() > room && (pace.sent == 0 || self.ended) {
                self.sum_up();
            }
            if self.waiting.len() <= room || self.ended {
                heard = self.waiting.drain(..).collect();
            }
            if !pace.spent || self.ended {
                spent = self.spent.take();
            }
            pace.sent = (pace.sent + heard.len()).min(REPORTS_MOST);
            pace.spent |= spent.is_some();
        }
        let held_back = !self.waiting.is_empty() || self.spent.is_some();
        PendingReports {
            heard,
            spent,
            held_back,
            from: self.offset,
            caught_up: self.caught_up,
            ended: self.ended,
        }
    }

    /// Drops older reports: of states and denied calls only the latest matter, and so do the texts it took.
    fn sum_up(&mut self) {
        let is_taken = |heard: &OutputItem| matches!(heard, OutputItem::Line(ProtocolLine::Taken { .. }));
        let (mut taken, mut others) = (0, 0);
        let mut kept: Vec<OutputItem> = Vec::new();
        for heard in self.waiting.drain(..).rev() {
            let (count, most) = match is_taken(&heard) {
                true => (&mut taken, TAKEN_MOST),
                false => (&mut others, REPORTS_MOST - TAKEN_MOST),
            };
            // Reported once per process.
            let once = matches!(heard, OutputItem::Began | OutputItem::Gone | OutputItem::Conversation(_));
            if once || *count < most {
                *count += usize::from(!once);
                kept.push(heard);
            }
        }
        self.waiting = kept.into_iter().rev().collect();
    }

    fn take(&mut self, heard: OutputItem) {
        let mut line = match heard {
            OutputItem::Line(line) => line,
            // Every line of text might be the first; only the first one counts.
            OutputItem::Began if self.began => return,
            OutputItem::Began => {
                self.began = true;
                return self.queue(OutputItem::Began);
            }
            // One that works has its conversation, regardless of its text.
            OutputItem::Gone if self.gone || self.began => return,
            OutputItem::Gone => {
                self.gone = true;
                return self.queue(OutputItem::Gone);
            }
            OutputItem::Failed => {
                self.failed = true;
                return;
            }
            OutputItem::LimitMentioned(limit) => {
                self.mentioned = Some((limit, 0));
                return;
            }
            OutputItem::Conversation(id) if self.conversation.as_ref() == Some(&id) => return,
            OutputItem::Conversation(id) => {
                self.conversation = Some(id.clone());
                return self.queue(OutputItem::Conversation(id));
            }
        };
        if let ProtocolLine::Denied { call, .. } = &mut line {
            self.denied += 1;
            // Counted from the beginning of the output, so that it is the same whenever it is read.
            call.get_or_insert_with(|| format!("attempt {} denied {}", self.attempt, self.denied));
        }
        if let ProtocolLine::Taken { delivery: Some(delivery), text } = &line {
            self.taken.insert(*delivery, text.clone());
            while self.taken.len() > TAKEN_KEPT {
                self.taken.pop_first();
            }
        }
        if line.reading().is_some() {
            self.claim = Some(line.clone());
            // It goes on after the failure.
            self.failed &= !matches!(line, ProtocolLine::Working { .. });
        }
        self.queue(OutputItem::Line(line));
    }

    /// Returns its final text, and the limit that the text mentions.
    fn last(&self) -> (String, Option<(ProtocolLine, usize)>) {
        let words = self.words.trim();
        let words = match self.failed && !words.is_empty() {
            true => format!("failed: {words}"),
            false => words.to_owned(),
        };
        (words, self.mentioned.clone())
    }

    fn queue(&mut self, heard: OutputItem) {
        self.lines = self.lines.saturating_add(1);
        if let OutputItem::Line(line) = &heard
            && let Some(spend) = line.spend()
        {
            self.spent = Some(self.spent.map_or(spend, |before| before.later(spend)));
            return;
        }
        let works = |heard: &OutputItem| matches!(heard, OutputItem::Line(ProtocolLine::Working { .. }));
        // Of several consecutive reports of work only the last matters.
        if works(&heard) {
            self.waiting.pop_back_if(|before| works(before));
        }
        if self.waiting.len() == WAITING_MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(heard);
    }
}
