//! Checks across keys: known names, distinct project paths, port ranges that are large enough.

use std::collections::BTreeMap;

use ao_core::incident::IncidentKind;
use ao_core::reaction::ReactionAction;

use crate::catalog::{PluginCatalog, PluginOptions, PluginSlot};
use crate::names::nearest;
use crate::normalize::ConfigMistake;
use crate::refs;
use crate::shape::{BadHours, Channel, Config, EnvConfig, HooksConfig, Plugin, Reactions};
use crate::tree::ConfigTree;

/// Finds mistakes, and names that no plugin has yet: their configuration loads, and each is refused where it is used.
pub(crate) fn check(
    config: &Config,
    tree: &ConfigTree,
    catalog: &PluginCatalog,
) -> (Vec<ConfigMistake>, Vec<MissingName>) {
    let mut checking = ConfigChecker { config, tree, catalog, mistakes: vec![], missing: vec![] };
    checking.defaults();
    checking.projects();
    checking.agents();
    checking.notifications();
    checking.server();
    (checking.mistakes, checking.missing)
}

/// A configured name that no plugin has yet, with the path of the value.
pub(crate) type MissingName = (PluginSlot, String, Vec<String>);

/// Finds keys that are accepted and have no effect yet. They are read so that a file from elsewhere still loads.
pub(crate) fn unused_keys(config: &Config, tree: &ConfigTree, catalog: &PluginCatalog) -> Vec<ConfigMistake> {
    let mut checking = ConfigChecker { config, tree, catalog, mistakes: vec![], missing: vec![] };
    let mut idle = |path: &[&str], says: bool| {
        if says {
            let key = path.last().copied().unwrap_or_default();
            checking.at_key(path, format!("`{key}` has no effect in this version yet"), None);
        }
    };
    idle(&["plugins"], !config.plugins.is_empty());
    checking.mistakes
}

struct ConfigChecker<'a> {
    config: &'a Config,
    tree: &'a ConfigTree,
    catalog: &'a PluginCatalog,
    mistakes: Vec<ConfigMistake>,
    missing: Vec<MissingName>,
}

impl ConfigChecker<'_> {
    fn defaults(&mut self) {
        let defaults = &self.config.defaults;
        self.slots(
            &["defaults"],
            Some(&defaults.runtime),
            Some(&defaults.workspace),
            Some(&defaults.tracker),
            defaults.scm.as_ref(),
        );
        self.agent(&["defaults", "agent"], &defaults.agent);
        self.notifiers(&["defaults", "notifiers"], &defaults.notifiers);
        self.reactions(&["reactions"], &Reactions::default(), &self.config.reactions);
        for (agent, reactions) in &self.config.agent_reactions {
            let here = ["agentReactions", agent.as_str()];
            self.agent(&here, agent);
            self.reactions(&here, &self.config.reactions, reactions);
        }
        self.hooks(&[], &self.config.hooks);
    }

    fn projects(&mut self) {
        let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, project) in &self.config.projects {
            let here = ["projects", name.as_str()];
            let inside = |key| [here[0], here[1], key];
            let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            if name.is_empty() || name.contains(odd) || name.starts_with('.') {
                let what = format!(
                    "`{name}` is not a valid project name: use letters, digits, `-`, `_` and `.` only"
                );
                self.at_key(&here, what, None);
            }
            if let Some(prefix) = &project.session_prefix
                && (prefix.is_empty() || prefix.contains(odd))
            {
                let what =
                    format!("`{prefix}` is not a valid prefix: use letters, digits, `-`, `_` and `.` only");
                self.at(&inside("sessionPrefix"), what, None);
            }
            if let Some(policy) = &project.policy {
                let tree = self.tree.follow(inside("policy"));
                self.mistakes.extend(crate::policy::check(policy, tree));
            }
            match paths.get(project.path.as_str()) {
                Some(other) => {
                    let what = format!("`{name}` and `{other}` have the same path");
                    let hint = "two projects cannot share a checkout: remove one".to_owned();
                    self.at(&inside("path"), what, Some(hint));
                }
                None => {
                    paths.insert(project.path.as_str(), name);
                }
            }
            self.slots(
                &here,
                project.runtime.as_ref(),
                project.workspace.as_ref(),
                project.tracker.as_ref(),
                project.scm.as_ref(),
            );
            for (role, agent) in
                [("worker", &project.worker.agent), ("orchestrator", &project.orchestrator.agent)]
            {
                if let Some(agent) = agent {
                    self.agent(&[here[0], here[1], role, "agent"], agent);
                }
            }
            if let Some(agent) = &project.agent {
                self.agent(&inside("agent"), agent);
            }
            if let Some(notifiers) = &project.notifiers {
                self.notifiers(&inside("notifiers"), notifiers);
            }
            self.reactions(&inside("reactions"), &self.config.reactions, &project.reactions);
            self.ports(&here);
            self.hooks(&here, &project.hooks);
            self.checks(&here);
            self.environment(&here, &project.env);
        }
    }

    fn ports(&mut self, here: &[&str; 2]) {
        let Some(ports) = &self.config.projects[here[1]].ports else { return };
        let at = [here[0], here[1], "ports"];
        let last = ports.last();
        let room = usize::from(last.saturating_sub(ports.first)) + 1;
        if ports.names.is_empty() {
            self.at(&at, "`ports` has no `names`, so no variable would carry a port".into(), None);
        } else if last < ports.first || room < ports.names.len() {
            let what = format!("{} ports do not fit between {} and {last}", ports.names.len(), ports.first);
            self.at(&at, what, None);
        }
    }

    fn hooks(&mut self, here: &[&str], hooks: &HooksConfig) {
        for (point, hooks) in &hooks.0 {
            for (n, hook) in hooks.iter().enumerate() {
                let number = n.to_string();
                let at: Vec<&str> = here.iter().copied().chain(["hooks", point.word(), &number]).collect();
                if hook.run.trim().is_empty() {
                    self.at(&at, "a hook needs a command".into(), None);
                }
                if hook.timeout.0.is_zero() {
                    self.at(&at, "the `timeout` of a hook cannot be 0".into(), None);
                }
            }
        }
    }

    fn checks(&mut self, here: &[&str; 2]) {
        let mut seen: Vec<String> = vec![];
        for (n, check) in self.config.projects[here[1]].checks.iter().enumerate() {
            let number = n.to_string();
            let here = [here[0], here[1], "checks", &number];
            let name = check.name();
            let plain = |c: char| !c.is_control();
            if check.command.trim().is_empty() {
                self.at(&here, "a check needs a `command`".into(), None);
            } else if name.trim().is_empty() || name.len() > 64 || !name.chars().all(plain) {
                let hint = "give it a `name` of at most 64 characters, on one line".to_owned();
                self.at(
                    &here,
                    "the name of the check is empty, too long or has control characters".into(),
                    Some(hint),
                );
            } else if seen.contains(&name) {
                let hint = "give one of them a `name` of its own".to_owned();
                self.at(&here, format!("there is another check called `{name}`"), Some(hint));
            }
            seen.push(name);
            self.environment(&here, &check.env);
        }
    }

    fn environment(&mut self, here: &[&str], env: &EnvConfig) {
        let at = |part, name| -> Vec<&str> { here.iter().copied().chain(["env", part, name]).collect() };
        for (name, secret) in &env.secrets {
            if secret.env.is_some() == secret.file.is_some() {
                let what = format!("the secret `{name}` needs exactly one of `env` and `file`");
                self.at(&at("secrets", name), what, None);
            }
        }
        for (name, value) in &env.set {
            if refs::refers(value) && refs::sole_ref(value).is_none() {
                let what = format!("`{name}` mixes a reference with other text");
                let hint =
                    "values set here are stored in the log, and a reference may be a secret: use a single \
                    `${NAME}` and nothing else"
                        .to_owned();
                self.at(&at("set", name), what, Some(hint));
            }
        }
    }

    fn agents(&mut self) {
        let mut seen: Vec<&str> = vec![];
        for (n, specialist) in self.config.agents.iter().enumerate() {
            let number = n.to_string();
            let inside = |key| ["agents", number.as_str(), key];
            let shadows = self.catalog.find(PluginSlot::Agent, &specialist.id).is_some()
                || self.config.tools.contains_key(&specialist.id);
            if seen.contains(&specialist.id.as_str()) || shadows {
                self.at(&inside("id"), format!("there is another agent called `{}`", specialist.id), None);
            }
            seen.push(&specialist.id);
            let tools = self.config.tools.keys().map(String::as_str);
            self.known(&inside("tool"), PluginSlot::Agent, &specialist.tool, tools.collect());
            self.slots(&["agents", &number], specialist.runtime.as_ref(), None, None, None);
            let here = ["agents", number.as_str(), "config", "reactions"];
            self.reactions(&here, &self.config.reactions, &specialist.config.reactions);
        }
        if let Some(agent) = &self.config.orchestrator.agent {
            self.agent(&["orchestrator", "agent"], agent);
        }
    }

    fn notifications(&mut self) {
        for (name, Channel { plugin, .. }) in &self.config.notifiers {
            self.known(&["notifiers", name, "plugin"], PluginSlot::Notifier, plugin, vec![]);
        }
        for (name, channel) in &self.config.notifiers {
            for (key, wrong) in
                [("quietHours", channel.quiet_hours().err()), ("digest", channel.digest().err())]
            {
                if let Some(BadHours { what, .. }) = wrong {
                    self.at(&["notifiers", name, key], what, None);
                }
            }
        }
        if let Some(BadHours { key, what }) =
            self.config.quiet_hours.as_ref().and_then(|hours| hours.check().err())
        {
            self.at(&["quietHours", key], what, None);
        }
        if let Some(BadHours { key, what }) =
            self.config.digest.as_ref().and_then(|digest| digest.check().err())
        {
            self.at(&["digest", key], what, None);
        }
        let page = self.config.dashboard.public_url.as_deref();
        if page.is_some_and(|page| !page.starts_with("https://") && !page.starts_with("http://")) {
            let hint = "start it with `https://` or `http://`".to_owned();
            self.at(&["dashboard", "publicUrl"], "this is not a web address".to_owned(), Some(hint));
        }
        for (key, channels) in self.config.notification_routing.configured() {
            self.notifiers(&["notificationRouting", key], channels);
        }
    }

    fn server(&mut self) {
        let server = &self.config.server;
        if !server.listen.is_loopback() && !server.allow_remote {
            let what = format!("other computers can reach `{}`", server.listen);
            let hint = "if you want that, set `server.allowRemote: true`".to_owned();
            self.at(&["server", "listen"], what, Some(hint));
        }
    }

    fn slots(
        &mut self,
        here: &[&str],
        runtime: Option<&Plugin>,
        workspace: Option<&Plugin>,
        tracker: Option<&Plugin>,
        scm: Option<&Plugin>,
    ) {
        for (slot, key, plugin) in [
            (PluginSlot::Runtime, "runtime", runtime),
            (PluginSlot::Workspace, "workspace", workspace),
            (PluginSlot::Tracker, "tracker", tracker),
            (PluginSlot::Scm, "scm", scm),
        ] {
            if let Some(plugin) = plugin {
                let path: Vec<&str> = here.iter().copied().chain([key, "plugin"]).collect();
                self.known(&path, slot, &plugin.plugin, vec![]);
                if let Some(options) = self.catalog.find(slot, &plugin.plugin).and_then(|info| info.options) {
                    self.options(&path[..path.len() - 1], plugin, options);
                }
            }
        }
    }

    /// Checks the options of a plugin against those that it takes.
    fn options(&mut self, path: &[&str], Plugin { plugin, options }: &Plugin, known: PluginOptions) {
        for (option, value) in options {
            let at: Vec<&str> = path.iter().copied().chain([option.as_str()]).collect();
            let quoted = |names: &mut dyn Iterator<Item = &str>| {
                names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
            };
            match known.iter().find(|(name, _)| name == option) {
                None => {
                    let names = quoted(&mut known.iter().map(|(name, _)| *name));
                    let hint = if names.is_empty() {
                        "it has no options".into()
                    } else {
                        format!("it takes {names}")
                    };
                    self.at_key(&at, format!("`{plugin}` has no option `{option}`"), Some(hint));
                }
                Some((_, values)) if value.as_str().is_none_or(|value| !values.contains(&value)) => {
                    let values = quoted(&mut values.iter().copied());
                    self.at(&at, format!("`{option}` has to be {values}"), None);
                }
                Some(_) => {}
            }
        }
    }

    fn agent(&mut self, path: &[&str], agent: &str) {
        let tools = self.config.tools.keys().map(String::as_str);
        let specialists = self.config.agents.iter().map(|specialist| specialist.id.as_str());
        self.known(path, PluginSlot::Agent, agent, tools.chain(specialists).collect());
    }

    fn notifiers(&mut self, path: &[&str], named: &[String]) {
        for (n, name) in named.iter().enumerate() {
            let number = n.to_string();
            let path: Vec<&str> = path.iter().copied().chain([number.as_str()]).collect();
            self.notifier(&path, name);
        }
    }

    fn notifier(&mut self, path: &[&str], name: &str) {
        let channels = self.config.notifiers.keys().map(String::as_str).collect();
        self.known(path, PluginSlot::Notifier, name, channels);
    }

    /// Checks the reactions of one layer, each merged over the layer below it.
    fn reactions(&mut self, path: &[&str], under: &Reactions, reactions: &Reactions) {
        for (kind, reaction) in &reactions.0 {
            let word = kind.to_string();
            let inside = |key| -> Vec<&str> { path.iter().copied().chain([word.as_str(), key]).collect() };
            if let Some(channel) = &reaction.channel {
                self.notifier(&inside("channel"), channel);
            }
            if let Some(agent) = &reaction.agent {
                self.agent(&inside("agent"), agent);
            }
            let whole = under.0.get(kind).map_or_else(|| reaction.clone(), |under| under.overlaid(reaction));
            let Some(action) = reaction.action else { continue };
            if action == ReactionAction::Run
                && whole.command.as_deref().is_none_or(|line| line.trim().is_empty())
            {
                let hint = "add one, such as `command: ./scripts/notify.sh`".to_owned();
                self.at(&inside("action"), "`run` needs a `command`".into(), Some(hint));
            }
            let for_pulls = matches!(
                action,
                ReactionAction::Merge | ReactionAction::Rebase | ReactionAction::RerunChecks
            );
            if for_pulls && !may_be_about_a_pull(kind) {
                let what = format!("`{word}` is not about a pull request, so this action is not possible");
                let hint = "use `send-to-agent`, `notify`, `run` or `escalate` here".to_owned();
                self.at(&inside("action"), what, Some(hint));
            }
        }
    }

    /// Checks a name of a slot. `own` are the names that the configuration itself describes.
    fn known(&mut self, path: &[&str], slot: PluginSlot, name: &str, own: Vec<&str>) {
        let catalog = self.catalog;
        if own.contains(&name) || catalog.has(slot, name) {
            return;
        }
        let outside = self.config.plugins.iter().map(|plugin| plugin.name.as_str());
        let known: Vec<&str> = catalog.names(slot).chain(own).chain(outside).collect();
        if known.contains(&name) {
            let path = path.iter().map(|part| (*part).to_owned()).collect();
            return self.missing.push((slot, name.to_owned(), path));
        }
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let works = |name: &&str| catalog.find(slot, name).is_none_or(|plugin| plugin.available);
                let names: Vec<&str> = known.iter().copied().filter(works).collect();
                format!("known names: {}", names.join(", "))
            }
        };
        self.at(path, format!("there is no {slot} called `{name}`"), Some(hint));
    }

    fn at(&mut self, path: &[&str], what: String, hint: Option<String>) {
        let tree = self.tree.follow(path.iter().copied());
        self.mistakes.push(ConfigMistake { at: tree.at, what: tree.masked(what), hint });
    }

    fn at_key(&mut self, path: &[&str], what: String, hint: Option<String>) {
        let (last, before) = path.split_last().expect("a path has parts");
        let holder = self.tree.follow(before.iter().copied());
        let at = holder.as_map().and_then(|map| map.get(*last)).map_or(holder.at, |entry| entry.key_at);
        self.mistakes.push(ConfigMistake { at, what, hint });
    }
}

/// Returns `true` if incidents of this kind can concern a pull request.
fn may_be_about_a_pull(kind: &IncidentKind) -> bool {
    use IncidentKind as K;
    !matches!(
        kind,
        K::AgentStuck
            | K::AgentIdle
            | K::AgentNeedsInput
            | K::AgentExited
            | K::SetupFailed
            | K::BudgetExceeded
            | K::RateLimited
            | K::AllComplete
    )
}
