//! Decides which channel sends a notice and when: by its levels and projects, its quiet hours, and each notice once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::ProjectId;
use ao_core::notice::{Notice, NoticeLevel};
use ao_ports::{Notifier, NotifyError};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::pace::Pace;

/// Most keys that are remembered as sent. A notice is retried within minutes, so only the last ones matter.
const REMEMBERED: usize = 1024;

/// The notices that a channel is for.
#[derive(Debug, Clone, Default)]
pub struct Audience {
    pub levels: BTreeSet<NoticeLevel>,
    /// The projects with their own channels, and whether this is one of them.
    pub projects: BTreeMap<ProjectId, bool>,
}

impl Audience {
    /// Accepts everything of these levels, for any project.
    pub fn of(levels: impl IntoIterator<Item = NoticeLevel>) -> Audience {
        Audience { levels: levels.into_iter().collect(), projects: BTreeMap::new() }
    }

    fn takes(&self, notice: &Notice) -> bool {
        let own = notice.about.project.as_ref().and_then(|project| self.projects.get(project));
        own.copied().unwrap_or_else(|| self.levels.contains(&notice.level))
    }
}

/// A channel restricted to its audience and its pace, which sends each notice once.
///
/// The core records which channels have sent a notice. The keys remembered here cover the one case that it cannot know:
/// a notice was sent, and then something failed before that was recorded. After a crash it is sent again.
pub struct Routed {
    channel: Arc<dyn Notifier>,
    audience: Audience,
    pace: Pace,
    /// The keys of sent notices, the newest last.
    sent: Mutex<VecDeque<String>>,
}

impl Routed {
    pub fn new(channel: Arc<dyn Notifier>, audience: Audience, pace: Pace) -> Routed {
        Routed { channel, audience, pace, sent: Mutex::default() }
    }

    fn has_sent(&self, key: &str) -> bool {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest first: a retried notice was sent just before.
        sent.iter().rev().any(|known| known == key)
    }

    fn remember(&self, key: &str) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.len() == REMEMBERED {
            sent.pop_front();
        }
        sent.push_back(key.to_owned());
    }
}

#[async_trait]
impl Notifier for Routed {
    fn takes(&self, notice: &Notice) -> bool {
        self.audience.takes(notice)
    }

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if self.has_sent(&notice.key) {
            return Ok(());
        }
        if let Some((until, hold)) = self.pace.hold(notice, Timestamp::now()) {
            return Err(NotifyError::Held { until, hold });
        }
        self.channel.notify(notice).await?;
        self.remember(&notice.key);
        Ok(())
    }
}

impl fmt::Debug for Routed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routed").field("audience", &self.audience).finish_non_exhaustive()
    }
}
