//! The channels by which people are told things, as the configuration names them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ao_api::{ChannelTest, Problem};
use ao_config::Env;
use ao_config::shape::{Plugin, Priority};
use ao_core::NoticeId;
use ao_core::incident::Subject;
use ao_core::notice::{Level, Notice};
use ao_notifier::{Channel, Routed};
use ao_ports::Notifier;
use futures::future::join_all;

use super::configs::InForce;
use super::order::nearest;

/// How long a channel has for a test notice.
const TEST: Duration = Duration::from_secs(10);

/// What the configuration's channels come to.
pub(super) struct Channels {
    pub(super) notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// Channels that cannot be used as they are, and why. The others are used all the same.
    pub(super) problems: Vec<String>,
}

/// Opens the channels that news goes to, each for the levels that are meant for it.
pub(super) fn open(configs: &InForce) -> Channels {
    let mut channels = Channels { notifiers: BTreeMap::new(), problems: vec![] };
    for (name, levels) in wanted(configs) {
        match channel(configs, &name) {
            Ok(channel) => {
                channels.notifiers.insert(name, Arc::new(Routed::new(Arc::new(channel), levels)));
            }
            Err(problem) => channels.problems.push(problem),
        }
    }
    channels
}

/// Sends a notice on each channel at once and says what became of each.
pub(super) async fn test(configs: &InForce, named: &[String]) -> Result<Vec<ChannelTest>, Problem> {
    let mut known: BTreeSet<String> = wanted(configs).into_keys().collect();
    known.extend(configs.main.config.notifiers.keys().cloned());
    let known: Vec<String> = known.into_iter().collect();
    if let Some(stranger) = named.iter().find(|name| !known.contains(name)) {
        let mut problem = Problem::new(404, "unknown-channel", format!("there is no channel `{stranger}`"));
        problem.candidates = nearest(stranger, &known);
        return Err(problem.hint("channels are named under `notifiers:` and in `defaults.notifiers`"));
    }
    let chosen = if named.is_empty() { &known[..] } else { named };
    Ok(join_all(chosen.iter().map(|name| try_one(configs, name))).await)
}

async fn try_one(configs: &InForce, name: &str) -> ChannelTest {
    let plugin = described(configs, name).plugin;
    let failed = |problem: String, target| ChannelTest {
        channel: name.to_owned(),
        plugin: plugin.clone(),
        delivered: false,
        target,
        problem: Some(problem),
    };
    let channel = match channel(configs, name) {
        Ok(channel) => channel,
        Err(problem) => return failed(problem, None),
    };
    let target = Some(channel.target());
    let told = tokio::time::timeout(TEST, channel.notify(&test_notice())).await;
    match told {
        Ok(Ok(())) => ChannelTest {
            channel: name.to_owned(),
            plugin: plugin.clone(),
            delivered: true,
            target,
            problem: None,
        },
        Ok(Err(err)) => failed(err.to_string(), target),
        Err(_) => failed(format!("it did not answer within {} s", TEST.as_secs()), target),
    }
}

fn test_notice() -> Notice {
    Notice {
        channel: None,
        id: NoticeId(0),
        level: Level::Info,
        subject: Subject::Host,
        text: "This is a test of `ao notify test`. If you read this, the channel works.".into(),
        key: format!("test {}", ao_api::Timestamp::now()),
        tries: 0,
        again_at: None,
    }
}

/// The channels that news goes to, with the levels that each of them gets.
fn wanted(configs: &InForce) -> BTreeMap<String, BTreeSet<Level>> {
    let config = &configs.main.config;
    let mut wanted: BTreeMap<String, BTreeSet<Level>> = BTreeMap::new();
    for (priority, level) in [
        (Priority::Urgent, Level::Urgent),
        (Priority::Action, Level::Action),
        (Priority::Warning, Level::Warning),
        (Priority::Info, Level::Info),
    ] {
        let named = config.notification_routing.channels(priority).unwrap_or(&config.defaults.notifiers);
        for name in named {
            wanted.entry(name.clone()).or_default().insert(level);
        }
    }
    wanted
}

/// A channel as the file that holds for all describes it, or the plugin of that name with nothing said of it. Another
/// project's file has no say in where news of all goes.
fn described(configs: &InForce, name: &str) -> Plugin {
    let named = configs.main.config.notifiers.get(name);
    named.cloned().unwrap_or_else(|| Plugin::named(name))
}

fn channel(configs: &InForce, name: &str) -> Result<Channel, String> {
    let env = Env::of_process();
    let plugin = described(configs, name);
    let options = plugin.resolved(&env).map_err(|err| format!("the channel `{name}`: {err}"))?;
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let settings = options.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    let variable = |name: &str| env.get(name).map(str::to_owned);
    Channel::from_settings(name, &plugin.plugin, &settings, &variable).map_err(|err| err.to_string())
}
