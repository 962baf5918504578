//! Notices and channels for the tests.

use std::collections::BTreeMap;

use ao_core::incident::Subject;
use ao_core::notice::{Notice, NoticeContext, NoticeLevel};
use ao_core::{NoticeId, ProjectId, SessionId};
use ao_notifier::{Channel, ChannelError};

pub(crate) fn notice(level: NoticeLevel, text: &str) -> Notice {
    Notice::new(NoticeId(1), level, Subject::Session(SessionId(0x4f)), "ses_4f delivery 2", text)
}

/// The same, about a session with a name and a pull request.
pub(crate) fn linked(level: NoticeLevel, text: &str) -> Notice {
    let about = NoticeContext {
        project: Some(ProjectId::new("app")),
        session: Some("app-3".into()),
        pull: Some("https://forge.example/app/pull/7".into()),
    };
    Notice { about, ..notice(level, text) }
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
