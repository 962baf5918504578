//! The adapters in the engine's slots that can change while the daemon runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ao_agent::hook::Spool;
use ao_agent::{AgentPlaces, Ground};
use ao_core::session::{AgentMode, adapter_name};
use ao_engine::AdapterSet;
use ao_ports::{Agent, Clock, Notifier, Runtimes, Workspace};
use camino::Utf8PathBuf;

use crate::error::DaemonError;
use crate::jobs::DaemonJobs;
use crate::looks::ProjectLooks;
use crate::registry::Registry;

/// The agents, notifiers and workspaces that are plugged in.
pub struct DaemonAdapters {
    deps: AgentDeps,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    pub(crate) registry: Arc<Registry>,
    plugged: Mutex<PluggedSlots>,
}

/// The parts that every agent is made with.
#[expect(missing_debug_implementations, reason = "ports have no such form")]
pub struct AgentDeps {
    pub data_dir: Utf8PathBuf,
    pub runtimes: Runtimes,
    pub clock: Arc<dyn Clock>,
    pub spool: Option<Arc<Spool>>,
    pub environment: BTreeMap<String, String>,
    pub places: AgentPlaces,
}

#[derive(Default)]
struct PluggedSlots {
    /// The agents with the options that they were made of, so that what has not changed stays the same.
    agents: BTreeMap<String, (Option<ao_agent::Options>, Arc<dyn Agent>)>,
    /// The same agents in their modes, by the names of these adapters.
    modes: BTreeMap<String, Arc<dyn Agent>>,
    notifiers: BTreeMap<String, Arc<dyn Notifier>>,
}

impl DaemonAdapters {
    pub fn new(
        deps: AgentDeps,
        workspaces: BTreeMap<String, Arc<dyn Workspace>>,
        registry: Arc<Registry>,
    ) -> DaemonAdapters {
        DaemonAdapters { deps, workspaces, registry, plugged: Mutex::default() }
    }

    /// Adds agents of the embedding program, and exchanges those that were made of options, and all notifiers. On a failure
    /// nothing has changed.
    pub fn replace(
        &self,
        own: BTreeMap<String, Arc<dyn Agent>>,
        options: Vec<ao_agent::Options>,
        notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    ) -> Result<(), DaemonError> {
        let mut plugged = self.plugged();
        let kept = plugged.agents.iter().filter(|(_, (made_of, _))| made_of.is_none());
        let mut agents: BTreeMap<_, _> = kept.map(|(name, kept)| (name.clone(), kept.clone())).collect();
        agents.extend(own.into_iter().map(|(name, agent)| (name, (None, agent))));
        let make = |options: ao_agent::Options| {
            let ground = self.deps.ground(&options.name);
            self.registry.agent(options, ground).map_err(DaemonError::config)
        };
        let mut modes = BTreeMap::new();
        for options in options {
            let name = options.name.clone();
            let known = match plugged.agents.get(&name) {
                Some((Some(made_of), agent)) if *made_of == options => Some(agent.clone()),
                _ => None,
            };
            for mode in options.modes().filter(|mode| *mode != AgentMode::Turns) {
                let adapter = adapter_name(&name, Some(mode));
                let before = plugged.modes.get(&adapter).filter(|_| known.is_some());
                let agent = match (before, options.in_mode(mode)) {
                    (Some(before), _) => before.clone(),
                    // Without a spool, no agent can report by hooks.
                    (None, Some(options)) if !options.hooks || self.deps.spool.is_some() => make(options)?,
                    (None, _) => continue,
                };
                modes.insert(adapter, agent);
            }
            let agent = known.map_or_else(|| make(options.clone()), Ok)?;
            agents.insert(name, (Some(options), agent));
        }
        *plugged = PluggedSlots { agents, modes, notifiers };
        Ok(())
    }

    /// Returns the slots of the engine as they are to be now.
    pub(crate) fn slots(
        &self,
        runtimes: &Runtimes,
        looks: &ProjectLooks,
        jobs: &Arc<DaemonJobs>,
    ) -> AdapterSet {
        let plugged = self.plugged();
        AdapterSet {
            jobs: Some(jobs.clone()),
            runtimes: runtimes.clone(),
            agents: plugged
                .agents
                .iter()
                .map(|(name, (_, agent))| (name, agent))
                .chain(&plugged.modes)
                .map(|(name, agent)| (name.clone(), agent.clone()))
                .collect(),
            workspaces: self.workspaces.clone(),
            notifiers: plugged.notifiers.clone(),
            scms: looks.scms(),
        }
    }

    pub fn agent(&self, name: &str) -> Option<Arc<dyn Agent>> {
        self.plugged().agents.get(name).map(|(_, agent)| agent.clone())
    }

    /// Returns an agent in a mode; without one, as it is run otherwise.
    pub(crate) fn agent_in(&self, name: &str, mode: Option<AgentMode>) -> Option<Arc<dyn Agent>> {
        match mode {
            Some(AgentMode::Protocol | AgentMode::Terminal) => {
                self.plugged().modes.get(&adapter_name(name, mode)).cloned()
            }
            Some(AgentMode::Turns) | None => self.agent(name),
        }
    }

    /// Returns the names of all agents.
    pub fn agents(&self) -> Vec<String> {
        self.plugged().agents.keys().cloned().collect()
    }

    pub fn notifiers(&self) -> BTreeMap<String, Arc<dyn Notifier>> {
        self.plugged().notifiers.clone()
    }

    pub fn workspace(&self, kind: &str) -> Option<&dyn Workspace> {
        self.workspaces.get(kind).map(|workspace| &**workspace)
    }

    /// Returns all kinds of workspaces.
    pub(crate) fn workspace_kinds(&self) -> Vec<String> {
        self.workspaces.keys().cloned().collect()
    }

    /// Returns a kind of workspace that can be checked out for reading only.
    pub(crate) fn read_only_workspace(&self) -> Option<String> {
        let mut kinds = self.workspaces.iter();
        kinds.find(|(_, workspace)| workspace.can_read_only()).map(|(kind, _)| kind.clone())
    }

    /// Returns the full path of our own program.
    pub(crate) fn ao(&self) -> String {
        self.deps.places.ao.clone()
    }

    fn plugged(&self) -> MutexGuard<'_, PluggedSlots> {
        self.plugged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentDeps {
    fn ground(&self, agent: &str) -> Ground {
        Ground {
            runtimes: self.runtimes.clone(),
            clock: self.clock.clone(),
            state: self.data_dir.join("agents").join(agent).into(),
            hooks: self.spool.clone(),
            environment: self.environment.clone(),
            places: self.places.clone(),
        }
    }
}

impl fmt::Debug for DaemonAdapters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonAdapters").field("agents", &self.agents()).finish_non_exhaustive()
    }
}
