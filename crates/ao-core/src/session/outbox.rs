//! Messages to an agent, from the request to send one until the agent has provably read it.
//!
//! ```text
//!  send ─► queued ──(quiet point)──► delivery: writing ─► written ──(a turn that is our text)──► accepted
//!             ▲                          │    ▲              │
//!             └──────── (paused) ◄───────┘    └── retried ◄──┘ (no proof in time) ── tries spent ──► failed
//! ```
//!
//! One delivery is under way at a time, so order holds; only an interrupt goes ahead of one that waits for its proof,
//! which is parked until then. News that waits is combined into one delivery. Writing cannot be undone, so every try
//! after the first asks the adapter to find out whether an earlier one got through.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Phase, Session};
use crate::evidence::AgentActivity;
use crate::incident::IncidentKey;
use crate::settings::DaemonSettings;
use crate::text::same_words;
use crate::{Attempt, Timestamp};

/// The largest size of one delivery; the rest waits for the next quiet point.
pub(super) const DELIVERY_BYTES: usize = 32 * 1024;
/// Number of failed messages that stay in memory with their text; the log keeps all of them.
const FAILED_KEPT: usize = 20;
/// Number of turns that are remembered, to know a late proof from a new one.
const TURNS_KEPT: usize = 16;
/// Number of senders' keys that are remembered, to know a repeated request from a new message.
const KEYS_KEPT: usize = 64;
/// Number of accepted messages that are remembered by number, for queries about them.
const TAKEN_KEPT: usize = 64;

/// A new message for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub from: Sender,
    pub kind: MessageKind,
    pub body: String,
    /// Goes ahead of the others, and into a running turn.
    pub interrupt: bool,
    /// The sender's own key; a second message with the same key is dropped.
    pub key: Option<String>,
}

impl NewMessage {
    /// Makes a text of the daemon itself, which is sent once per key.
    pub fn of_daemon(body: impl Into<String>, key: impl Into<String>) -> NewMessage {
        let (body, key) = (body.into(), Some(key.into()));
        NewMessage { from: Sender::Daemon, kind: MessageKind::Text, body, interrupt: false, key }
    }
}

/// The sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Person(String),
    Session(crate::SessionId),
    Daemon,
}

/// The subject of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The task itself, the first message of a conversation.
    Task,
    /// A text of a person or another session.
    Text,
    /// News about an incident; combined with other news.
    News { incident: IncidentKey },
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

/// One or more messages that are delivered as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub no: u32,
    pub messages: Vec<Message>,
    pub text: String,
    pub interrupt: bool,
    /// Times that it was written, the present try included.
    pub tries: u32,
    /// Times that it was put off at the last moment.
    pub pauses: u32,
    /// The launch of this attempt carries it.
    pub with_launch: Option<Attempt>,
    pub stage: DeliveryStage,
}

/// The progress of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum DeliveryStage {
    /// It is to be written.
    Writing,
    /// It was written; a proof is due by then.
    Written { proof_by: Timestamp },
    /// `counts` if the failed try is to be counted; being blocked by a dialog is not a failure.
    Paused { until: Timestamp, counts: bool },
}

/// The messages of a session that are not delivered yet, and recent results.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outbox {
    pub waiting: VecDeque<Message>,
    pub current: Option<Delivery>,
    /// Written but not proven when an interrupt came; continues after that.
    pub parked: Option<Delivery>,
    /// The last few failed messages with their text, so that no text is lost.
    pub failed: VecDeque<FailedMessage>,
    pub accepted: u32,
    next_message: u32,
    next_delivery: u32,
    keys: VecDeque<(String, u32)>,
    /// The last few accepted messages. Most messages that are in no list were accepted too, but so are some that were
    /// given up.
    taken: VecDeque<u32>,
    /// The turns that have proven a delivery. Each proves one, even if it is reported repeatedly.
    turns: VecDeque<String>,
}

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedMessage {
    pub message: Message,
    pub why: String,
    /// The whole text of its delivery, actual or intended, by which a late proof is recognized.
    pub text: String,
    /// The delivery that was given up with it; absent if it was never under way.
    pub delivery: Option<u32>,
}

/// The reason why a message waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageWait {
    /// The agent does not run.
    NotRunning,
    /// The session is on hold.
    Held,
    /// The agent works.
    Busy,
    /// The agent waits for an answer.
    DialogOpen,
    /// The provider refuses more work.
    Limited,
    /// Nothing is typed at an agent whose state is unknown.
    Unknown,
    /// A person types.
    PersonTyping { until: Timestamp },
}

/// The next step of an outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutboxStep {
    Nothing,
    At(Timestamp),
    Start,
    Retry,
    GiveUp,
}

impl Outbox {
    pub fn message_no(&self) -> u32 {
        self.next_message.saturating_add(1)
    }

    /// Returns the earlier message with this key, if there is one.
    pub fn sent_with(&self, key: &str) -> Option<u32> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, no)| *no)
    }

    /// Returns true if a message is known to have been accepted. One from long ago may have been forgotten.
    pub fn was_accepted(&self, no: u32) -> bool {
        self.taken.contains(&no)
    }

    /// Composes the task and all waiting messages as one text, for an agent that forgets everything with each process
    /// and takes only the text that it is started with. A message alone would lack its context, and a message for the
    /// next process would again wait behind the task.
    pub(super) fn compose_whole(
        &self,
        stage: DeliveryStage,
        with_launch: Option<Attempt>,
    ) -> Option<Delivery> {
        let (mut messages, mut size) = (Vec::new(), 0);
        for message in &self.waiting {
            size += message.body.len() + 2;
            // A message that is too large on its own is still sent, together with the task, which is always first.
            if size > DELIVERY_BYTES && messages.len() > 1 {
                break;
            }
            messages.push(message.clone());
        }
        (!messages.is_empty()).then(|| self.delivery(messages, false, stage, with_launch))
    }

    /// Composes the next messages that are delivered together.
    pub(super) fn compose(&self, stage: DeliveryStage, with_launch: Option<Attempt>) -> Option<Delivery> {
        let first = match self.waiting.iter().find(|message| message.interrupt) {
            Some(urgent) => urgent,
            None => self.waiting.front()?,
        };
        let mut messages = vec![first.clone()];
        if !first.interrupt && matches!(first.kind, MessageKind::News { .. }) {
            let mut size = first.body.len();
            for message in self.waiting.iter().skip(1) {
                size += message.body.len() + 2;
                // Only the next messages in line may join: combining must not change the order.
                if !matches!(message.kind, MessageKind::News { .. })
                    || message.interrupt
                    || size > DELIVERY_BYTES
                {
                    break;
                }
                messages.push(message.clone());
            }
        }
        Some(self.delivery(messages, first.interrupt, stage, with_launch))
    }

    fn delivery(
        &self,
        messages: Vec<Message>,
        interrupt: bool,
        stage: DeliveryStage,
        with_launch: Option<Attempt>,
    ) -> Delivery {
        let no = self.next_delivery.saturating_add(1);
        let text = messages.iter().map(|message| message.body.as_str()).collect::<Vec<_>>().join("\n\n");
        Delivery { no, messages, text, interrupt, tries: 1, pauses: 0, with_launch, stage }
    }

    /// Returns waiting news about the same incident that newer news would replace.
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
        for delivery in [self.current.take(), self.parked.take()].into_iter().flatten() {
            for message in delivery.messages.into_iter().rev() {
                self.waiting.push_front(message);
            }
        }
    }

    pub(super) fn start(&mut self, delivery: &Delivery) {
        self.next_delivery = delivery.no;
        self.waiting.retain(|message| !delivery.messages.iter().any(|taken| taken.no == message.no));
        let before = self.current.replace(delivery.clone()).filter(|before| before.no != delivery.no);
        self.parked = self.parked.take().or(before);
    }

    /// Returns true if a turn has proven an earlier delivery.
    pub(super) fn proved_by(&self, turn: &str) -> bool {
        self.turns.iter().any(|known| known == turn)
    }

    fn remember(&mut self, turn: &str) {
        self.turns.push_back(turn.to_owned());
        if self.turns.len() > TURNS_KEPT {
            self.turns.pop_front();
        }
    }

    /// Removes messages from the failed ones after a late proof. Returns whether the task was among them.
    pub(super) fn take_after_all(&mut self, messages: &[u32], turn: &str) -> bool {
        self.remember(turn);
        let late = |failed: &FailedMessage| messages.contains(&failed.message.no);
        let task = self.failed.iter().any(|failed| late(failed) && failed.message.kind == MessageKind::Task);
        self.failed.retain(|failed| !late(failed));
        self.count_accepted(messages.iter().copied());
        task
    }

    fn count_accepted(&mut self, messages: impl IntoIterator<Item = u32>) {
        for no in messages {
            self.accepted = self.accepted.saturating_add(1);
            self.taken.push_back(no);
            if self.taken.len() > TAKEN_KEPT {
                self.taken.pop_front();
            }
        }
    }

    /// Returns true if a delivery that is under way carries the task.
    pub(super) fn carries_task(&self, delivery: u32) -> bool {
        let current = self.under_way().filter(|current| current.no == delivery);
        current.flat_map(|current| &current.messages).any(|message| message.kind == MessageKind::Task)
    }

    /// Counts a delivery as accepted, and returns its messages.
    pub(super) fn accept(&mut self, delivery: u32, turn: &str) -> Vec<Message> {
        self.remember(turn);
        let messages = self.finish(delivery).map(|done| done.messages).unwrap_or_default();
        self.count_accepted(messages.iter().map(|message| message.no));
        messages
    }

    pub(super) fn fail(&mut self, delivery: u32, why: &str) {
        if let Some(failed) = self.finish(delivery) {
            self.keep_failed(failed.messages, why, Some((failed.no, &failed.text)));
        }
    }

    /// Removes a finished delivery; a parked one continues.
    fn finish(&mut self, delivery: u32) -> Option<Delivery> {
        let done = self
            .current
            .take_if(|current| current.no == delivery)
            .or_else(|| self.parked.take_if(|parked| parked.no == delivery));
        if self.current.is_none() {
            self.current = self.parked.take();
        }
        done
    }

    /// Gives up everything that has not been accepted, and keeps the text.
    pub(super) fn drop_all(&mut self, why: &str) {
        for delivery in [self.parked.take(), self.current.take()].into_iter().flatten() {
            self.keep_failed(delivery.messages, why, Some((delivery.no, &delivery.text)));
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.keep_failed(waiting, why, None);
    }

    fn keep_failed(
        &mut self,
        messages: impl IntoIterator<Item = Message>,
        why: &str,
        delivery: Option<(u32, &str)>,
    ) {
        self.failed.extend(messages.into_iter().map(|message| {
            let text = delivery.map_or(message.body.as_str(), |(_, text)| text).to_owned();
            FailedMessage { message, why: why.to_owned(), text, delivery: delivery.map(|(no, _)| no) }
        }));
        while self.failed.len() > FAILED_KEPT {
            self.failed.pop_front();
        }
    }

    pub(super) fn waits_for_task(&self) -> bool {
        let current = self.under_way().flat_map(|delivery| &delivery.messages);
        self.waiting.iter().chain(current).any(|message| message.kind == MessageKind::Task)
    }

    /// Returns the deliveries that are under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Delivery> {
        self.current.iter().chain(&self.parked)
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }
}

impl Session {
    /// Returns the reason why no message may be written to the agent now, if there is one.
    pub fn quiet(
        &self,
        interrupt: bool,
        now: Timestamp,
        settings: &DaemonSettings,
    ) -> Result<(), MessageWait> {
        if !matches!(self.phase, Phase::Running { .. }) {
            return Err(MessageWait::NotRunning);
        }
        if !self.holds.is_empty() {
            return Err(MessageWait::Held);
        }
        match self.judgement.activity {
            AgentActivity::Idle => {}
            AgentActivity::Working | AgentActivity::Starting
                if interrupt || self.spec.agent.abilities.steer => {}
            AgentActivity::Working | AgentActivity::Starting => return Err(MessageWait::Busy),
            AgentActivity::NeedsInput => return Err(MessageWait::DialogOpen),
            AgentActivity::RateLimited => return Err(MessageWait::Limited),
            // An agent that reports that it is blocked sits at its prompt; a message may be just what it waits for.
            AgentActivity::Blocked => {}
            AgentActivity::Exited => return Err(MessageWait::NotRunning),
            AgentActivity::Unknown => return Err(MessageWait::Unknown),
        }
        match self.evidence.human_typed.map(|typed| typed + settings.human_quiet) {
            Some(until) if now < until => Err(MessageWait::PersonTyping { until }),
            _ => Ok(()),
        }
    }

    pub(super) fn outbox_next(&self, now: Timestamp, settings: &DaemonSettings) -> OutboxStep {
        let Some(delivery) = &self.outbox.current else {
            let Some(interrupt) =
                self.outbox.waiting.iter().map(|message| message.interrupt).reduce(|a, b| a || b)
            else {
                return OutboxStep::Nothing;
            };
            return match self.quiet(interrupt, now, settings) {
                Ok(()) => OutboxStep::Start,
                Err(MessageWait::PersonTyping { until }) => OutboxStep::At(until),
                Err(_) => OutboxStep::Nothing,
            };
        };
        let urgent = self.outbox.waiting.iter().any(|message| message.interrupt);
        if urgent && !delivery.interrupt && delivery.stage != DeliveryStage::Writing {
            match self.quiet(true, now, settings) {
                Ok(()) => return OutboxStep::Start,
                Err(MessageWait::PersonTyping { until }) => return OutboxStep::At(until),
                Err(_) => {}
            }
        }
        let (wait_until, spent) = match &delivery.stage {
            DeliveryStage::Writing => return OutboxStep::Nothing,
            DeliveryStage::Written { proof_by } => (*proof_by, delivery.tries >= settings.delivery_tries),
            // One more than the limit: after a restart an extra try finds out whether the last one got through.
            DeliveryStage::Paused { until, .. } => (*until, delivery.tries > settings.delivery_tries),
        };
        match self.quiet(delivery.interrupt, now, settings) {
            Ok(()) if now < wait_until => OutboxStep::At(wait_until),
            Ok(()) if spent => OutboxStep::GiveUp,
            Ok(()) => OutboxStep::Retry,
            Err(MessageWait::PersonTyping { until }) => OutboxStep::At(until.max(wait_until)),
            Err(_) => OutboxStep::Nothing,
        }
    }
}

/// Returns true if a turn that the agent took is the text of a delivery, and nothing else.
///
/// Agents reflow what they are given: line ends, indentation and trailing space may differ, words may not. The whole turn is
/// compared: "fix it" by somebody else has the words of "fix" in it and proves nothing about that.
pub fn is_turn_of(taken: &str, ours: &str) -> bool {
    !ours.trim().is_empty() && same_words(taken, ours)
}

/// Returns the time to wait before the next try: doubles, up to a minute.
pub(crate) fn backoff(tries: u32) -> Duration {
    Duration::from_secs(1 << tries.min(6)).min(Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_turn_with_our_words_and_no_others_is_proof() {
        for (taken, ours, is_proof) in [
            ("CI failed:\r\n  test a", "CI failed:\n test a\n", true),
            ("fix", "fix", true),
            ("fix it", "fix", false),
            ("please fix", "fix", false),
            ("do not fix that", "fix", false),
            ("<note> CI failed: test a </note>", "CI failed: test a", false),
            ("CI failed:", "CI failed: test a", false),
            ("a scheduled reminder", "CI failed: test a", false),
            ("", "", false),
            ("  ", " ", false),
        ] {
            assert_eq!(is_turn_of(taken, ours), is_proof, "{taken:?} for {ours:?}");
        }
    }
}
