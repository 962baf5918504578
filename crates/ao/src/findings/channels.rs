//! Finds channels that would send nothing: without a key, with an invalid setting, or on a missing desktop.

use std::collections::BTreeMap;

use ao_config::Loaded;
use ao_config::catalog::PluginSlot;
use ao_config::shape::Reactions;
use ao_daemon::channels::{self, ChannelFault};
use ao_daemon::registry;
use ao_notifier::{ChannelError, Page};

use super::{ConfigFinding, MachineFacts};

/// A path in the configuration, such as `defaults`, `notifiers`, `0`.
type KeyPath = Vec<String>;

pub(super) fn look(loaded: &Loaded, facts: &MachineFacts) -> Vec<ConfigFinding> {
    let main = facts.main(loaded);
    let (mut findings, registry) = (Vec::new(), registry::built_in());
    for (name, path) in named(loaded) {
        // The file's settings for this channel have no effect, which is a finding of its own.
        if facts.main.is_some() && loaded.config.notifiers.contains_key(&name) {
            continue;
        }
        let plugin = channels::described(&main.config, &name).plugin;
        // A plugin that is missing is a finding of its own.
        let Some(info) = main.catalog.find(PluginSlot::Notifier, &plugin) else { continue };
        let described = vec!["notifiers".to_owned(), name.clone()];
        let place = if loaded.is_written(&strs(&described)) { &described } else { &path };
        // Defaults that the user has not written are no finding.
        if !loaded.is_written(&strs(place)) {
            continue;
        }
        let tell = |what: String, hint: Option<String>| loaded.problem_at(&strs(place), what, hint);
        match channels::opened(&main.config, &name, &facts.env, Page::default(), &registry) {
            Ok(_) if info.on_desktop => {
                if let Err(why) = &facts.desktop {
                    let what =
                        format!("the notifier `{name}` shows nothing: there is no desktop here ({why})");
                    let hint = "remove it, or use `slack`, `discord`, `telegram` or `webhook`; \
                        `ao config set defaults.notifiers '[]'` sends no notices";
                    findings.push(ConfigFinding::warning("notifier", tell(what, Some(hint.to_owned()))));
                }
            }
            Ok(_) => {}
            // The unset variable is reported where it is used.
            Err(ChannelFault::Reference(_)) => {}
            Err(ChannelFault::Channel(err)) => {
                let hint = match &err {
                    ChannelError::Missing { key, .. } => format!(
                        "`ao config set notifiers.{name} '{{ plugin: {plugin}, {key}: … }}'`; or remove it from `notifiers`"
                    ),
                    _ => "`ao notify test` tests it afterwards; or remove it from `notifiers`".to_owned(),
                };
                let problem = tell(format!("the notifier `{name}` cannot send: {err}"), Some(hint));
                findings.push(match err {
                    ChannelError::Unknown { .. } => ConfigFinding::error("notifier", problem),
                    _ => ConfigFinding::warning("notifier", problem),
                });
            }
        }
    }
    findings
}

/// Returns every configured or used channel, with the place where it is first named.
fn named(loaded: &Loaded) -> BTreeMap<String, KeyPath> {
    let config = &loaded.config;
    let mut named: BTreeMap<String, KeyPath> = BTreeMap::new();
    let mut list = |names: &[String], path: &[&str]| {
        for (n, name) in names.iter().enumerate() {
            named.entry(name.clone()).or_insert_with(|| path_of(path, &[&n.to_string()]));
        }
    };
    list(&config.defaults.notifiers, &["defaults", "notifiers"]);
    for (key, names) in config.notification_routing.configured() {
        list(names, &["notificationRouting", key]);
    }
    for (project, said) in &config.projects {
        list(said.notifiers.as_deref().unwrap_or_default(), &["projects", project, "notifiers"]);
    }
    let mut reactions = |reactions: &Reactions, path: &[&str]| {
        for (kind, reaction) in &reactions.0 {
            let Some(channel) = &reaction.channel else { continue };
            named.entry(channel.clone()).or_insert_with(|| path_of(path, &[&kind.to_string(), "channel"]));
        }
    };
    reactions(&config.reactions, &["reactions"]);
    for (project, said) in &config.projects {
        reactions(&said.reactions, &["projects", project, "reactions"]);
    }
    for (agent, said) in &config.agent_reactions {
        reactions(said, &["agentReactions", agent]);
    }
    for name in config.notifiers.keys() {
        named.entry(name.clone()).or_insert_with(|| path_of(&["notifiers", name], &[]));
    }
    named
}

fn path_of(path: &[&str], rest: &[&str]) -> KeyPath {
    path.iter().chain(rest).map(|part| (*part).to_owned()).collect()
}

fn strs(path: &KeyPath) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}
