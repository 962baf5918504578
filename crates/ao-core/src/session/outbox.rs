//! Messages to an agent, from the moment somebody wants to say something until the agent has provably read it.
//!
//! ```text
//!  send ─► queued ──(quiet point)──► delivery: writing ─► written ──(proof that carries our text)──► accepted
//!             ▲                          │    ▲              │
//!             └──────── (paused) ◄───────┘    └── retried ◄──┘ (no proof in time) ── tries spent ──► failed
//! ```
//!
//! One delivery is under way at a time, so order holds. News that waits is gathered into one delivery. Writing cannot be
//! undone, so every try after the first tells the adapter to find out first whether an earlier one got through.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Phase, Session};
use crate::evidence::Activity;
use crate::incident::IncidentKey;
use crate::settings::Settings;
use crate::{Attempt, Timestamp};

/// The most that one delivery carries; what does not fit waits for the next quiet point.
pub(super) const DELIVERY_BYTES: usize = 32 * 1024;
/// How many failed messages stay in memory with their text; the log keeps all of them.
const FAILED_KEPT: usize = 20;
/// How many turns are remembered, to tell an old proof that comes late from a new one.
const TURNS_KEPT: usize = 16;
/// How many senders' keys are remembered, to tell a repeated request from a new message.
const KEYS_KEPT: usize = 64;

/// Something somebody wants to say to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub from: Sender,
    pub kind: MessageKind,
    pub body: String,
    /// Goes ahead of the others, and into a running turn.
    pub interrupt: bool,
    /// The sender's own key; a second message with it is the same message.
    pub key: Option<String>,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Person(String),
    Session(crate::SessionId),
    Daemon,
}

/// What a message is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The task itself, the first message of a conversation.
    Task,
    Text,
    /// News about an incident; gathered with other news.
    News {
        incident: IncidentKey,
    },
}

/// A message in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub no: u32,
    pub from: Sender,
    pub kind: MessageKind,
    pub body: String,
    pub interrupt: bool,
    pub key: Option<String>,
    pub queued: Timestamp,
}

/// Where a message is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    Queued,
    Written,
    Accepted,
    Failed { why: String },
}

/// One or more messages on their way as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub no: u32,
    pub messages: Vec<Message>,
    pub text: String,
    pub interrupt: bool,
    /// How often it was written, the present try included.
    pub tries: u32,
    /// How often it was put off at the last moment.
    pub pauses: u32,
    /// The launch of this attempt carries it.
    pub with_launch: Option<Attempt>,
    pub stage: Stage,
}

/// How far a delivery has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Stage {
    Writing,
    Written {
        proof_by: Timestamp,
    },
    /// `counts` if the try that failed is to be counted; being barred by a dialog is not a failure.
    Paused {
        until: Timestamp,
        counts: bool,
    },
}

/// The messages of a session that are not yet history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outbox {
    pub waiting: VecDeque<Message>,
    pub current: Option<Delivery>,
    /// The last few that failed, with their text, so that nothing said is lost.
    pub failed: VecDeque<(Message, String)>,
    pub accepted: u32,
    next_message: u32,
    next_delivery: u32,
    keys: VecDeque<(String, u32)>,
    /// The turns that have proven something. Each proves one delivery, however often it is told.
    turns: VecDeque<String>,
}

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    NotRunning,
    Held,
    Busy,
    DialogOpen,
    Limited,
    /// Nothing is typed at an agent of which we know nothing.
    Unknown,
    PersonTyping {
        until: Timestamp,
    },
}

/// What the outbox does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    At(Timestamp),
    Start,
    Retry,
    GiveUp,
}

/// Whether a text that the agent took carries ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Yes,
    No,
}

impl Outbox {
    pub fn message_no(&self) -> u32 {
        self.next_message.saturating_add(1)
    }

    /// The message that was sent with this key before, if it was.
    pub fn sent_with(&self, key: &str) -> Option<u32> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, no)| *no)
    }

    /// Takes the next messages that go out together, as the delivery they would make.
    pub(super) fn compose(&self, stage: Stage, with_launch: Option<Attempt>) -> Option<Delivery> {
        let first = match self.waiting.iter().find(|message| message.interrupt) {
            Some(urgent) => urgent,
            None => self.waiting.front()?,
        };
        let mut messages = vec![first.clone()];
        if !first.interrupt && matches!(first.kind, MessageKind::News { .. }) {
            let mut size = first.body.len();
            for message in self.waiting.iter().skip(1) {
                size += message.body.len() + 2;
                // Only what stands next in line may join: gathering must not change the order.
                if !matches!(message.kind, MessageKind::News { .. })
                    || message.interrupt
                    || size > DELIVERY_BYTES
                {
                    break;
                }
                messages.push(message.clone());
            }
        }
        let text = messages.iter().map(|message| message.body.as_str()).collect::<Vec<_>>().join("\n\n");
        Some(Delivery {
            no: self.next_delivery.saturating_add(1),
            interrupt: first.interrupt,
            messages,
            text,
            tries: 1,
            pauses: 0,
            with_launch,
            stage,
        })
    }

    /// News about the same incident that waits and would be out of date beside newer news.
    pub(super) fn outdated_by(&self, kind: &MessageKind) -> Option<u32> {
        matches!(kind, MessageKind::News { .. })
            .then(|| self.waiting.iter().find(|message| message.kind == *kind))
            .flatten()
            .map(|message| message.no)
    }

    pub(super) fn queue(&mut self, message: &Message, replaces: Option<u32>) {
        self.next_message = self.next_message.max(message.no);
        if let Some(replaced) = replaces {
            self.withdraw(replaced);
        }
        if let Some(key) = &message.key {
            self.keys.push_back((key.clone(), message.no));
            if self.keys.len() > KEYS_KEPT {
                self.keys.pop_front();
            }
        }
        if message.kind == MessageKind::Task {
            self.waiting.push_front(message.clone());
        } else {
            self.waiting.push_back(message.clone());
        }
    }

    pub(super) fn withdraw(&mut self, no: u32) {
        self.waiting.retain(|message| message.no != no);
    }

    /// Puts the current delivery's messages back to the front of the line, as if it had never been tried.
    pub(super) fn unsend(&mut self) {
        for message in
            self.current.take().map(|delivery| delivery.messages).unwrap_or_default().into_iter().rev()
        {
            self.waiting.push_front(message);
        }
    }

    pub(super) fn start(&mut self, delivery: &Delivery) {
        self.next_delivery = delivery.no;
        self.waiting.retain(|message| !delivery.messages.iter().any(|taken| taken.no == message.no));
        self.current = Some(delivery.clone());
    }

    /// Whether a turn has proven an earlier delivery.
    pub(super) fn proved_by(&self, turn: &str) -> bool {
        self.turns.iter().any(|known| known == turn)
    }

    fn remember(&mut self, turn: &str) {
        self.turns.push_back(turn.to_owned());
        if self.turns.len() > TURNS_KEPT {
            self.turns.pop_front();
        }
    }

    pub(super) fn take_after_all(&mut self, messages: &[u32], turn: &str) {
        self.remember(turn);
        self.failed.retain(|(message, _)| !messages.contains(&message.no));
        self.accepted = self.accepted.saturating_add(messages.len() as u32);
    }

    pub(super) fn accept(&mut self, delivery: u32, turn: &str) {
        self.remember(turn);
        if let Some(done) = self.current.take_if(|current| current.no == delivery) {
            self.accepted = self.accepted.saturating_add(done.messages.len() as u32);
        }
    }

    pub(super) fn fail(&mut self, delivery: u32, why: &str) {
        if let Some(failed) = self.current.take_if(|current| current.no == delivery) {
            self.keep_failed(failed.messages, why);
        }
    }

    /// Gives up on everything that has not been accepted, and keeps the text.
    pub(super) fn drop_all(&mut self, why: &str) {
        let current = self.current.take().map(|delivery| delivery.messages).unwrap_or_default();
        self.keep_failed(current, why);
        let waiting = std::mem::take(&mut self.waiting);
        self.keep_failed(waiting, why);
    }

    fn keep_failed(&mut self, messages: impl IntoIterator<Item = Message>, why: &str) {
        self.failed.extend(messages.into_iter().map(|message| (message, why.to_owned())));
        while self.failed.len() > FAILED_KEPT {
            self.failed.pop_front();
        }
    }

    pub(super) fn waits_for_task(&self) -> bool {
        let current = self.current.iter().flat_map(|delivery| &delivery.messages);
        self.waiting.iter().chain(current).any(|message| message.kind == MessageKind::Task)
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }
}

impl Session {
    /// Whether something may be said to the agent now, and if not, why not.
    pub fn quiet(&self, interrupt: bool, now: Timestamp, settings: &Settings) -> Result<(), Wait> {
        if !matches!(self.phase, Phase::Running { .. }) {
            return Err(Wait::NotRunning);
        }
        if !self.holds.is_empty() {
            return Err(Wait::Held);
        }
        match self.judgement.activity {
            Activity::Idle => {}
            Activity::Working | Activity::Starting if interrupt || self.spec.agent.abilities.steer => {}
            Activity::Working | Activity::Starting => return Err(Wait::Busy),
            Activity::NeedsInput => return Err(Wait::DialogOpen),
            Activity::RateLimited => return Err(Wait::Limited),
            // An agent that says it is blocked sits at its prompt; a message may be just what it waits for.
            Activity::Blocked => {}
            Activity::Exited => return Err(Wait::NotRunning),
            Activity::Unknown => return Err(Wait::Unknown),
        }
        match self.evidence.human_typed.map(|typed| typed + settings.human_quiet) {
            Some(until) if now < until => Err(Wait::PersonTyping { until }),
            _ => Ok(()),
        }
    }

    pub(super) fn outbox_next(&self, now: Timestamp, settings: &Settings) -> Next {
        let Some(delivery) = &self.outbox.current else {
            let Some(interrupt) =
                self.outbox.waiting.iter().map(|message| message.interrupt).reduce(|a, b| a || b)
            else {
                return Next::Nothing;
            };
            return match self.quiet(interrupt, now, settings) {
                Ok(()) => Next::Start,
                Err(Wait::PersonTyping { until }) => Next::At(until),
                Err(_) => Next::Nothing,
            };
        };
        let (wait_until, spent) = match &delivery.stage {
            Stage::Writing => return Next::Nothing,
            Stage::Written { proof_by } => (*proof_by, delivery.tries >= settings.delivery_tries),
            // One more than the limit: after a restart somebody has to look whether the last one got through.
            Stage::Paused { until, .. } => (*until, delivery.tries > settings.delivery_tries),
        };
        match self.quiet(delivery.interrupt, now, settings) {
            Ok(()) if now < wait_until => Next::At(wait_until),
            Ok(()) if spent => Next::GiveUp,
            Ok(()) => Next::Retry,
            Err(Wait::PersonTyping { until }) => Next::At(until.max(wait_until)),
            Err(_) => Next::Nothing,
        }
    }
}

/// Whether a text that the agent took as a user's turn carries the text of a delivery.
///
/// Agents reflow what they are given: line ends, indentation and trailing space may differ, words may not. A hook that
/// fires for somebody else's text proves nothing.
pub fn carries(taken: &str, ours: &str) -> Carries {
    let mut ours = ours.split_whitespace().peekable();
    if ours.peek().is_none() {
        return Carries::No;
    }
    let ours: Vec<&str> = ours.collect();
    let taken: Vec<&str> = taken.split_whitespace().collect();
    if taken.windows(ours.len()).any(|window| window == ours) { Carries::Yes } else { Carries::No }
}

/// How long to wait before trying again: doubles, and ends at a minute.
pub(crate) fn backoff(tries: u32) -> Duration {
    Duration::from_secs(1 << tries.min(6)).min(Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_with_all_our_words_in_order_is_proof() {
        assert_eq!(carries("CI failed:\r\n  test a", "CI failed:\n test a\n"), Carries::Yes);
        assert_eq!(carries("<note> CI failed: test a </note>", "CI failed: test a"), Carries::Yes);
        assert_eq!(carries("CI failed:", "CI failed: test a"), Carries::No);
        assert_eq!(carries("a scheduled reminder", "CI failed: test a"), Carries::No);
        assert_eq!(carries("anything", "  "), Carries::No);
    }
}
