//! Follows the output of one process.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnEnd};
use ao_core::ask::{Ask, AskKind, OptionKind};
use ao_core::budget::UsageTotal;
use ao_core::evidence::{Reading, Signal, SignalSource};
use ao_core::input::ProcessLife;
use ao_core::{AskId, Attempt, ConversationId, SessionId, Timestamp};
use ao_ports::{Clock, FollowOrder, OutputPart, ProcessRef, Report, Reporter, Runtime, RuntimeError};

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
/// Most open asks of one agent. Further ones are not reported until others are closed.
const ASKS_MOST: usize = 16;
/// The beginning of the ids of asks that came without one. Counted from the beginning of the output, so that an ask has the
/// same id whenever it is read.
const UNNAMED: &str = "unnamed ";
/// Longest wait for output per call. Any bound would do; with this one a failed runtime is noticed within a minute.
const LONG: Duration = Duration::from_secs(60);
/// Pause after a failure of the runtime.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Follows the output of a process.
pub(in crate::command) struct OutputFollower {
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
    claim: Option<Reading>,
    /// The open asks, in order.
    asks: Vec<Ask>,
    /// The asks that were answered. Its output may show them as open for a while.
    answered: BTreeSet<AskId>,
    /// The asks that were reported as open.
    reported: BTreeSet<AskId>,
    /// The last asks that were closed before we began to read. An earlier daemon may have reported them as open.
    closed: VecDeque<AskId>,
    /// The number of its asks without an id.
    unnamed: u64,
    turn: TurnState,
    waiting: VecDeque<OutputItem>,
    /// True after its first output.
    began: bool,
    /// The conversation that it reported; `gone` is set if it did not know the one to resume.
    conversation: Option<ConversationId>,
    gone: bool,
    /// Its last reply.
    reply: Option<String>,
    /// Text that was not reported as a reply yet.
    words: String,
    /// The reason why its turn fails.
    failed: Option<String>,
    /// A limit that its text mentions, and the number of lines after it.
    mentioned: Option<(Reading, usize)>,
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

/// The state of the last turn, as far as the line protocol shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TurnState {
    #[default]
    Over,
    Running,
    /// It is to end before it is done.
    Cancelled,
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
    pub(in crate::command) fn new(
        session: SessionId,
        attempt: Attempt,
        reader: Arc<OutputReader>,
    ) -> OutputFollower {
        OutputFollower {
            session,
            attempt,
            reader,
            read: Mutex::new(ReadState { attempt, ..ReadState::default() }),
        }
    }

    /// Reports everything that the process prints until it has ended and all was read.
    pub(in crate::command) async fn run(
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
                reporter.report(Report::Flooding { session: self.session, attempt: self.attempt }).await;
            }
            for heard in &news.heard {
                // Between a message that was taken and the work on it no agent may look idle.
                if let OutputItem::Line(ProtocolLine::Taken { .. }) | OutputItem::Began = heard {
                    let signal = self.signal(Reading::Working { doing: String::new() }, clock);
                    reporter.report(signal).await;
                }
                let report = match heard {
                    OutputItem::Began => self.taken_with_launch(&mut with_launch, clock),
                    other => self.report(other, clock),
                };
                if let Some(report) = report {
                    reporter.report(report).await;
                }
            }
            if let Some(spend) = news.spent {
                reporter.report(self.agent_report(AgentReport::Usage { spend }, clock)).await;
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
        let last = self.read().last();
        let ended_well = match self.reader.is_for_one_turn() {
            true => runtime.look(&order.process).await == (ProcessLife::Gone { code: Some(0) }),
            false => false,
        };
        let mut limit = last.limit;
        if let Some((mentioned, after)) = last.mentioned
            && (!ended_well || after <= AFTER_LIMIT)
        {
            limit = Some(mentioned.clone());
            reporter.report(self.signal(mentioned, clock)).await;
        }
        if with_launch.is_some()
            && ended_well
            && let Some(report) = self.taken_with_launch(with_launch, clock)
        {
            reporter.report(report).await;
        }
        if let Some(text) = last.reply {
            reporter.report(self.agent_report(AgentReport::Reply { text }, clock)).await;
        }
        let end = match (limit, last.failed) {
            _ if !self.reader.is_for_one_turn() => None,
            (Some(Reading::Limited { until }), _) => Some(TurnEnd::Limited { until }),
            (_, Some(why)) => Some(TurnEnd::Failed { why }),
            _ => ended_well.then_some(TurnEnd::Done {}),
        };
        if let Some(end) = end {
            reporter.report(self.agent_report(AgentReport::TurnEnded { end }, clock)).await;
        }
    }

    /// Returns the proof that the message of the launch was taken, once.
    fn taken_with_launch(&self, with_launch: &mut Option<String>, clock: &dyn Clock) -> Option<Report> {
        let text = with_launch.take()?;
        Some(self.agent_report(AgentReport::taken(&format!("launch {}", self.attempt), &text), clock))
    }

    /// Reads all output until now.
    pub(in crate::command) async fn catch_up(
        &self,
        process: &ProcessRef,
        runtime: &dyn Runtime,
        clock: &dyn Clock,
    ) -> Result<(), RuntimeError> {
        loop {
            let from = self.read().offset;
            if self.read_on(process, runtime, from, Duration::ZERO, clock).await? {
                return Ok(());
            }
        }
    }

    /// Returns the text that was taken for a delivery, if it was, according to the output that was read.
    pub(in crate::command) fn taken(&self, delivery: u32) -> Option<String> {
        self.read().taken.get(&delivery).cloned()
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
    pub(in crate::command) fn has_claimed(&self) -> bool {
        self.read().claim.is_some()
    }

    /// Returns the latest open ask.
    pub(in crate::command) fn open_ask(&self) -> Option<Ask> {
        self.read().asks.last().cloned()
    }

    pub(in crate::command) fn is_open(&self, ask: &AskId) -> bool {
        self.read().asks.iter().any(|open| open.id == *ask)
    }

    /// Closes asks that were answered, without a report, and also before they are read.
    pub(in crate::command) fn close_answered(&self, answered: BTreeSet<AskId>) {
        let mut read = self.read();
        read.asks.retain(|open| !answered.contains(&open.id));
        read.waiting.retain(|item| match item {
            OutputItem::Report(AgentReport::Asked { ask }) => !answered.contains(&ask.id),
            _ => true,
        });
        read.answered.extend(answered);
    }

    /// Marks the running turn as cancelled, and returns false if none is running.
    pub(in crate::command) fn cancel_turn(&self) -> bool {
        let mut read = self.read();
        let runs = read.turn != TurnState::Over;
        if runs {
            read.turn = TurnState::Cancelled;
        }
        runs
    }

    fn report(&self, heard: &OutputItem, clock: &dyn Clock) -> Option<Report> {
        let (session, attempt) = (self.session, self.attempt);
        Some(match heard {
            OutputItem::Reading(reading) => self.signal(reading.clone(), clock),
            OutputItem::Report(report) => self.agent_report(report.clone(), clock),
            OutputItem::Line(ProtocolLine::Taken { delivery, text }) => {
                let turn = match delivery {
                    Some(delivery) => turn_of(attempt, *delivery),
                    // Not one of ours; it is reported once, so any unique name will do.
                    None => format!("attempt {attempt} at {} {text}", clock.now()),
                };
                self.agent_report(AgentReport::taken(&turn, text), clock)
            }
            OutputItem::Conversation(conversation) => {
                Report::Conversation { session, attempt, conversation: conversation.clone() }
            }
            OutputItem::Gone => Report::ConversationGone { session, attempt },
            OutputItem::Line(_)
            | OutputItem::Began
            | OutputItem::Failed(_)
            | OutputItem::LimitMentioned(_) => {
                return None;
            }
        })
    }

    fn agent_report(&self, report: AgentReport, clock: &dyn Clock) -> Report {
        let (session, attempt, source, at) =
            (self.session, self.attempt, SignalSource::Protocol, clock.now());
        Report::Agent { session, attempt, source, at, report }
    }

    fn signal(&self, reading: Reading, clock: &dyn Clock) -> Report {
        let signal = Signal::certain(self.attempt, SignalSource::Protocol, clock.now(), reading);
        Report::Signal { session: self.session, signal }
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
pub(in crate::command) fn turn_of(attempt: Attempt, delivery: u32) -> String {
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
            let denied = denied.filter(is_denial);
            let denied: Vec<OutputItem> = denied.take(DENIED_REPORTED).collect();
            // The start and the conversation belong to this process, so they cannot be those of another message.
            let own = [self.began.then_some(OutputItem::Began), self.gone.then_some(OutputItem::Gone)];
            let own =
                own.into_iter().flatten().chain(self.conversation.clone().map(OutputItem::Conversation));
            let claim = self.claim.clone().map(OutputItem::Reading);
            let closed = std::mem::take(&mut self.closed).into_iter();
            let closed = closed.map(|ask| OutputItem::Report(AgentReport::AskClosed { ask }));
            let asks = self.asks.iter().cloned().map(|ask| OutputItem::Report(AgentReport::Asked { ask }));
            let reply = self.reply.clone().map(|text| OutputItem::Report(AgentReport::Reply { text }));
            self.waiting = own
                .chain(denied.into_iter().rev())
                .chain(claim)
                .chain(reply)
                .chain(closed)
                .chain(asks)
                .collect();
        }
        all
    }

    fn news(&mut self, pace: &mut ReportPace) -> PendingReports {
        let (mut heard, mut spent) = (vec![], None);
        if self.caught_up {
            pace.begin(&mut self.lines);
            let room = REPORTS_MOST - pace.sent;
            let is_turn = pace.sent == 0 || self.ended;
            if self.waiting.len() > room && is_turn {
                self.sum_up();
            }
            if self.waiting.len() <= room || is_turn {
                heard = self.waiting.drain(..).collect();
            }
            for ask in heard.iter().filter_map(asked) {
                self.reported.insert(ask.id.clone());
                // The engine has all of it from now on, which may be megabytes.
                for open in self.asks.iter_mut().filter(|open| open.id == ask.id && open.is_long()) {
                    *open = open.clone().bounded();
                }
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
            // Reported once per process, or needed by a person.
            let once = matches!(heard, OutputItem::Began | OutputItem::Gone | OutputItem::Conversation(_))
                || is_about_ask(&heard);
            if once || *count < most {
                *count += usize::from(!once);
                kept.push(heard);
            }
        }
        self.waiting = kept.into_iter().rev().collect();
    }

    fn take(&mut self, heard: OutputItem) {
        match heard {
            OutputItem::Line(line) => self.take_line(line),
            OutputItem::Reading(reading) => self.claims(reading),
            OutputItem::Report(report) => {
                if let AgentReport::ToolCall(ToolCall {
                    state: CallState::Running | CallState::Ended, ..
                }) = report
                {
                    self.claim = Some(Reading::Working { doing: String::new() });
                    self.failed = None;
                }
                self.queue(OutputItem::Report(report));
            }
            // Every line of text might be the first; only the first one counts.
            OutputItem::Began if self.began => {}
            OutputItem::Began => {
                self.began = true;
                self.queue(OutputItem::Began);
            }
            // One that works has its conversation, regardless of its text.
            OutputItem::Gone if self.gone || self.began => {}
            OutputItem::Gone => {
                self.gone = true;
                self.queue(OutputItem::Gone);
            }
            OutputItem::Failed(why) => self.failed = Some(why),
            OutputItem::LimitMentioned(limit) => self.mentioned = Some((limit, 0)),
            OutputItem::Conversation(id) if self.conversation.as_ref() == Some(&id) => {}
            OutputItem::Conversation(id) => {
                self.conversation = Some(id.clone());
                self.queue(OutputItem::Conversation(id));
            }
        }
    }

    fn take_line(&mut self, line: ProtocolLine) {
        if let Some(reading) = line.reading() {
            return self.claims(reading);
        }
        match line {
            ProtocolLine::Taken { delivery, text } => {
                self.close_unnamed();
                self.turn = TurnState::Running;
                if let Some(delivery) = delivery {
                    self.taken.insert(delivery, text.clone());
                    while self.taken.len() > TAKEN_KEPT {
                        self.taken.pop_first();
                    }
                }
                self.queue(OutputItem::Line(ProtocolLine::Taken { delivery, text }));
            }
            ProtocolLine::Denied { tool, call } => {
                self.denied += 1;
                // Counted from the beginning of the output, so that it is the same whenever it is read.
                let id = call.unwrap_or_else(|| format!("attempt {} denied {}", self.attempt, self.denied));
                let (detail, state) = (String::new(), CallState::Denied);
                let call = ToolCall { id, tool, detail, state };
                self.queue(OutputItem::Report(AgentReport::ToolCall(call)));
            }
            ProtocolLine::Spent { micros, tokens, turns, seconds } => {
                self.lines = self.lines.saturating_add(1);
                let spend = UsageTotal { micros, tokens, turns, seconds };
                self.spent = Some(self.spent.map_or(spend, |before| before.later(spend)));
            }
            ProtocolLine::Reply { text } => self.queue(OutputItem::Report(AgentReport::Reply { text })),
            ProtocolLine::AskClosed { ask } => self.close_asks(|open| open.id.as_str() == ask),
            ProtocolLine::Asking { question, ask, details, options } => {
                self.close_unnamed();
                let id = ask.unwrap_or_else(|| {
                    self.unnamed += 1;
                    format!("{UNNAMED}{}", self.unnamed)
                });
                let allows = |kind| matches!(kind, OptionKind::AllowOnce | OptionKind::AllowAlways);
                let kind = match options.is_empty() {
                    true => AskKind::Text,
                    false if options.iter().any(|option| allows(option.kind)) => AskKind::Permission,
                    false => AskKind::Choice,
                };
                let ask = Ask { id: AskId::new(&id), kind, title: question, details, options };
                self.asks.retain(|open| open.id != ask.id);
                if self.answered.contains(&ask.id) || self.asks.len() >= ASKS_MOST {
                    self.lines = self.lines.saturating_add(1);
                    return;
                }
                self.asks.push(ask.clone());
                self.queue(OutputItem::Report(AgentReport::Asked { ask }));
            }
            // These have a reading.
            ProtocolLine::Started
            | ProtocolLine::Working { .. }
            | ProtocolLine::Idle
            | ProtocolLine::Blocked { .. }
            | ProtocolLine::Limited { .. } => {}
        }
    }

    /// Takes note of a claim about its state, which closes a question without an id, and at the end of a turn all of them.
    fn claims(&mut self, reading: Reading) {
        match &reading {
            Reading::Idle => {
                self.close_asks(|_| true);
                let end = match std::mem::take(&mut self.turn) {
                    TurnState::Over => None,
                    TurnState::Running => Some(TurnEnd::Done {}),
                    TurnState::Cancelled => Some(TurnEnd::Cancelled {}),
                };
                if let Some(end) = end {
                    self.queue(OutputItem::Report(AgentReport::TurnEnded { end }));
                }
            }
            Reading::Working { .. } => {
                self.close_unnamed();
                // It goes on after the failure.
                self.failed = None;
                if self.turn == TurnState::Over {
                    self.turn = TurnState::Running;
                }
            }
            _ => self.close_unnamed(),
        }
        self.claim = Some(reading.clone());
        self.queue(OutputItem::Reading(reading));
    }

    fn close_unnamed(&mut self) {
        self.close_asks(|open| open.id.as_str().starts_with(UNNAMED));
    }

    fn close_asks(&mut self, closes: impl Fn(&Ask) -> bool) {
        for Ask { id, .. } in self.asks.extract_if(.., |open| closes(open)).collect::<Vec<_>>() {
            self.waiting.retain(|item| match item {
                OutputItem::Report(AgentReport::Asked { ask }) => ask.id != id,
                _ => true,
            });
            // One that was not reported needs no report of its end, except by an earlier daemon.
            if self.reported.remove(&id) {
                self.queue(OutputItem::Report(AgentReport::AskClosed { ask: id }));
            } else if !self.caught_up {
                self.closed.push_back(id);
                if self.closed.len() > ASKS_MOST {
                    self.closed.pop_front();
                }
            }
        }
    }

    /// Returns what its last output means for its turn.
    fn last(&mut self) -> LastOutput {
        let words = std::mem::take(&mut self.words).trim().to_owned();
        let failed = self.failed.take();
        let reply = (failed.is_none() && !words.is_empty()).then_some(words);
        let limit = self.claim.clone().filter(|claim| matches!(claim, Reading::Limited { .. }));
        LastOutput { reply, failed, limit, mentioned: self.mentioned.clone() }
    }

    fn queue(&mut self, heard: OutputItem) {
        self.lines = self.lines.saturating_add(1);
        if let OutputItem::Report(AgentReport::Reply { text }) = &heard {
            self.reply = Some(text.clone());
        }
        // Of several consecutive reports of work only the last matters.
        if is_work(&heard) {
            self.waiting.pop_back_if(|before| is_work(before));
        }
        if self.waiting.len() == WAITING_MOST
            && let Some(oldest) = self.waiting.iter().position(|item| !is_about_ask(item))
        {
            self.waiting.remove(oldest);
        }
        self.waiting.push_back(heard);
    }
}

/// The meaning of the last output of a process.
struct LastOutput {
    /// Text that was not reported yet.
    reply: Option<String>,
    failed: Option<String>,
    limit: Option<Reading>,
    /// A limit that its text mentions, and the number of lines after it.
    mentioned: Option<(Reading, usize)>,
}

fn is_work(item: &OutputItem) -> bool {
    match item {
        OutputItem::Reading(reading) => matches!(reading, Reading::Working { .. }),
        OutputItem::Report(AgentReport::ToolCall(call)) => call.state != CallState::Denied,
        _ => false,
    }
}

fn is_denial(item: &OutputItem) -> bool {
    matches!(item, OutputItem::Report(AgentReport::ToolCall(call)) if call.state == CallState::Denied)
}

fn asked(item: &OutputItem) -> Option<&Ask> {
    match item {
        OutputItem::Report(AgentReport::Asked { ask }) => Some(ask),
        _ => None,
    }
}

fn is_about_ask(item: &OutputItem) -> bool {
    matches!(item, OutputItem::Report(AgentReport::Asked { .. } | AgentReport::AskClosed { .. }))
}
