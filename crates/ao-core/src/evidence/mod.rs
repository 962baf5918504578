//! What an agent is doing, judged from what was seen of it.
//!
//! ```text
//!  protocol ─┐
//!  hooks ────┤   latest claim of each source       first rule that fits
//!  transcript┼──────────────► Evidence ──── judge(now) ────► Judgement { activity, rule, … }
//!  terminal ─┤
//!  process ──┘
//! ```
//!
//! No source is believed alone for ever: a lost "stop" is healed by a later look at the screen, and a look that shows
//! nothing leaves `unknown`, not a guess. Waiting for a person never decays by the clock.

mod judge;
mod signal;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Attempt, Timestamp};

pub(crate) use judge::next_change;
pub use judge::{Activity, Judgement, Rule, judge, same_question};
pub use signal::{Confidence, Reading, Signal, Source};

/// A repeated signal within this time tells nothing new.
const REPEAT: Duration = Duration::from_secs(10);

/// A repeated claim to be working renews the one before at most this often: a busy agent makes many of them a second.
const RENEWED: Duration = Duration::from_secs(1);
/// The same for other claims, which an agent has no reason to repeat.
const SAID_AGAIN: Duration = Duration::from_millis(250);

/// The latest that each source has seen of the current attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    pub attempt: Attempt,
    /// When the attempt's process was started.
    pub since: Timestamp,
    latest: BTreeMap<Source, Signal>,
    /// Kept apart from the terminal's readings, because typing says nothing about what the agent does.
    pub human_typed: Option<Timestamp>,
    /// The last time anything showed the agent at work.
    pub last_work: Option<Timestamp>,
}

/// What a new signal adds to the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    News,
    /// Older than what the same source has already said.
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

    pub fn from(&self, source: Source) -> Option<&Signal> {
        self.latest.get(&source)
    }

    /// Says whether a signal is worth recording.
    pub fn weigh(&self, signal: &Signal) -> Weight {
        if signal.reading == Reading::HumanTyped {
            return match self.human_typed {
                Some(before) if signal.at < before => Weight::Late,
                // Each key press counts while a person types, but one a second is enough to hold a message back.
                Some(before) if signal.at.since(before) < Duration::from_secs(1) => Weight::Repeat,
                _ => Weight::News,
            };
        }
        match self.latest.get(&signal.source) {
            Some(before) if signal.at < before.at => Weight::Late,
            Some(before) if before.reading == signal.reading && signal.at == before.at => Weight::Repeat,
            // Alive and at rest, and nobody has said anything else since: a census every half minute must not fill the log, and
            // must not take turns with an agent that says as often that it rests.
            Some(before)
                if before.reading == (Reading::Alive { busy: false })
                    && before.reading == signal.reading
                    && self
                        .latest
                        .values()
                        .all(|other| other.at <= before.at || other.reading == Reading::Idle) =>
            {
                Weight::Repeat
            }
            // Said again while nobody believes it yet: its time may have come.
            Some(before) if before.reading.is_claim() && !judge::is_believed(self, before) => Weight::News,
            // It renews the one before: what is told late, of a time between the two, must not beat it.
            Some(before) if before.reading.same_kind(&signal.reading) && before.reading.is_claim() => {
                let is_work = matches!(signal.reading, Reading::Working { .. });
                let renews = signal.at.since(before.at) >= if is_work { RENEWED } else { SAID_AGAIN };
                if renews { Weight::News } else { Weight::Repeat }
            }
            Some(before)
                if before.reading.same_kind(&signal.reading) && signal.at.since(before.at) < REPEAT =>
            {
                Weight::Repeat
            }
            _ => Weight::News,
        }
    }

    pub(crate) fn record(&mut self, signal: &Signal) {
        match &signal.reading {
            Reading::HumanTyped => {
                self.human_typed = self.human_typed.max(Some(signal.at));
                return;
            }
            Reading::Working { .. } | Reading::Alive { busy: true } => {
                self.last_work = self.last_work.max(Some(signal.at));
            }
            _ => {}
        }
        self.latest.insert(signal.source, signal.clone());
    }
}
