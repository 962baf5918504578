//! The adapters in use, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ao_core::ProjectId;
use ao_ports::{Agent, JobRunner, Notifier, Runtime, RuntimeError, Runtimes, Scm, Workspace};

/// The adapters that effects run on.
#[derive(Clone, Default)]
pub struct AdapterSet {
    pub runtimes: Runtimes,
    pub agents: BTreeMap<String, Arc<dyn Agent>>,
    pub workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    /// Notices go to all of them; each keeps its own pace.
    pub notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// The forge of each project.
    pub scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
    /// Runs jobs. Without one, no job can run.
    pub jobs: Option<Arc<dyn JobRunner>>,
}

/// A name that no adapter has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {slot} `{name}`; there is {known}")]
pub struct NoSuchSlot {
    pub slot: &'static str,
    pub name: String,
    pub known: String,
}

impl AdapterSet {
    pub fn runtime(&self, name: &str) -> Result<&dyn Runtime, RuntimeError> {
        self.runtimes.get(name)
    }

    pub fn agent(&self, name: &str) -> Result<&dyn Agent, NoSuchSlot> {
        find("agent", &self.agents, name)
    }

    pub fn workspace(&self, name: &str) -> Result<&dyn Workspace, NoSuchSlot> {
        find("workspace", &self.workspaces, name)
    }

    pub fn scm(&self, project: &ProjectId) -> Result<&dyn Scm, NoSuchSlot> {
        self.scms.get(project).map(|scm| &**scm).ok_or_else(|| NoSuchSlot {
            slot: "forge for the project",
            name: project.to_string(),
            known: list(self.scms.keys().map(ProjectId::as_str)),
        })
    }
}

fn find<'a, T: ?Sized>(
    slot: &'static str,
    adapters: &'a BTreeMap<String, Arc<T>>,
    name: &str,
) -> Result<&'a T, NoSuchSlot> {
    adapters.get(name).map(|adapter| &**adapter).ok_or_else(|| NoSuchSlot {
        slot,
        name: name.to_owned(),
        known: list(adapters.keys().map(String::as_str)),
    })
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

impl fmt::Debug for AdapterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdapterSet")
            .field("runtimes", &self.runtimes)
            .field("agents", &self.agents.keys())
            .field("workspaces", &self.workspaces.keys())
            .field("notifiers", &self.notifiers.keys())
            .field("scms", &self.scms.keys())
            .finish_non_exhaustive()
    }
}
