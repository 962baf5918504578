//! The evidence about an agent, and the judgement of its activity.
//!
//! ```text
//!  protocol ─┐
//!  hooks ────┤   latest claim of each source       first rule that fits
//!  transcript┼──────────────► Evidence ──── judge(now) ────► Judgement { activity, rule, … }
//!  terminal ─┤
//!  process ──┘
//! ```
//!
//! No source is believed alone forever: a later look at the screen corrects a lost "stop", and a look that shows
//! nothing yields `unknown`, not a guess. Waiting for a person never decays by the clock.

mod judge;
mod question;
mod signal;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ask::OpenAsk;
use crate::{AskId, Attempt, Timestamp};

pub(crate) use judge::next_change;
pub use judge::{AgentActivity, Judgement, JudgementRule, judge};
pub use question::{is_generic, same_question};
pub use signal::{Confidence, Reading, Signal, SignalSource};

/// The time in which a repeated signal is no news.
const REPEAT: Duration = Duration::from_secs(10);

/// The shortest time between renewals of a claim to be working: a busy agent makes many of them per second.
const RENEWED: Duration = Duration::from_secs(1);
/// The same for other claims, which an agent has no reason to repeat.
const SAID_AGAIN: Duration = Duration::from_millis(250);

/// The number of closed asks that are remembered.
const CLOSED_KEPT: usize = 64;

/// The latest signals of the current attempt from each source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    pub attempt: Attempt,
    /// The time at which the attempt's process was started.
    pub since: Timestamp,
    latest: BTreeMap<SignalSource, Signal>,
    /// The open asks that the agent has reported by their ids.
    asks: BTreeMap<AskId, OpenAsk>,
    /// The asks that were closed last. A late report must not open one again.
    closed: VecDeque<AskId>,
    /// Kept apart from the terminal's readings, because typing reveals nothing about the agent.
    pub human_typed: Option<Timestamp>,
    /// The last sign of work.
    pub last_work: Option<Timestamp>,
}

/// The value that a new signal adds to the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalWeight {
    News,
    /// Older than the latest signal of the same source.
    Late,
    /// The same again, a moment later.
    Repeat,
}

impl Evidence {
    pub fn of(attempt: Attempt, since: Timestamp) -> Evidence {
        Evidence { attempt, since, ..Evidence::default() }
    }

    pub fn latest(&self) -> impl Iterator<Item = &Signal> {
        self.latest.values()
    }

    pub fn from(&self, source: SignalSource) -> Option<&Signal> {
        self.latest.get(&source)
    }

    /// Returns whether a signal is worth recording.
    pub fn weigh(&self, signal: &Signal) -> SignalWeight {
        if signal.reading == Reading::HumanTyped {
            return match self.human_typed {
                Some(before) if signal.at < before => SignalWeight::Late,
                // Each key press counts while a person types, but one per second is enough to hold a message back.
                Some(before) if signal.at.since(before) < Duration::from_secs(1) => SignalWeight::Repeat,
                _ => SignalWeight::News,
            };
        }
        match self.latest.get(&signal.source) {
            Some(before) if signal.at < before.at => SignalWeight::Late,
            Some(before) if before.reading == signal.reading && signal.at == before.at => {
                SignalWeight::Repeat
            }
            // Alive and idle, with no other signal since: a census every half minute must not fill the log, and must
            // not alternate with an agent that reports idle just as often.
            Some(before)
                if before.reading == (Reading::Alive { busy: false })
                    && before.reading == signal.reading
                    && self
                        .latest
                        .values()
                        .all(|other| other.at <= before.at || other.reading == Reading::Idle) =>
            {
                SignalWeight::Repeat
            }
            // A repeated claim that is not believed yet may be believed now.
            Some(before) if before.reading.is_claim() && !judge::is_believed(self, before) => {
                SignalWeight::News
            }
            // It renews the previous claim, so that a late signal from between the two cannot override it.
            Some(before) if before.reading.same_kind(&signal.reading) && before.reading.is_claim() => {
                let is_work = matches!(signal.reading, Reading::Working { .. });
                let renews = signal.at.since(before.at) >= if is_work { RENEWED } else { SAID_AGAIN };
                if renews { SignalWeight::News } else { SignalWeight::Repeat }
            }
            Some(before)
                if before.reading.same_kind(&signal.reading) && signal.at.since(before.at) < REPEAT =>
            {
                SignalWeight::Repeat
            }
            _ => SignalWeight::News,
        }
    }

    /// Returns the open asks that have an id, in the order of their numbers.
    pub fn open_asks(&self) -> Vec<&OpenAsk> {
        let mut open: Vec<&OpenAsk> = self.asks.values().collect();
        open.sort_by_key(|open| open.number);
        open
    }

    pub fn open_ask(&self, id: &AskId) -> Option<&OpenAsk> {
        self.asks.get(id)
    }

    pub(crate) fn open(&mut self, open: OpenAsk) {
        self.asks.insert(open.ask.id.clone(), open);
    }

    /// Returns the open ask with this number.
    pub(crate) fn numbered(&self, number: u32) -> Option<&OpenAsk> {
        self.asks.values().find(|open| open.number == number)
    }

    /// Closes an ask, and returns it if it was open. The agent goes on, which is a sign of work.
    pub(crate) fn close(&mut self, id: &AskId, at: Timestamp) -> Option<OpenAsk> {
        self.last_work = self.last_work.max(Some(at));
        let open = self.asks.remove(id)?;
        self.closed.push_back(id.clone());
        if self.closed.len() > CLOSED_KEPT {
            self.closed.pop_front();
        }
        // The earlier claims of other sources were about the same dialog.
        self.latest.retain(|_, signal| match &signal.reading {
            Reading::Asking { question } => !(is_generic(question) || open.ask.is_worded(question)),
            _ => true,
        });
        Some(open)
    }

    /// Returns true if an ask of that time is over: it was closed, or a turn has ended since.
    pub(crate) fn is_over(&self, id: &AskId, at: Timestamp) -> bool {
        let rests_since = |signal: &Signal| signal.reading == Reading::Idle && signal.at > at;
        self.closed.contains(id) || self.latest.values().any(rests_since)
    }

    /// Records a signal, and returns the asks that it closes.
    pub(crate) fn record(&mut self, signal: &Signal) -> Vec<OpenAsk> {
        // At the end of a turn no ask of it is open, also if no report of that has arrived.
        let is_over = |open: &OpenAsk| signal.reading == Reading::Idle && open.since < signal.at;
        let closed = self.asks.extract_if(.., |_, open| is_over(open)).map(|(_, open)| open).collect();
        match &signal.reading {
            Reading::HumanTyped => {
                self.human_typed = self.human_typed.max(Some(signal.at));
                return closed;
            }
            Reading::Working { .. } | Reading::Alive { busy: true } => {
                self.last_work = self.last_work.max(Some(signal.at));
            }
            _ => {}
        }
        self.latest.insert(signal.source, signal.clone());
        closed
    }
}
