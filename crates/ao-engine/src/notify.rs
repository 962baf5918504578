//! Sends notices, on each channel separately.

use std::time::Duration;

use ao_core::notice::{Notice, NoticeInput};
use ao_ports::NotifyError;

use crate::slots::AdapterSet;

/// The timeout of one notifier.
const NOTIFIER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the channels that a notice is for.
pub(crate) fn address(notice: &Notice, slots: &AdapterSet) -> NoticeInput {
    let named = notice.channel.as_ref().filter(|named| slots.notifiers.contains_key(*named));
    let channels = match (named, &notice.channel) {
        (Some(named), _) => vec![named.clone()],
        (None, missing) => {
            if let Some(channel) = missing {
                tracing::warn!(notice = %notice.id, channel, "there is no such channel; told on those for its level");
            }
            let takes = slots.notifiers.iter().filter(|(_, notifier)| notifier.takes(notice));
            takes.map(|(name, _)| name.clone()).collect()
        }
    };
    NoticeInput::Addressed { tries: notice.tries, channels }
}

/// Sends a notice on one channel.
pub(crate) async fn tell(notice: &Notice, channel: String, slots: &AdapterSet) -> NoticeInput {
    let tries = notice.tries_on(Some(&channel));
    let told = match slots.notifiers.get(&channel) {
        Some(notifier) => tokio::time::timeout(NOTIFIER_TIMEOUT, notifier.notify(notice))
            .await
            .unwrap_or_else(|_| Err(NotifyError::Failed("it did not answer in time".into()))),
        None => Err(NotifyError::Failed("there is no such channel any more".into())),
    };
    let (why, wait) = match told {
        Ok(()) => return NoticeInput::Told { channel, tries },
        Err(NotifyError::Held { until, hold }) => return NoticeInput::Held { channel, tries, until, hold },
        Err(err @ NotifyError::Later(wait)) => (err.to_string(), Some(wait)),
        Err(NotifyError::Failed(why)) => (why, None),
    };
    tracing::warn!(notice = %notice.id, channel, why, "notice not told");
    NoticeInput::Failed { channel: Some(channel), tries, why, wait }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use ao_core::incident::Subject;
    use ao_core::notice::{NoticeHold, NoticeLevel};
    use ao_core::{NoticeId, Timestamp};
    use ao_ports::Notifier;
    use async_trait::async_trait;

    use super::*;

    #[derive(Clone)]
    enum Channel {
        Takes,
        NotMine,
        Hangs,
        Says(NotifyError),
    }

    #[async_trait]
    impl Notifier for Channel {
        fn takes(&self, _: &Notice) -> bool {
            !matches!(self, Channel::NotMine)
        }

        async fn notify(&self, _: &Notice) -> Result<(), NotifyError> {
            match self {
                Channel::Takes | Channel::NotMine => Ok(()),
                Channel::Hangs => pending().await,
                Channel::Says(err) => Err(err.clone()),
            }
        }
    }

    fn slots(channels: &[(&str, Channel)]) -> AdapterSet {
        let plug = |(name, channel): &(&str, Channel)| {
            ((*name).to_owned(), Arc::new(channel.clone()) as Arc<dyn Notifier>)
        };
        AdapterSet { notifiers: channels.iter().map(plug).collect(), ..AdapterSet::default() }
    }

    fn notice(channel: Option<&str>) -> Notice {
        Notice {
            channel: channel.map(str::to_owned),
            ..Notice::new(NoticeId(1), NoticeLevel::Urgent, Subject::Host, "1", "may I?")
        }
    }

    fn addressed(channel: Option<&str>, slots: &AdapterSet) -> Vec<String> {
        match address(&notice(channel), slots) {
            NoticeInput::Addressed { tries: 0, channels } => channels,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_notice_is_for_those_that_take_it_or_for_the_one_that_it_names() {
        let slots = slots(&[("desk", Channel::Takes), ("ops", Channel::NotMine), ("team", Channel::Takes)]);
        assert_eq!(addressed(None, &slots), ["desk", "team"]);
        assert_eq!(addressed(Some("ops"), &slots), ["ops"], "it is for nobody else, whatever they take");
        assert_eq!(addressed(Some("gone"), &slots), ["desk", "team"], "better there than nowhere");
        assert!(addressed(None, &AdapterSet::default()).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_channel_says_is_what_the_core_hears() {
        let until = Timestamp(7);
        let held = NotifyError::Held { until, hold: NoticeHold::Quiet };
        let later = NotifyError::Later(Duration::from_secs(7));
        let slots = slots(&[
            ("takes", Channel::Takes),
            ("hangs", Channel::Hangs),
            ("sleeps", Channel::Says(held)),
            ("busy", Channel::Says(later)),
            ("broken", Channel::Says(NotifyError::Failed("it is down".into()))),
        ]);
        let told = async |channel: &str| tell(&notice(None), channel.to_owned(), &slots).await;
        let failed = |channel: &str, why: &str, wait| NoticeInput::Failed {
            channel: Some(channel.into()),
            tries: 0,
            why: why.into(),
            wait,
        };
        assert_eq!(told("takes").await, NoticeInput::Told { channel: "takes".into(), tries: 0 });
        let held = NoticeInput::Held { channel: "sleeps".into(), tries: 0, until, hold: NoticeHold::Quiet };
        assert_eq!(told("sleeps").await, held);
        assert_eq!(told("hangs").await, failed("hangs", "it did not answer in time", None));
        let wait = Some(Duration::from_secs(7));
        assert_eq!(told("busy").await, failed("busy", "the channel asks to wait 7 s", wait));
        assert_eq!(told("broken").await, failed("broken", "it is down", None));
        assert_eq!(told("gone").await, failed("gone", "there is no such channel any more", None));
    }
}
