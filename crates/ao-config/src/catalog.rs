//! The catalog of plugins: the names that each slot knows.
//!
//! The program that loads a configuration brings the catalog, because it has the plugins.

use std::fmt;

use serde::Serialize;

/// A slot that a plugin fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginSlot {
    Runtime,
    Agent,
    Workspace,
    Tracker,
    Scm,
    Notifier,
    Terminal,
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
    /// `false` for a name that files from elsewhere may have and that no plugin has yet.
    pub available: bool,
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

    /// Returns the names that may be configured in a slot, available or not.
    pub fn names(&self, slot: PluginSlot) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |plugin| plugin.slot == slot).map(|plugin| plugin.name.as_str())
    }

    /// Returns the names in a slot that work.
    pub fn available(&self, slot: PluginSlot) -> Vec<&str> {
        self.plugins().filter(|plugin| plugin.slot == slot).map(|plugin| plugin.name.as_str()).collect()
    }

    pub fn find(&self, slot: PluginSlot, name: &str) -> Option<&PluginInfo> {
        self.0.iter().find(|plugin| plugin.slot == slot && plugin.name == name)
    }

    /// Returns true if this name works in a slot.
    pub fn has(&self, slot: PluginSlot, name: &str) -> bool {
        self.find(slot, name).is_some_and(|plugin| plugin.available)
    }

    /// Returns the reason why a name of a slot does not work in this version.
    pub fn not_available(slot: PluginSlot, name: &str) -> String {
        format!("the {slot} `{name}` is not available in this version yet")
    }
}

impl PluginInfo {
    /// Describes a plugin that is there.
    pub fn new(slot: PluginSlot, name: impl Into<String>, about: impl Into<String>) -> PluginInfo {
        PluginInfo { slot, name: name.into(), about: about.into(), program: None, available: true }
    }

    /// Describes a name that no plugin has yet.
    pub fn missing(slot: PluginSlot, name: &str) -> PluginInfo {
        PluginInfo { available: false, ..PluginInfo::new(slot, name, "not available yet") }
    }

    /// Adds the program that it needs.
    #[must_use]
    pub fn needs(self, program: &str) -> PluginInfo {
        PluginInfo { program: Some(program.to_owned()), ..self }
    }
}

impl fmt::Display for PluginSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PluginSlot::Runtime => "runtime",
            PluginSlot::Agent => "agent",
            PluginSlot::Workspace => "workspace",
            PluginSlot::Tracker => "tracker",
            PluginSlot::Scm => "scm",
            PluginSlot::Notifier => "notifier",
            PluginSlot::Terminal => "terminal",
        })
    }
}
