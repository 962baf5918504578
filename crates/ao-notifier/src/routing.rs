//! Who is told what: the levels of each channel, and each notice once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::notice::{Level, Notice};
use ao_ports::{Notifier, NotifierAbilities, NotifyError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// So many notices are remembered as told. A notice is tried again within minutes, so the last ones are all that matter.
const REMEMBERED: usize = 1024;

/// Which channels are told of notices of each level, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    pub urgent: Vec<String>,
    pub action: Vec<String>,
    pub warning: Vec<String>,
    pub info: Vec<String>,
}

/// Channels that notices are to go to and that there are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`notificationRouting.{level}` names `{channel}`, which is no notifier; there is {known}")]
pub struct RoutingError {
    pub level: &'static str,
    pub channel: String,
    pub known: String,
}

impl Routing {
    /// Everything to all of them.
    pub fn to_all<'a>(channels: impl IntoIterator<Item = &'a str>) -> Routing {
        let all: Vec<String> = channels.into_iter().map(str::to_owned).collect();
        Routing { urgent: all.clone(), action: all.clone(), warning: all.clone(), info: all }
    }

    /// The levels that a channel is told of.
    pub fn levels_of(&self, channel: &str) -> BTreeSet<Level> {
        self.table()
            .into_iter()
            .filter(|(_, _, channels)| channels.iter().any(|name| name == channel))
            .map(|(level, _, _)| level)
            .collect()
    }

    /// Gives each channel what is meant for it, as the engine's notifiers. A channel that is told of nothing is left out.
    pub fn plug_in(
        &self,
        channels: BTreeMap<String, Arc<dyn Notifier>>,
    ) -> Result<BTreeMap<String, Arc<dyn Notifier>>, RoutingError> {
        for (_, level, named) in self.table() {
            if let Some(channel) = named.iter().find(|name| !channels.contains_key(*name)) {
                let known: Vec<String> = channels.keys().map(|name| format!("`{name}`")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(RoutingError { level, channel: channel.clone(), known });
            }
        }
        let routed = channels.into_iter().filter_map(|(name, channel)| {
            let levels = self.levels_of(&name);
            let routed = Arc::new(Routed::new(channel, levels.clone())) as Arc<dyn Notifier>;
            (!levels.is_empty()).then_some((name, routed))
        });
        Ok(routed.collect())
    }

    fn table(&self) -> [(Level, &'static str, &[String]); 4] {
        [
            (Level::Urgent, "urgent", &self.urgent),
            (Level::Action, "action", &self.action),
            (Level::Warning, "warning", &self.warning),
            (Level::Info, "info", &self.info),
        ]
    }
}

/// A channel that takes notices of some levels, each of them once. The others are not for it, so it is content with them.
///
/// A notice is tried again on all channels when one of them has failed; who has it already must not get it again. What was
/// told is not kept on disk: after a crash between the telling and the writing down, it is told again.
pub struct Routed {
    channel: Arc<dyn Notifier>,
    levels: BTreeSet<Level>,
    /// The keys of what was told, the newest last.
    told: Mutex<VecDeque<String>>,
}

impl Routed {
    pub fn new(channel: Arc<dyn Notifier>, levels: impl IntoIterator<Item = Level>) -> Routed {
        Routed { channel, levels: levels.into_iter().collect(), told: Mutex::default() }
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

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if !self.levels.contains(&notice.level) || self.has_told(&notice.key) {
            return Ok(());
        }
        self.channel.notify(notice).await?;
        self.remember(&notice.key);
        Ok(())
    }
}

impl fmt::Debug for Routed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routed").field("levels", &self.levels).finish_non_exhaustive()
    }
}
