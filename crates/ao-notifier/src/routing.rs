//! Who is told what and when: the levels and projects of each channel, its quiet hours, and each notice once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::ProjectId;
use ao_core::notice::{Level, Notice};
use ao_ports::{Notifier, NotifierAbilities, NotifyError};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::pace::Pace;

/// So many notices are remembered as told. A notice is tried again within minutes, so the last ones are all that matter.
const REMEMBERED: usize = 1024;

/// What a channel is for.
#[derive(Debug, Clone, Default)]
pub struct Audience {
    pub levels: BTreeSet<Level>,
    /// The projects that name channels of their own, and whether this is one of them.
    pub projects: BTreeMap<ProjectId, bool>,
}

impl Audience {
    /// Everything of these levels, whatever it is about.
    pub fn of(levels: impl IntoIterator<Item = Level>) -> Audience {
        Audience { levels: levels.into_iter().collect(), projects: BTreeMap::new() }
    }

    fn takes(&self, notice: &Notice) -> bool {
        let own = notice.about.project.as_ref().and_then(|project| self.projects.get(project));
        own.copied().unwrap_or_else(|| self.levels.contains(&notice.level))
    }
}

/// A channel with those it is for, in its own time, and each notice once.
///
/// Which channels have a notice is kept by the core. What is remembered here is for the one case that it cannot know: a
/// notice that was told, and then something went wrong before that was written down. After a crash it is told again.
pub struct Routed {
    channel: Arc<dyn Notifier>,
    audience: Audience,
    pace: Pace,
    /// The keys of what was told, the newest last.
    told: Mutex<VecDeque<String>>,
}

impl Routed {
    pub fn new(channel: Arc<dyn Notifier>, audience: Audience, pace: Pace) -> Routed {
        Routed { channel, audience, pace, told: Mutex::default() }
    }

    fn has_told(&self, key: &str) -> bool {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest are looked at first: what is tried again was told just before.
        told.iter().rev().any(|known| known == key)
    }

    fn remember(&self, key: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() == REMEMBERED {
            told.pop_front();
        }
        told.push_back(key.to_owned());
    }
}

#[async_trait]
impl Notifier for Routed {
    fn abilities(&self) -> NotifierAbilities {
        NotifierAbilities { dedupes: true, ..self.channel.abilities() }
    }

    fn takes(&self, notice: &Notice) -> bool {
        self.audience.takes(notice)
    }

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if self.has_told(&notice.key) {
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
