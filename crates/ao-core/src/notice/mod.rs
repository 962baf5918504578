//! Notices for people: each is sent once, with a reason, and with a record of its delivery.
//!
//! A notice proceeds on each channel separately, so that a channel that hangs, is quiet or fails delays nothing but
//! itself. The notifiers know the channels, their quiet hours and their digests; this module records their answers.

mod gather;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::incident::{IncidentKey, IncidentKind, Subject};
use crate::state::State;
use crate::text::word_enum;
use crate::{Moment, NoticeId, ProjectId, Timestamp, session};

/// The factor on the number of tries for a channel that names the time of its next try.
const PATIENT: u32 = 20;
/// The shortest wait that a channel can ask for, so that it is not called in a loop.
const SHORTEST_HOLD: Duration = Duration::from_secs(1);

/// A text for people, until every channel that it is for has taken it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub id: NoticeId,
    pub level: NoticeLevel,
    pub subject: Subject,
    pub text: String,
    /// The one channel that it goes to; if absent, those for its level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// A second notice with the same key is dropped.
    pub key: String,
    /// The number of tries to find its channels, and the time of the next one.
    pub tries: u32,
    pub again_at: Option<Timestamp>,
    /// The subject, as fields that links and commands are built from.
    #[serde(default, skip_serializing_if = "NoticeContext::is_empty")]
    pub about: NoticeContext,
    /// The problem that it reports. Once that is resolved, the notice is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<IncidentKey>,
    /// The number of notices that this one combines, if it does.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gathered: u32,
    /// The channels that have yet to take it; absent until they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<BTreeMap<String, ChannelProgress>>,
    /// The channels that were given up on, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
    /// A channel has taken it, alone or combined with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// The subject of a notice, with the fields to find it by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NoticeContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The name of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The URL of the pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<String>,
}

/// The progress of a notice on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelProgress {
    pub tries: u32,
    pub again_at: Option<Timestamp>,
    /// The reason why it waits, if not for a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<NoticeHold>,
    /// The time since which it waits for others of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_since: Option<Timestamp>,
}

/// The reason why a channel does not take a notice yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeHold {
    /// It is quiet time.
    Quiet,
    /// It is sent together with others.
    Digest,
    /// Others of its kind may follow soon, and are then sent with it.
    Burst,
}

word_enum! {
    /// The urgency of a notice.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum NoticeLevel {
        Info = "info",
        Warning = "warning",
        Action = "action",
        Urgent = "urgent",
    }
}

/// The latest results of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelRecord {
    pub told_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    /// The reason of the last failure.
    pub why: String,
    /// The time of its last burst.
    pub burst_at: Option<Timestamp>,
}

/// A notice that is to be sent. A second one with the same key is the same notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    pub level: NoticeLevel,
    pub subject: Subject,
    pub key: String,
    pub text: String,
    /// The incident that it reports.
    pub incident: Option<IncidentKey>,
    /// The one channel that it goes to, if not those for its level.
    pub channel: Option<String>,
}

impl NewNotice {
    pub fn new(
        level: NoticeLevel,
        subject: Subject,
        key: impl Into<String>,
        text: impl Into<String>,
    ) -> NewNotice {
        NewNotice { level, subject, key: key.into(), text: text.into(), incident: None, channel: None }
    }
}

/// An input for a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeInput {
    /// These channels are to take it.
    Addressed { tries: u32, channels: Vec<String> },
    /// A channel has taken it.
    Told { channel: String, tries: u32 },
    /// `wait` is the delay that the channel asked for, if it did. Without a channel, the channels themselves could
    /// not be found.
    Failed { channel: Option<String>, tries: u32, why: String, wait: Option<Duration> },
    /// The channel takes it later.
    Held { channel: String, tries: u32, until: Timestamp, hold: NoticeHold },
    /// The reported problem is resolved.
    Withdraw { why: String },
    /// A delay or a hold is over.
    Due,
}

/// An event of a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "an event is made once and moved rarely")]
pub enum NoticeEvent {
    /// It is to be sent.
    Raised { notice: Notice },
    /// Its channels are known.
    Addressed { channels: Vec<String> },
    /// One channel has taken it.
    Told { channel: String },
    /// All channels have taken it.
    Sent {},
    /// It is tried again at that time.
    Delayed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        why: String,
        again_at: Timestamp,
    },
    /// The channel takes it later.
    Held { channel: String, until: Timestamp, hold: NoticeHold },
    /// The hold has ended.
    Released { channel: String },
    /// The delay is over.
    Retried {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// On this channel it was combined into another notice.
    Gathered { channel: String, into: NoticeId },
    /// One channel was given up on.
    Missed { channel: String, why: String },
    /// It was not sent where it still waited, because the problem is resolved.
    Withdrawn { why: String },
    /// At least one channel did not take it.
    GivenUp { why: String },
}

impl Notice {
    /// Returns a notice that has not been sent yet.
    pub fn new(id: NoticeId, level: NoticeLevel, subject: Subject, key: &str, text: &str) -> Notice {
        Notice {
            id,
            level,
            subject,
            text: text.to_owned(),
            channel: None,
            key: key.to_owned(),
            tries: 0,
            again_at: None,
            about: NoticeContext::default(),
            incident: None,
            gathered: 0,
            ways: None,
            missed: vec![],
            told: false,
        }
    }

    /// Returns the number of tries on a channel or, without one, to find the channels.
    pub fn tries_on(&self, channel: Option<&str>) -> u32 {
        match channel {
            Some(channel) => self.way(channel).map_or(0, |way| way.tries),
            None => self.tries,
        }
    }

    /// Returns the time of the next step.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let ways = self.ways.iter().flatten().filter_map(|(_, way)| way.again_at);
        self.again_at.into_iter().chain(ways).min()
    }

    /// Returns the channels that it goes to now; one `None` if its channels have to be found first.
    pub(crate) fn ready(&self) -> Vec<Option<String>> {
        match &self.ways {
            None if self.again_at.is_none() => vec![None],
            None => vec![],
            Some(ways) => {
                let ready = ways.iter().filter(|(_, way)| way.again_at.is_none());
                ready.map(|(channel, _)| Some(channel.clone())).collect()
            }
        }
    }

    /// Returns whether many of its kind may come at once: when agents finish together, all their changes wait for one
    /// person.
    fn comes_in_bursts(&self) -> bool {
        self.channel.is_none()
            && self.incident.as_ref().is_some_and(|key| key.kind == IncidentKind::ReviewNeeded)
    }

    /// Returns whether it waits on a channel for others of its kind.
    pub(crate) fn awaits_others(&self, channel: &str) -> bool {
        self.way(channel).is_some_and(|way| way.held == Some(NoticeHold::Burst))
    }

    fn way(&self, channel: &str) -> Option<&ChannelProgress> {
        self.ways.as_ref()?.get(channel)
    }

    /// Returns whether it ends when this channel is done with it.
    fn ends_with(&self, channel: &str) -> bool {
        self.ways.as_ref().is_some_and(|ways| ways.keys().all(|known| known == channel))
    }
}

impl NoticeContext {
    pub fn is_empty(&self) -> bool {
        *self == NoticeContext::default()
    }

    /// Gathers the fields of a subject.
    pub(crate) fn of(state: &State, subject: &Subject) -> NoticeContext {
        let session = match subject {
            Subject::Host => return NoticeContext::default(),
            Subject::Project(project) => {
                return NoticeContext { project: Some(project.clone()), ..NoticeContext::default() };
            }
            Subject::Session(id) => state.sessions.get(id),
            Subject::Pull(id) => {
                state.pulls.get(id).and_then(|pull| pull.owner).and_then(|owner| state.sessions.get(&owner))
            }
        };
        let (pull, project) = match subject {
            Subject::Pull(id) => (Some(id), Some(id.project.clone())),
            _ => (
                session.and_then(|session| session.pulls.iter().next_back()),
                session.map(|session| session.spec.project.clone()),
            ),
        };
        let address = pull.and_then(|pull| state.pulls.get(pull)).map(|pull| pull.facts.url.clone());
        NoticeContext {
            project,
            session: session.map(|session| session.spec.name.clone()),
            pull: address.filter(|address| !address.is_empty()),
        }
    }
}

/// Returns true if a notice of such an incident is withdrawn once the incident is over. A merge is still news the morning
/// after.
pub(crate) fn is_withdrawn(kind: &IncidentKind) -> bool {
    use IncidentKind as K;
    !matches!(kind, K::PrMerged | K::PrClosed | K::AllComplete | K::LabelAdded | K::Custom(_))
}

pub(crate) fn decide(state: &State, notice: &Notice, moment: &Moment, input: NoticeInput) -> Vec<Event> {
    let now = moment.at;
    let this = |event| Event::Notice(notice.id, event);
    let waits_for = |channel: &str, tries| {
        notice.way(channel).is_some_and(|way| way.tries == tries && way.again_at.is_none())
    };
    match input {
        NoticeInput::Addressed { tries, channels } if notice.ways.is_none() && tries == notice.tries => {
            let nobody = channels.is_empty().then_some(NoticeEvent::Sent {});
            let burst = channels.iter().filter(|_| notice.comes_in_bursts());
            let held: Vec<NoticeEvent> =
                burst.map(|channel| gather::await_others(state, channel, now)).collect();
            let events = [NoticeEvent::Addressed { channels }].into_iter().chain(held).chain(nobody);
            events.map(this).collect()
        }
        NoticeInput::Told { channel, tries } if waits_for(&channel, tries) => {
            let end = notice.ends_with(&channel).then(|| end(notice, None));
            [NoticeEvent::Told { channel }].into_iter().chain(end).map(this).collect()
        }
        NoticeInput::Failed { channel: None, tries, why, wait }
            if notice.ways.is_none() && tries == notice.tries =>
        {
            vec![this(if tries + 1 >= state.settings.notice_tries {
                NoticeEvent::GivenUp { why }
            } else {
                NoticeEvent::Delayed { channel: None, why, again_at: now + pause(tries, wait) }
            })]
        }
        NoticeInput::Failed { channel: Some(channel), tries, why, wait } if waits_for(&channel, tries) => {
            // A channel that names the time of its next try is not broken; it gets far more tries.
            let most = state.settings.notice_tries * if wait.is_some() { PATIENT } else { 1 };
            if tries + 1 >= most {
                let end = notice.ends_with(&channel).then(|| end(notice, Some(miss(&channel, &why))));
                [NoticeEvent::Missed { channel, why }].into_iter().chain(end).map(this).collect()
            } else {
                let again_at = now + pause(tries, wait);
                vec![this(NoticeEvent::Delayed { channel: Some(channel), why, again_at })]
            }
        }
        NoticeInput::Held { channel, tries, until, hold } if waits_for(&channel, tries) => {
            vec![this(NoticeEvent::Held { channel, until: until.max(now + SHORTEST_HOLD), hold })]
        }
        NoticeInput::Withdraw { why } => {
            let waits = notice.ways.iter().flatten().any(|(_, way)| way.again_at.is_some());
            waits.then(|| this(NoticeEvent::Withdrawn { why })).into_iter().collect()
        }
        NoticeInput::Due => {
            let again = notice.again_at.is_some_and(|at| at <= now);
            let mut events: Vec<Event> =
                again.then(|| this(NoticeEvent::Retried { channel: None })).into_iter().collect();
            let mut digests = 0;
            for (channel, way) in notice.ways.iter().flatten() {
                match way.held {
                    _ if way.again_at.is_none_or(|at| at > now) => {}
                    None => events.push(this(NoticeEvent::Retried { channel: Some(channel.clone()) })),
                    Some(NoticeHold::Burst) => {
                        events.extend(gather::release_burst(state, channel, now, &mut digests));
                    }
                    Some(NoticeHold::Quiet | NoticeHold::Digest) => {
                        events.extend(gather::release(state, channel, now, &mut digests));
                    }
                }
            }
            events
        }
        // A stale result of a try that was already counted.
        NoticeInput::Addressed { .. }
        | NoticeInput::Told { .. }
        | NoticeInput::Failed { .. }
        | NoticeInput::Held { .. } => vec![],
    }
}

/// Applies an event to a notice. Returns whether the notice has ended.
pub(crate) fn evolve(notice: &mut Notice, event: &NoticeEvent, at: Timestamp) -> bool {
    let mut without = |channel: &str| {
        let ways = notice.ways.get_or_insert_default();
        ways.remove(channel);
        ways.is_empty()
    };
    match event {
        NoticeEvent::Sent {} | NoticeEvent::GivenUp { .. } => return true,
        NoticeEvent::Gathered { channel, .. } => {
            let over = without(channel);
            notice.told = true;
            return over;
        }
        NoticeEvent::Withdrawn { .. } => {
            let ways = notice.ways.get_or_insert_default();
            ways.retain(|_, way| way.again_at.is_none());
            return ways.is_empty();
        }
        // The end of the notice is an event of its own.
        NoticeEvent::Told { channel } => {
            without(channel);
            notice.told = true;
        }
        NoticeEvent::Missed { channel, why } => {
            without(channel);
            notice.missed.push(miss(channel, why));
        }
        NoticeEvent::Addressed { channels } => {
            notice.ways =
                Some(channels.iter().map(|channel| (channel.clone(), ChannelProgress::default())).collect());
        }
        NoticeEvent::Delayed { channel: None, again_at, .. } => notice.again_at = Some(*again_at),
        NoticeEvent::Retried { channel: None } => {
            notice.again_at = None;
            notice.tries = notice.tries.saturating_add(1);
        }
        NoticeEvent::Delayed { channel: Some(channel), .. }
        | NoticeEvent::Held { channel, .. }
        | NoticeEvent::Released { channel }
        | NoticeEvent::Retried { channel: Some(channel) } => {
            if let Some(way) = notice.ways.get_or_insert_default().get_mut(channel) {
                evolve_way(way, event, at);
            }
        }
        NoticeEvent::Raised { .. } => {}
    }
    false
}

fn evolve_way(way: &mut ChannelProgress, event: &NoticeEvent, at: Timestamp) {
    match event {
        NoticeEvent::Delayed { again_at, .. } => way.again_at = Some(*again_at),
        NoticeEvent::Held { until, hold, .. } => {
            let held_since = (*hold == NoticeHold::Burst).then_some(way.held_since.unwrap_or(at));
            *way = ChannelProgress { again_at: Some(*until), held: Some(*hold), held_since, ..*way }
        }
        // Not counted, because nothing was tried.
        NoticeEvent::Released { .. } => {
            *way = ChannelProgress { tries: way.tries, ..ChannelProgress::default() }
        }
        NoticeEvent::Retried { .. } => {
            *way = ChannelProgress { tries: way.tries.saturating_add(1), ..ChannelProgress::default() };
        }
        _ => {}
    }
}

/// Returns the final event when the last channel is done with it.
fn end(notice: &Notice, missed: Option<String>) -> NoticeEvent {
    let missed: Vec<String> = notice.missed.iter().cloned().chain(missed).collect();
    if missed.is_empty() { NoticeEvent::Sent {} } else { NoticeEvent::GivenUp { why: missed.join("; ") } }
}

fn miss(channel: &str, why: &str) -> String {
    format!("`{channel}`: {why}")
}

fn pause(tries: u32, wait: Option<Duration>) -> Duration {
    session::backoff(tries).max(wait.unwrap_or_default())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
