//! The catalog of plugins: the names that each slot knows.
//!
//! The program that loads a configuration brings the catalog, because it has the plugins.

use ao_core::text::word_enum;
use serde::Serialize;

use crate::error::Problem;

word_enum! {
    /// A slot that a plugin fills.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum PluginSlot {
        Runtime = "runtime",
        Agent = "agent",
        Workspace = "workspace",
        Tracker = "tracker",
        Scm = "scm",
        Notifier = "notifier",
        Terminal = "terminal",
    }
}

/// A plugin as configurations name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginInfo {
    pub slot: PluginSlot,
    pub name: String,
    /// A one-line description.
    pub about: String,
    /// The program that it needs on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The command that installs that program.
    #[serde(skip)]
    pub install: Option<String>,
    /// `false` for a name that files from elsewhere may have and that no plugin has yet.
    pub available: bool,
    /// The options that it takes, each with its values; absent if it checks them itself.
    #[serde(skip)]
    pub options: Option<PluginOptions>,
    /// It shows something on the desktop of this machine.
    #[serde(skip)]
    pub on_desktop: bool,
    #[serde(skip)]
    pub service: ServiceFacts,
}

/// The options of a plugin, each with its values.
pub type PluginOptions = &'static [(&'static str, &'static [&'static str])];

/// Facts about a service, which files from elsewhere rely on before there is a plugin for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceFacts {
    /// The forge of projects that name this tracker and no forge; otherwise the forge of the same name.
    pub forge: Option<&'static str>,
    /// A prefix of issue numbers that people write and the service does not.
    pub issue_prefix: Option<&'static str>,
    /// The ref of a pull request's head, with `{number}`; otherwise `refs/pull/{number}/head`.
    pub pull_ref: Option<&'static str>,
    /// Its checks are those that the project configures.
    pub runs_checks: bool,
    /// The way to work without it, for people.
    pub instead: Option<&'static str>,
}

/// A configured name that no plugin has yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPlugin {
    pub slot: PluginSlot,
    pub name: String,
    /// The path of the value in the configuration.
    pub path: Vec<String>,
    pub problem: Problem,
}

/// All plugins of a program, in order of preference within a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginCatalog(Vec<PluginInfo>);

impl PluginCatalog {
    pub fn new(plugins: impl IntoIterator<Item = PluginInfo>) -> PluginCatalog {
        PluginCatalog(plugins.into_iter().collect())
    }

    /// Returns the plugins that are there, of all slots.
    pub fn plugins(&self) -> impl Iterator<Item = &PluginInfo> {
        self.0.iter().filter(|plugin| plugin.available)
    }

    /// Returns the plugins of a slot that are there.
    pub fn of(&self, slot: PluginSlot) -> impl Iterator<Item = &PluginInfo> {
        self.plugins().filter(move |plugin| plugin.slot == slot)
    }

    /// Returns the names that may be configured in a slot, available or not.
    pub fn names(&self, slot: PluginSlot) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |plugin| plugin.slot == slot).map(|plugin| plugin.name.as_str())
    }

    /// Returns the names in a slot that work.
    pub fn available(&self, slot: PluginSlot) -> Vec<&str> {
        self.of(slot).map(|plugin| plugin.name.as_str()).collect()
    }

    pub fn find(&self, slot: PluginSlot, name: &str) -> Option<&PluginInfo> {
        self.0.iter().find(|plugin| plugin.slot == slot && plugin.name == name)
    }

    /// Returns true if this name works in a slot.
    pub fn has(&self, slot: PluginSlot, name: &str) -> bool {
        self.find(slot, name).is_some_and(|plugin| plugin.available)
    }

    /// Returns the facts about the service that a name of a slot stands for.
    pub fn service(&self, slot: PluginSlot, name: &str) -> ServiceFacts {
        self.find(slot, name).map(|plugin| plugin.service).unwrap_or_default()
    }

    /// Returns the reason why a name of a slot that may be configured does not work.
    pub fn not_available(&self, slot: PluginSlot, name: &str) -> String {
        match self.find(slot, name) {
            Some(_) => format!("the {slot} `{name}` is not available in this version yet"),
            None => format!("the {slot} `{name}` comes from a plugin, and ao cannot run those yet"),
        }
    }

    /// Returns what works in a slot instead, with the command that configures it.
    pub fn alternative(&self, slot: PluginSlot, name: &str, key: Option<&str>) -> String {
        let quoted: Vec<String> = self.of(slot).take(5).map(|plugin| format!("`{}`", plugin.name)).collect();
        let mut hint = format!("use {}", quoted.join(" or "));
        // One that needs no program works on every machine.
        let first = self.of(slot).find(|plugin| plugin.program.is_none()).or_else(|| self.of(slot).next());
        if let (Some(key), Some(first)) = (key, first) {
            let such = if quoted.len() == 1 { ":" } else { ", such as" };
            hint += &format!("{such} `ao config set {key} {}`", first.name);
        }
        if let Some(instead) = self.service(slot, name).instead {
            hint += &format!("; {instead}");
        }
        hint
    }
}

impl PluginInfo {
    /// Describes a plugin that is there.
    pub fn new(slot: PluginSlot, name: impl Into<String>, about: impl Into<String>) -> PluginInfo {
        PluginInfo {
            slot,
            name: name.into(),
            about: about.into(),
            program: None,
            install: None,
            available: true,
            options: None,
            on_desktop: false,
            service: ServiceFacts::default(),
        }
    }

    /// Describes a name that no plugin has yet.
    pub fn missing(slot: PluginSlot, name: &str) -> PluginInfo {
        PluginInfo { available: false, ..PluginInfo::new(slot, name, "not available yet") }
    }
}

impl PluginSlot {
    /// Returns true if no session can start without a plugin in this slot.
    pub fn is_essential(self) -> bool {
        matches!(self, PluginSlot::Runtime | PluginSlot::Agent | PluginSlot::Workspace)
    }
}
