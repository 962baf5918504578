//! Reading along with one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ao_core::budget::Spend;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::input::Life;
use ao_core::{Attempt, ConversationId, SessionId, Timestamp};
use ao_ports::{Clock, FollowOrder, Output, ProcessRef, Report, Reporter, Runtime, RuntimeError};

use tokio::time::Instant;

use super::heard::{Ear, Heard};
use crate::line::{Line, Splitter};

/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How many texts that were taken are remembered. Only the last few deliveries are ever asked for again.
const TAKEN_KEPT: usize = 16;
/// How many lines may follow a limit in plain text that ended a turn: a goodbye, and what was used up.
const AFTER_LIMIT: usize = 5;
/// How many lines may wait to be reported. A program that floods us loses the oldest, of which the latest says it all.
const WAITING_MOST: usize = 1024;
/// How many reports about one agent are made in a second. What comes faster is summed up.
const REPORTS_MOST: usize = 20;
/// How many texts that were taken are among them at most.
const TAKEN_MOST: usize = 8;
/// An agent that says more than this in a second floods us.
const LINES_MOST: u32 = 200;
/// How often at most it is told what was used up.
const SECOND: Duration = Duration::from_secs(1);
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
    ear: Arc<Ear>,
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
    waiting: VecDeque<Heard>,
    /// It has said its first own word.
    began: bool,
    /// The conversation that it named, and whether it knew the one that it was to go on with.
    conversation: Option<ConversationId>,
    gone: bool,
    /// The last that it said, and whether that is why its turn fails.
    words: String,
    failed: bool,
    /// A limit that its text speaks of, and how many lines have followed.
    mentioned: Option<(Line, usize)>,
    /// What it has used up, if nobody was told yet. Of several words about that the sum of them says it all.
    spent: Option<Spend>,
    /// How many lines it has said in the present second.
    lines: u32,
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
    heard: Vec<Heard>,
    spent: Option<Spend>,
    /// More is to be told in the next second.
    held_back: bool,
    /// Where to read on. Taken together with the lines: if another reads from here meanwhile, the wait for output behind
    /// it is over at once, and what that one has found is not left lying.
    from: u64,
    caught_up: bool,
    ended: bool,
}

impl Follower {
    pub(super) fn new(session: SessionId, attempt: Attempt, ear: Arc<Ear>) -> Follower {
        Follower { session, attempt, ear, read: Mutex::new(Read { attempt, ..Read::default() }) }
    }

    /// Reports whatever the process says until it has ended and all is read.
    pub(super) async fn run(
        &self,
        order: &FollowOrder,
        runtime: &dyn Runtime,
        reporter: &dyn Reporter,
        clock: &dyn Clock,
    ) {
        let mut with_launch = order.with_launch.clone();
        let mut pace = Pace::new();
        loop {
            let news = self.read().news(&mut pace);
            if pace.is_flooded() {
                tracing::warn!(session = %self.session, "an agent floods us; only the latest of it is told");
                reporter.report(Report::Flooding { session: self.session, attempt: self.attempt }).await;
            }
            for heard in &news.heard {
                // Between a message that was taken and the work on it nobody may look idle.
                if let Heard::Line(Line::Taken { .. }) | Heard::Began = heard {
                    let signal = self.signal(Reading::Working { doing: String::new() }, clock);
                    reporter.report(signal).await;
                }
                let report = match heard {
                    Heard::Began => self.taken_with_launch(&mut with_launch),
                    other => self.report(other, clock),
                };
                if let Some(report) = report {
                    reporter.report(report).await;
                }
            }
            if let Some(spend) = news.spent {
                let (session, attempt) = (self.session, self.attempt);
                reporter.report(Report::Spent { session, attempt, spend }).await;
            }
            if news.ended {
                return self.finish(order, &mut with_launch, runtime, reporter, clock).await;
            }
            // What was held back is told when its time has come.
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

    /// Reports the last words. A program that ended well has taken what it was started with, also if it said nothing: to run it
    /// again would do its work twice.
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
        let ended_well = match self.ear.is_for_one_turn() {
            true => runtime.look(&order.process).await == (Life::Gone { code: Some(0) }),
            false => false,
        };
        if let Some((limit, after)) = mentioned
            && (!ended_well || after <= AFTER_LIMIT)
            && let Some(reading) = limit.reading()
        {
            reporter.report(self.signal(reading, clock)).await;
        }
        if !words.is_empty() {
            reporter.report(Report::LastWords { session, attempt, text: words }).await;
        }
        if with_launch.is_some()
            && ended_well
            && let Some(report) = self.taken_with_launch(with_launch)
        {
            reporter.report(report).await;
        }
    }

    /// The proof that the message of the launch was taken, once.
    fn taken_with_launch(&self, with_launch: &mut Option<String>) -> Option<Report> {
        let (session, attempt) = (self.session, self.attempt);
        let text = with_launch.take()?;
        Some(Report::Taken { session, attempt, turn: format!("launch {attempt}"), text })
    }

    /// The text that was taken for a delivery, if it was, by all that has been put out until now.
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

    /// Reads a piece, and returns whether that was all there is for now.
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
        // Otherwise another has read this meanwhile, and perhaps more.
        Ok(read.offset == from && read.add(&piece, &self.ear, clock.now()))
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

    fn report(&self, heard: &Heard, clock: &dyn Clock) -> Option<Report> {
        let (session, attempt) = (self.session, self.attempt);
        let line = match heard {
            Heard::Line(line) => line,
            Heard::Conversation(conversation) => {
                return Some(Report::Conversation { session, attempt, conversation: conversation.clone() });
            }
            Heard::Gone => return Some(Report::ConversationGone { session, attempt }),
            Heard::Began | Heard::Failed | Heard::LimitMentioned(_) => return None,
        };
        if let Line::Taken { delivery, text } = line {
            let turn = match delivery {
                Some(delivery) => turn_of(attempt, *delivery),
                // Not one of ours; it is told once, so any name will do that no other has.
                None => format!("attempt {attempt} at {} {text}", clock.now()),
            };
            return Some(Report::Taken { session, attempt, turn, text: text.clone() });
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

/// How fast it is told what an agent says, second by second.
struct Pace {
    since: Instant,
    /// How much was told in this second.
    told: usize,
    /// Whether it was told in this second what was used up.
    spent: bool,
    floods: bool,
    said: bool,
}

impl Pace {
    fn new() -> Pace {
        Pace { since: Instant::now(), told: 0, spent: false, floods: false, said: false }
    }

    /// Begins the next second, if the last one is over.
    fn begin(&mut self, lines: &mut u32) {
        self.floods |= *lines > LINES_MOST;
        if self.since.elapsed() >= SECOND {
            (self.since, self.told, self.spent) = (Instant::now(), 0, false);
            *lines = 0;
        }
    }

    /// Whether it is to be said now that the agent floods us, which is said once.
    fn is_flooded(&mut self) -> bool {
        self.floods && !std::mem::replace(&mut self.said, self.floods)
    }

    fn left(&self) -> Duration {
        SECOND.saturating_sub(self.since.elapsed())
    }
}

/// The name of the turn in which a delivery was taken, the same from whoever tells of it.
pub(super) fn turn_of(attempt: Attempt, delivery: u32) -> String {
    format!("attempt {attempt} delivery {delivery}")
}

impl Read {
    /// Adds what comes next, and returns whether it is all there is for now.
    fn add(&mut self, piece: &Output, ear: &Ear, now: Timestamp) -> bool {
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
            for heard in ear.hear(line, now, &mut self.words) {
                self.take(heard);
            }
        }
        self.ended = piece.ended;
        let all = piece.bytes.is_empty() || piece.ended;
        if all && !self.caught_up {
            self.caught_up = true;
            // A text that was taken long ago must not pass for the proof of a later one with the same words. Deliveries
            // without a proof are asked for again, and found by their number.
            let denied = std::mem::take(&mut self.waiting).into_iter().rev();
            let denied = denied.filter(|heard| matches!(heard, Heard::Line(Line::Denied { .. })));
            let denied: Vec<Heard> = denied.take(DENIED_TOLD).collect();
            // The first word and the conversation belong to this process, so they are never those of another message.
            let own = [self.began.then_some(Heard::Began), self.gone.then_some(Heard::Gone)];
            let own = own.into_iter().flatten().chain(self.conversation.clone().map(Heard::Conversation));
            let claim = self.claim.clone().map(Heard::Line);
            self.waiting = own.chain(denied.into_iter().rev()).chain(claim).collect();
        }
        all
    }

    fn news(&mut self, pace: &mut Pace) -> News {
        let (mut heard, mut spent) = (vec![], None);
        if self.caught_up {
            pace.begin(&mut self.lines);
            let room = REPORTS_MOST - pace.told;
            if self.waiting.len() > room && (pace.told == 0 || self.ended) {
                self.sum_up();
            }
            if self.waiting.len() <= room || self.ended {
                heard = self.waiting.drain(..).collect();
            }
            if !pace.spent || self.ended {
                spent = self.spent.take();
            }
            pace.told = (pace.told + heard.len()).min(REPORTS_MOST);
            pace.spent |= spent.is_some();
        }
        let held_back = !self.waiting.is_empty() || self.spent.is_some();
        News { heard, spent, held_back, from: self.offset, caught_up: self.caught_up, ended: self.ended }
    }

    /// Drops the older of what waits: of what an agent does and was denied the latest matters, and so do the texts it took.
    fn sum_up(&mut self) {
        let is_taken = |heard: &Heard| matches!(heard, Heard::Line(Line::Taken { .. }));
        let (mut taken, mut others) = (0, 0);
        let mut kept: Vec<Heard> = Vec::new();
        for heard in self.waiting.drain(..).rev() {
            let (count, most) = match is_taken(&heard) {
                true => (&mut taken, TAKEN_MOST),
                false => (&mut others, REPORTS_MOST - TAKEN_MOST),
            };
            // Said once in the life of a process.
            let once = matches!(heard, Heard::Began | Heard::Gone | Heard::Conversation(_));
            if once || *count < most {
                *count += usize::from(!once);
                kept.push(heard);
            }
        }
        self.waiting = kept.into_iter().rev().collect();
    }

    fn take(&mut self, heard: Heard) {
        let mut line = match heard {
            Heard::Line(line) => line,
            // Every line of text might be the first word; the first one is.
            Heard::Began if self.began => return,
            Heard::Began => {
                self.began = true;
                return self.queue(Heard::Began);
            }
            // One that works has its conversation, whatever its text speaks of.
            Heard::Gone if self.gone || self.began => return,
            Heard::Gone => {
                self.gone = true;
                return self.queue(Heard::Gone);
            }
            Heard::Failed => {
                self.failed = true;
                return;
            }
            Heard::LimitMentioned(limit) => {
                self.mentioned = Some((limit, 0));
                return;
            }
            Heard::Conversation(id) if self.conversation.as_ref() == Some(&id) => return,
            Heard::Conversation(id) => {
                self.conversation = Some(id.clone());
                return self.queue(Heard::Conversation(id));
            }
        };
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
            // Whatever failed, it goes on.
            self.failed &= !matches!(line, Line::Working { .. });
        }
        self.queue(Heard::Line(line));
    }

    /// Its last words, and the limit that its text speaks of.
    fn last(&self) -> (String, Option<(Line, usize)>) {
        let words = self.words.trim();
        let words = match self.failed && !words.is_empty() {
            true => format!("failed: {words}"),
            false => words.to_owned(),
        };
        (words, self.mentioned.clone())
    }

    fn queue(&mut self, heard: Heard) {
        self.lines = self.lines.saturating_add(1);
        if let Heard::Line(line) = &heard
            && let Some(spend) = line.spend()
        {
            self.spent = Some(self.spent.map_or(spend, |before| before.later(spend)));
            return;
        }
        let works = |heard: &Heard| matches!(heard, Heard::Line(Line::Working { .. }));
        // Of several words about its work in a row the last says it all.
        if works(&heard) {
            self.waiting.pop_back_if(|before| works(before));
        }
        if self.waiting.len() == WAITING_MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(heard);
    }
}
