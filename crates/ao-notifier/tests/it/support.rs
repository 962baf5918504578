//! Notices and channels for the tests.

use std::collections::BTreeMap;

use ao_core::incident::Subject;
use ao_core::notice::{Level, Notice};
use ao_core::{NoticeId, SessionId};
use ao_notifier::{Channel, ChannelError};

pub(crate) fn notice(level: Level, text: &str) -> Notice {
    Notice {
        channel: None,
        id: NoticeId(1),
        level,
        subject: Subject::Session(SessionId(0x4f)),
        text: text.into(),
        key: "ses_4f delivery 2".into(),
        tries: 0,
        again_at: None,
    }
}

/// A channel named `team`, in an environment with nothing in it.
pub(crate) fn channel(plugin: &str, settings: &[(&str, &str)]) -> Result<Channel, ChannelError> {
    channel_in(plugin, settings, &[])
}

pub(crate) fn channel_in(
    plugin: &str,
    settings: &[(&str, &str)],
    env: &[(&str, &str)],
) -> Result<Channel, ChannelError> {
    let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let env = owned(env);
    Channel::from_settings("team", plugin, &owned(settings), &|name| env.get(name).cloned())
}
