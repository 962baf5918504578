//! The channels that notices go to, as the configuration names them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ao_config::shape::{BadHours, DigestConfig, OfChannel, Plugin, Priority, QuietHours};
use ao_config::{Config, Env, RefError};
use ao_core::incident::Subject;
use ao_core::notice::{ChannelRecord, Notice, NoticeLevel};
use ao_core::{NoticeId, ProjectId, State};
use ao_notifier::pace::{self, Every};
use ao_notifier::{Audience, ChannelError, Pace, Page, Routed};
use ao_ports::Notifier;
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::Value;

use crate::config::InForce;
use crate::daemon::Daemon;
use crate::error::{DaemonError, ErrorKind};
use crate::registry::{ChannelDeps, OpenChannel, Registry};
use crate::spawn::nearest;

impl Daemon {
    /// Sends a test notice on the channels, or on all, each on its own.
    pub async fn notify_test(
        &self,
        channels: &[String],
        level: NoticeLevel,
    ) -> Result<Vec<ChannelTrial>, DaemonError> {
        test(&self.config.in_force(), &self.config.page, channels, level).await
    }

    /// Returns the channels that notices go to, with their records.
    pub async fn notify_list(&self) -> Result<Vec<ChannelReport>, DaemonError> {
        let fares = self.handle.view(ChannelStates::of).await?;
        Ok(list(&self.config.in_force(), &self.config.page, &fares))
    }
}

/// The time that a channel has for a test notice.
const TEST: Duration = Duration::from_secs(10);

const LEVELS: [(Priority, NoticeLevel); 4] = [
    (Priority::Urgent, NoticeLevel::Urgent),
    (Priority::Action, NoticeLevel::Action),
    (Priority::Warning, NoticeLevel::Warning),
    (Priority::Info, NoticeLevel::Info),
];

/// A channel, with the notices that go to it and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelReport {
    pub channel: String,
    pub plugin: String,
    /// The place that it sends to, without secrets; absent if it cannot be used.
    pub target: Option<String>,
    pub levels: Vec<NoticeLevel>,
    /// The projects that name it.
    pub projects: Vec<ProjectId>,
    pub quiet_until: Option<ao_core::Timestamp>,
    /// The number of notices that wait for it.
    pub waiting: u64,
    pub last_told: Option<ao_core::Timestamp>,
    pub last_failed: Option<ao_core::Timestamp>,
    pub problem: Option<String>,
}

/// The result of a test notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTrial {
    pub channel: String,
    pub plugin: String,
    pub delivered: bool,
    pub target: Option<String>,
    pub problem: Option<String>,
}

/// The channels of a configuration, opened.
pub(crate) struct OpenChannels {
    pub(crate) notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// Channels that cannot be used as they are, and why. The others are used all the same.
    pub(crate) problems: Vec<String>,
}

/// The records of the channels, and the notices that wait for each.
#[derive(Debug, Default)]
struct ChannelStates {
    records: BTreeMap<String, ChannelRecord>,
    waiting: BTreeMap<String, u64>,
}

impl ChannelStates {
    fn of(state: &State) -> ChannelStates {
        let mut fares = ChannelStates { records: state.channels.clone(), waiting: BTreeMap::new() };
        for channel in state.notices.values().flat_map(|notice| notice.ways.iter().flatten()) {
            *fares.waiting.entry(channel.0.clone()).or_default() += 1;
        }
        fares
    }
}

/// Opens the channels that news goes to, each for those that it is meant for.
pub(crate) fn open(configs: &InForce, page: &Page) -> OpenChannels {
    let mut channels = OpenChannels { notifiers: BTreeMap::new(), problems: vec![] };
    let mut opened = BTreeMap::new();
    for name in names(configs) {
        match channel(configs, &name, page).and_then(|channel| Ok((channel, pace(configs, &name)?))) {
            Ok(channel) => {
                opened.insert(name, channel);
            }
            Err(problem) => channels.problems.push(problem),
        }
    }
    let levels = levels(configs);
    let mut projects = of_projects(configs);
    projects.retain(|project, named| {
        let any = named.is_empty() || named.iter().any(|name| opened.contains_key(name));
        if !any {
            let problem =
                format!("no channel of the project `{project}` can be used; its notices go to the channels for all projects");
            channels.problems.push(problem);
        }
        any
    });
    for (name, (channel, pace)) in opened {
        let audience = Audience {
            levels: levels.get(&name).cloned().unwrap_or_default(),
            projects: projects.iter().map(|(id, named)| (id.clone(), named.contains(&name))).collect(),
        };
        channels.notifiers.insert(name, Arc::new(Routed::new(channel.notifier, audience, pace)));
    }
    channels
}

/// All channels, with what goes to them and how they have fared.
fn list(configs: &InForce, page: &Page, fares: &ChannelStates) -> Vec<ChannelReport> {
    let (levels, projects, now) = (levels(configs), of_projects(configs), Timestamp::now());
    let one = |name: &String| {
        let channel = channel(configs, name, page);
        let pace = pace(configs, name);
        let record = fares.records.get(name).cloned().unwrap_or_default();
        let failed = Some(record.why).filter(|why| !why.is_empty() && record.failed_at > record.told_at);
        let own = levels.get(name).cloned().unwrap_or_default();
        ChannelReport {
            channel: name.clone(),
            plugin: described(&configs.main.config, name).plugin,
            target: channel.as_ref().ok().map(|channel| channel.target.clone()),
            levels: LEVELS.iter().map(|row| row.1).filter(|level| own.contains(level)).collect(),
            projects: projects
                .iter()
                .filter(|(_, named)| named.contains(name))
                .map(|(id, _)| id.clone())
                .collect(),
            quiet_until: pace.as_ref().ok().and_then(|pace| pace.quiet_until(now)),
            waiting: fares.waiting.get(name).copied().unwrap_or_default(),
            last_told: record.told_at,
            last_failed: record.failed_at,
            problem: channel.err().or(pace.err()).or(failed),
        }
    };
    names(configs).iter().map(one).collect()
}

/// Sends a test notice on each channel at once, and returns the result of each. Quiet hours do not apply.
async fn test(
    configs: &InForce,
    page: &Page,
    channels: &[String],
    level: NoticeLevel,
) -> Result<Vec<ChannelTrial>, DaemonError> {
    let known: Vec<String> = names(configs).into_iter().collect();
    if let Some(stranger) = channels.iter().find(|name| !known.contains(name)) {
        let mut problem =
            DaemonError::new(ErrorKind::UnknownChannel, format!("there is no channel `{stranger}`"));
        problem.candidates = nearest(stranger, &known);
        return Err(problem.hint("channels are named under `notifiers:` and in `defaults.notifiers`"));
    }
    let chosen = if channels.is_empty() { &known[..] } else { channels };
    Ok(join_all(chosen.iter().map(|name| try_one(configs, page, name, level))).await)
}

async fn try_one(configs: &InForce, page: &Page, name: &str, level: NoticeLevel) -> ChannelTrial {
    let plugin = described(&configs.main.config, name).plugin;
    let failed = |problem: String, target| ChannelTrial {
        channel: name.to_owned(),
        plugin: plugin.clone(),
        delivered: false,
        target,
        problem: Some(problem),
    };
    let (notifier, target) = match channel(configs, name, page) {
        Ok(OpenChannel { notifier, target }) => (notifier, Some(target)),
        Err(problem) => return failed(problem, None),
    };
    let told = tokio::time::timeout(TEST, notifier.notify(&test_notice(level))).await;
    match told {
        Ok(Ok(())) => ChannelTrial {
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

fn test_notice(level: NoticeLevel) -> Notice {
    let key = format!("test {}", Timestamp::now());
    let text = "This is a test of `ao notify test`. If you read this, the channel works.";
    Notice::new(NoticeId(0), level, Subject::Host, &key, text)
}

// ── the configuration ──

/// Every channel that is described, or that something goes to.
fn names(configs: &InForce) -> BTreeSet<String> {
    let config = &configs.main.config;
    let mut names: BTreeSet<String> = levels(configs).into_keys().collect();
    names.extend(config.notifiers.keys().cloned());
    names.extend(of_projects(configs).into_values().flatten());
    let projects = configs.projects();
    let own = projects.values().flat_map(|known| known.effective().project.reactions.0.values());
    let later = projects.values().flat_map(|known| known.loaded.config.reactions.0.values());
    let configs = || projects.values().map(|known| &known.loaded.config).chain([config]);
    let agents = configs().flat_map(|config| config.agent_reactions.values());
    let agents = agents.flat_map(|reactions| reactions.0.values());
    let specialists = configs().flat_map(|config| &config.agents);
    let specialists = specialists.flat_map(|specialist| specialist.config.reactions.0.values());
    let all = config.reactions.0.values().chain(own).chain(later).chain(agents).chain(specialists);
    names.extend(all.filter_map(|reaction| reaction.channel.clone()));
    names
}

/// The channels that news goes to, with the levels that each of them gets.
fn levels(configs: &InForce) -> BTreeMap<String, BTreeSet<NoticeLevel>> {
    let config = &configs.main.config;
    let mut levels: BTreeMap<String, BTreeSet<NoticeLevel>> = BTreeMap::new();
    for (priority, level) in LEVELS {
        let named = config.notification_routing.channels(priority).unwrap_or(&config.defaults.notifiers);
        for name in named {
            levels.entry(name.clone()).or_default().insert(level);
        }
    }
    levels
}

/// The projects that name channels of their own.
fn of_projects(configs: &InForce) -> BTreeMap<ProjectId, Vec<String>> {
    let projects = configs.projects();
    let own =
        projects.iter().filter_map(|(id, known)| Some((id, known.effective().project.notifiers.clone()?)));
    own.map(|(id, named)| (id.clone(), named)).collect()
}

/// Returns a channel as the main file describes it, or the plugin of that name without options. Files of other
/// projects do not decide where news of all projects goes.
pub fn described(config: &Config, name: &str) -> Plugin {
    config.notifiers.get(name).cloned().unwrap_or_else(|| Plugin::named(name))
}

fn channel(configs: &InForce, name: &str, page: &Page) -> Result<OpenChannel, String> {
    let config = &configs.main.config;
    let page = config.dashboard.public_url.as_deref().map_or_else(|| page.clone(), Page::from);
    opened(config, name, &Env::of_process(), page, configs.registry()).map_err(|fault| match fault {
        ChannelFault::Reference(err) => format!("the channel `{name}`: {err}"),
        ChannelFault::Channel(err) => err.to_string(),
    })
}

/// The fault of a channel that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelFault {
    /// A variable of the environment is not set.
    Reference(RefError),
    Channel(ChannelError),
}

/// Opens a channel as it is described. Nothing is sent.
pub fn opened(
    config: &Config,
    name: &str,
    env: &Env,
    page: Page,
    registry: &Registry,
) -> Result<OpenChannel, ChannelFault> {
    let plugin = described(config, name);
    let mut options = plugin.resolved(env).map_err(ChannelFault::Reference)?;
    // These belong to us, for every plugin.
    options.retain(|key, _| key != "quietHours" && key != "digest");
    let mut settings = BTreeMap::new();
    for (key, value) in &options {
        match key.as_str() {
            // The arguments of a tool have the shape that the tool defines.
            "arguments" => drop(settings.insert(key.clone(), value.to_string())),
            _ => flatten(key, value, &mut settings),
        }
    }
    let variable = |name: &str| env.get(name).map(str::to_owned);
    let deps = ChannelDeps { name, settings: &settings, env: &variable, page };
    registry.channel(&plugin.plugin, &deps).map_err(ChannelFault::Channel)
}

/// Names nested options by their path: `headers.Authorization`.
fn flatten(key: &str, value: &Value, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(inner, value)| flatten(&format!("{key}.{inner}"), value, settings));
        }
        Value::String(text) => {
            settings.insert(key.to_owned(), text.clone());
        }
        other => {
            settings.insert(key.to_owned(), other.to_string());
        }
    }
}

/// Returns the hours in which a channel takes notices: its own, or those for all.
fn pace(configs: &InForce, name: &str) -> Result<Pace, String> {
    let (config, plugin) = (&configs.main.config, described(&configs.main.config, name));
    let wrong = |BadHours { what, .. }| format!("the channel `{name}`: {what}");
    let quiet = match plugin.quiet_hours().map_err(wrong)? {
        OfChannel::AsAll => config.quiet_hours.clone(),
        OfChannel::None => None,
        OfChannel::Own(hours) => Some(hours),
    };
    let digest = match plugin.digest().map_err(wrong)? {
        OfChannel::AsAll => config.digest.clone(),
        OfChannel::None => None,
        OfChannel::Own(digest) => Some(digest),
    };
    Ok(Pace {
        quiet: quiet.as_ref().map(quiet_hours).transpose().map_err(wrong)?,
        digest: digest.as_ref().map(gathering).transpose().map_err(wrong)?,
    })
}

fn quiet_hours(hours: &QuietHours) -> Result<pace::QuietHours, BadHours> {
    let (from, to) = hours.times()?;
    let days = match &hours.days[..] {
        [] => (0..7).collect(),
        days => days.iter().map(|day| *day as i8).collect(),
    };
    Ok(pace::QuietHours { from, to, days, zone: hours.zone()?, except: core(&hours.except) })
}

fn gathering(digest: &DigestConfig) -> Result<pace::Digest, BadHours> {
    let when = digest.time()?.map_or_else(|| Every::Time(digest.period().0), Every::Day);
    Ok(pace::Digest { levels: core(&digest.levels), when, zone: digest.zone()? })
}

fn core(priorities: &[Priority]) -> BTreeSet<NoticeLevel> {
    LEVELS.iter().filter(|row| priorities.contains(&row.0)).map(|row| row.1).collect()
}
