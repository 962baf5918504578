//! The channels by which people are told things.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_api::{ChannelTest, Problem};
use ao_ports::Notifier;

use super::configs::InForce;

/// What the configuration's channels come to.
pub(super) struct Channels {
    pub(super) notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// Channels that cannot be used as they are, and why.
    pub(super) problems: Vec<String>,
}

pub(super) fn open(_configs: &InForce) -> Channels {
    Channels { notifiers: BTreeMap::new(), problems: vec![] }
}

pub(super) async fn test(_configs: &InForce, _named: &[String]) -> Result<Vec<ChannelTest>, Problem> {
    Ok(vec![])
}
