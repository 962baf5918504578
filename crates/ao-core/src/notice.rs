//! What people are told: once, with a reason, and with a record of whether it got through.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::incident::Subject;
use crate::session;
use crate::settings::Settings;
use crate::{Moment, NoticeId, Timestamp};

/// Something to tell a person, until a notifier has taken it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub id: NoticeId,
    pub level: Level,
    pub subject: Subject,
    pub text: String,
    /// The one channel that it goes to, if not those for its level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// A second notice with the same key is the same notice.
    pub key: String,
    pub tries: u32,
    pub again_at: Option<Timestamp>,
}

/// How soon a person should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Action,
    Urgent,
}

/// What can come in for a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeInput {
    Sent {
        tries: u32,
    },
    /// `wait` is how long a channel wants to be left alone, if one said so.
    Failed {
        tries: u32,
        why: String,
        wait: Option<Duration>,
    },
    Due,
}

/// What happened to a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeEvent {
    Raised { notice: Notice },
    Sent {},
    Delayed { why: String, again_at: Timestamp },
    Retried {},
    GivenUp { why: String },
}

pub(crate) fn decide(
    notice: &Notice,
    settings: &Settings,
    moment: &Moment,
    input: NoticeInput,
) -> Vec<NoticeEvent> {
    match input {
        NoticeInput::Sent { tries } if tries == notice.tries => vec![NoticeEvent::Sent {}],
        NoticeInput::Failed { tries, why, wait } if tries == notice.tries => {
            if notice.tries + 1 >= settings.notice_tries {
                vec![NoticeEvent::GivenUp { why }]
            } else {
                let pause = session::backoff(notice.tries).max(wait.unwrap_or_default());
                vec![NoticeEvent::Delayed { why, again_at: moment.at + pause }]
            }
        }
        NoticeInput::Due if notice.again_at.is_some_and(|at| at <= moment.at) => {
            vec![NoticeEvent::Retried {}]
        }
        // A late word about a try that we have already counted.
        NoticeInput::Sent { .. } | NoticeInput::Failed { .. } | NoticeInput::Due => vec![],
    }
}

/// Folds an event into a notice that goes on; the ones that end it are the state's to remove.
pub(crate) fn evolve(notice: &mut Notice, event: &NoticeEvent) {
    match event {
        NoticeEvent::Delayed { again_at, .. } => notice.again_at = Some(*again_at),
        NoticeEvent::Retried {} => {
            notice.again_at = None;
            notice.tries = notice.tries.saturating_add(1);
        }
        NoticeEvent::Raised { .. } | NoticeEvent::Sent {} | NoticeEvent::GivenUp { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(tries: u32, wait: Option<u64>) -> Duration {
        let notice = Notice {
            id: NoticeId(1),
            level: Level::Info,
            subject: Subject::Host,
            text: String::new(),
            channel: None,
            key: String::new(),
            tries,
            again_at: None,
        };
        let moment = Moment { at: Timestamp(1000), seed: 0 };
        let input = NoticeInput::Failed { tries, why: String::new(), wait: wait.map(Duration::from_secs) };
        match &decide(&notice, &Settings::default(), &moment, input)[..] {
            [NoticeEvent::Delayed { again_at, .. }] => again_at.since(moment.at),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_channel_that_wants_to_be_left_alone_is() {
        assert_eq!(pause(2, None), Duration::from_secs(4));
        assert_eq!(pause(2, Some(1)), Duration::from_secs(4));
        assert_eq!(pause(2, Some(90)), Duration::from_secs(90));
    }
}
