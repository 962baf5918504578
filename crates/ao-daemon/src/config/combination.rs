//! Compares agents and runtimes, and finds configured combinations that cannot work.
//!
//! An agent needs one kind of input: a terminal, pipes, or none. A runtime declares the kinds that it has. Both are
//! compared when they are configured and when a session is requested, so that a launch does not fail for it.

use ao_agent::AgentSettings;
use ao_config::catalog::{PluginCatalog, PluginSlot};
use ao_config::shape::{AgentConfig, ModeSetting, Permissions, Plugin, Specialist};
use ao_config::{ConfigError, Effective, Loaded, Problem, Warning};
use ao_core::session::AgentMode;
use ao_ports::RuntimeAbilities;

use super::apply::{AgentsByName, agents_of};
use crate::error::DaemonError;
use crate::program;
use crate::registry::Registry;

/// The reason why something cannot work, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfitCombination {
    pub what: String,
    pub hint: String,
}

/// Settings that cannot work.
#[derive(Debug, Default)]
pub struct UnworkableSettings {
    /// Settings that sessions need.
    pub refused: Vec<Problem>,
    /// Settings that are used only on request: specialists beside the default agent.
    pub doubtful: Vec<Warning>,
}

/// Returns the abilities of a runtime, or an error if there is none of that name.
pub fn runtime(name: &str, registry: &Registry) -> Result<RuntimeAbilities, UnfitCombination> {
    registry.runtime_abilities(name).ok_or_else(|| {
        let catalog = registry.catalog();
        UnfitCombination {
            what: match catalog.find(PluginSlot::Runtime, name) {
                Some(_) => catalog.not_available(PluginSlot::Runtime, name),
                None => format!("there is no runtime `{name}`"),
            },
            hint: catalog.alternative(PluginSlot::Runtime, name, Some("defaults.runtime")),
        }
    })
}

/// Returns a description of the program that a runtime needs, if that is not installed.
pub fn missing_program(runtime: &str, catalog: &PluginCatalog) -> Option<UnfitCombination> {
    let program = catalog.find(PluginSlot::Runtime, runtime)?.program.as_deref()?;
    if program::find(program).is_some() {
        return None;
    }
    let mut hint = format!("install {program}");
    if let Some(other) = catalog.of(PluginSlot::Runtime).find(|other| other.program.is_none()) {
        hint += &format!(", or use the built-in terminal: `ao config set defaults.runtime {}`", other.name);
    }
    let what = format!("the runtime `{runtime}` needs the program `{program}`, which is not installed");
    Some(UnfitCombination { what, hint })
}

/// Returns an error if a runtime cannot hold this agent: in the way that it needs, with its files and its reports.
pub fn holds(
    agent: &ao_agent::Options,
    runtime_name: &str,
    registry: &Registry,
) -> Result<(), UnfitCombination> {
    let Some(needs) = agent.unfit_for(runtime(runtime_name, registry)?) else { return Ok(()) };
    let agent_name = &agent.name;
    let fits = |name: &&str| {
        registry.runtime_abilities(name).is_some_and(|abilities| agent.unfit_for(abilities).is_none())
    };
    let catalog = registry.catalog();
    let others: Vec<&str> = catalog.available(PluginSlot::Runtime).into_iter().filter(fits).collect();
    Err(UnfitCombination {
        what: format!(
            "the agent `{agent_name}` {needs}, which the runtime `{runtime_name}` does not support"
        ),
        hint: match others.first() {
            Some(first) => format!(
                "run it in `{}`: `ao config set defaults.runtime {first}`, or `--runtime {first}` for one session",
                others.join("` or `"),
            ),
            None => "no runtime supports it; choose another agent".into(),
        },
    })
}

/// Returns the options of an agent in a mode. Without one, as it is run otherwise.
pub fn in_mode(
    options: &ao_agent::Options,
    mode: Option<AgentMode>,
) -> Result<ao_agent::Options, UnfitCombination> {
    let Some(mode) = mode else { return Ok(options.clone()) };
    options.in_mode(mode).ok_or_else(|| {
        let (agent, word) = (&options.name, mode.as_str());
        let others: Vec<&str> = options.modes().map(AgentMode::as_str).collect();
        UnfitCombination {
            what: format!("the agent `{agent}` has no mode `{word}`"),
            hint: match others.first() {
                Some(other) => format!("use `mode: {other}`, or leave it out"),
                None => "leave `mode` out; it can be run in one way only".into(),
            },
        }
    })
}

/// Returns the mode that a configuration names.
pub fn mode_of(setting: ModeSetting) -> AgentMode {
    match setting {
        ModeSetting::Protocol => AgentMode::Protocol,
        ModeSetting::Terminal => AgentMode::Terminal,
        ModeSetting::Turns => AgentMode::Turns,
    }
}

/// Checks that an agent can be started with these settings.
pub fn takes(options: &ao_agent::Options, settings: AgentSettings<'_>) -> Result<(), UnfitCombination> {
    let Some(what) = options.cannot_take(settings) else { return Ok(()) };
    let hint =
        "take that setting out of `agentConfig`, choose another agent, or describe the agent under `tools`";
    Err(UnfitCombination { what, hint: hint.into() })
}

/// Returns the name of a permission profile in manifests.
pub fn permissions_word(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Permissionless => "permissionless",
        Permissions::Default => "default",
        Permissions::AutoEdit => "auto-edit",
        Permissions::Suggest => "suggest",
    }
}

/// Refuses a configuration whose agents cannot run as configured. Returns warnings about settings that are used only
/// on request.
pub fn workable(loaded: &Loaded, registry: &Registry) -> Result<Vec<Warning>, DaemonError> {
    let UnworkableSettings { refused, doubtful } = unworkable(loaded, registry);
    match refused.is_empty() {
        true => Ok(doubtful),
        false => Err(ConfigError { problems: refused }.into()),
    }
}

/// Returns true if `ao start` starts an orchestrator: if one is configured, or if its agent stays at its prompt.
pub fn has_orchestrator(loaded: &Loaded, agents: &AgentsByName) -> bool {
    let config = &loaded.config;
    let agent = config.orchestrator.agent.as_ref().unwrap_or(&config.defaults.agent);
    let stays = || agents.get(agent).is_some_and(|agent| !agent.one_turn());
    config.orchestrator.enabled.unwrap_or_else(stays)
}

/// Finds all settings of agents and runtimes that cannot work, each once.
pub fn unworkable(loaded: &Loaded, registry: &Registry) -> UnworkableSettings {
    let config = &loaded.config;
    let agents = agents_of(loaded, registry);
    let mut search = SettingSearch { loaded, registry, agents, found: UnworkableSettings::default() };
    for name in config.projects.keys() {
        let Some(effective) = config.effective(name) else { continue };
        search.project(&effective);
        search.own_settings(&effective);
        search.teardown(&effective);
    }
    if config.projects.is_empty() {
        let path = ["defaults", "runtime", "plugin"];
        search.pair(&config.defaults.agent, &config.defaults.runtime, &path, true);
    }
    for (n, specialist) in config.agents.iter().enumerate() {
        let number = n.to_string();
        let (runtime, path) = match &specialist.runtime {
            Some(runtime) => (runtime, vec!["agents", number.as_str(), "runtime", "plugin"]),
            None => (&config.defaults.runtime, vec!["agents", number.as_str(), "tool"]),
        };
        search.pair(&specialist.tool, runtime, &path, false);
        let path = ["agents", number.as_str(), "config", "agentConfig"];
        let settings = &specialist.config.agent_config;
        search.settings(&specialist.tool, (settings, settings.mode), runtime, &path, false);
    }
    search.found
}

struct SettingSearch<'a> {
    loaded: &'a Loaded,
    registry: &'a Registry,
    agents: AgentsByName,
    found: UnworkableSettings,
}

impl SettingSearch<'_> {
    /// Checks the agents that a project uses by default.
    fn project(&mut self, effective: &Effective<'_>) {
        let own = effective.project.runtime.is_some();
        let path: &[&str] = match own {
            true => &["projects", effective.name, "runtime", "plugin"],
            false => &["defaults", "runtime", "plugin"],
        };
        let mut used = vec![effective.agent];
        if has_orchestrator(self.loaded, &self.agents) {
            used.push(effective.orchestrator);
        }
        for name in used {
            match self.specialist(name) {
                Some(Specialist { tool, runtime, .. }) => {
                    let (tool, runtime) = (tool.clone(), runtime.clone());
                    self.pair(&tool, runtime.as_ref().unwrap_or(effective.runtime), path, true);
                }
                None => self.pair(name, effective.runtime, path, true),
            }
        }
    }

    /// Checks the settings of a project's own agent. A specialist has its own settings.
    fn own_settings(&mut self, effective: &Effective<'_>) {
        let (name, agent) = (effective.name, effective.agent);
        if self.specialist(agent).is_some() {
            return;
        }
        let (own, of_worker) = (&effective.project.agent_config, &effective.project.worker.agent_config);
        let (runtime, mode) = (effective.runtime, of_worker.mode.or(own.mode));
        self.settings(agent, (own, mode), runtime, &["projects", name, "agentConfig"], true);
        let path = ["projects", name, "worker", "agentConfig"];
        self.settings(agent, (of_worker, mode), runtime, &path, true);
    }

    /// Checks that teardown commands run where the set-up commands did. They run on this host, after the agent's
    /// process and its surroundings have ended.
    fn teardown(&mut self, effective: &Effective<'_>) {
        let runtime = &effective.runtime.plugin;
        let elsewhere = self.registry.runtime_abilities(runtime).is_some_and(|can| !can.shares_files);
        if elsewhere && !effective.project.teardown.is_empty() {
            let unfit = UnfitCombination {
                what: format!("`teardown` commands run on this host, with which `{runtime}` shares no files"),
                hint: "remove them; what the runtime starts ends with it".into(),
            };
            self.tell(unfit, &["projects", effective.name, "teardown"], true);
        }
    }

    /// Checks the settings of an agent, which is run in this mode.
    fn settings(
        &mut self,
        agent: &str,
        (config, mode): (&AgentConfig, Option<ModeSetting>),
        runtime: &Plugin,
        path: &[&str],
        is_used: bool,
    ) {
        let Some(options) = self.agents.get(agent) else { return };
        let abilities = self.registry.runtime_abilities(&runtime.plugin);
        let mode = mode.map(mode_of).or_else(|| options.default_mode(abilities?));
        let options = in_mode(options, mode);
        let unfit = match (&options, config.mode) {
            (Err(unfit), Some(_)) => Some(unfit.clone()),
            (Ok(options), Some(_)) if abilities.is_some() => {
                holds(options, &runtime.plugin, self.registry).err()
            }
            _ => None,
        };
        if let Some(unfit) = unfit {
            let path: Vec<&str> = path.iter().copied().chain(["mode"]).collect();
            self.tell(unfit, &path, is_used);
        }
        let Ok(options) = &options else { return };
        let (none, permissions) = (AgentSettings::default(), config.permissions.map(permissions_word));
        let wrong = [
            ("permissions", takes(options, AgentSettings { permissions, ..none })),
            ("model", takes(options, AgentSettings { model: config.model.as_deref(), ..none })),
            ("effort", takes(options, AgentSettings { effort: config.effort.as_deref(), ..none })),
        ];
        if config.permissions == Some(Permissions::Suggest) && wrong[0].1.is_ok() {
            let unfit = UnfitCombination {
                what: format!(
                    "with `suggest` the agent `{agent}` only plans: it changes no file and opens no pull request"
                ),
                hint: "use `default` or `auto-edit` for work that is to end in a pull request".into(),
            };
            let path: Vec<&str> = path.iter().copied().chain(["permissions"]).collect();
            self.tell(unfit, &path, false);
        }
        for (key, taken) in wrong {
            if let Err(unfit) = taken {
                let path: Vec<&str> = path.iter().copied().chain([key]).collect();
                self.tell(unfit, &path, is_used);
            }
        }
    }

    fn specialist(&self, name: &str) -> Option<&Specialist> {
        self.loaded.config.agents.iter().find(|specialist| specialist.id == name)
    }

    fn pair(&mut self, agent: &str, runtime: &Plugin, path: &[&str], is_used: bool) {
        let name = runtime.plugin.as_str();
        let unfit = match (self.agents.get(agent), self::runtime(name, self.registry)) {
            (_, Err(unfit)) => Some(unfit),
            (Some(options), Ok(_)) => holds(options, name, self.registry).err(),
            // Invalid descriptions in `tools` are reported by their reader.
            (None, Ok(_)) if self.loaded.config.tools.contains_key(agent) => None,
            (None, Ok(_)) => Some(UnfitCombination {
                what: self.loaded.catalog.not_available(PluginSlot::Agent, agent),
                hint: "describe it under `tools`, or choose one of `ao plugin list`".into(),
            }),
        };
        if let Some(unfit) = unfit {
            self.tell(unfit, path, is_used);
        }
    }

    fn tell(&mut self, UnfitCombination { what, hint }: UnfitCombination, path: &[&str], is_used: bool) {
        let UnworkableSettings { refused, doubtful } = &mut self.found;
        let problem = self.loaded.problem(path, &what, Some(hint));
        let is_known = |known: &Problem| known.what == problem.what && known.place == problem.place;
        if refused.iter().chain(doubtful.iter().map(|warning| &warning.0)).any(is_known) {
            return;
        }
        match is_used {
            true => refused.push(problem),
            false => doubtful.push(Warning(problem)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::registry::{self, Adapter, AdapterMaker, HostDeps};

    fn told(text: &str) -> (Vec<String>, Vec<String>) {
        told_with(&registry::built_in(), text)
    }

    fn told_with(registry: &Registry, text: &str) -> (Vec<String>, Vec<String>) {
        let places = crate::config::places(None).unwrap();
        let places = ao_config::Places { catalog: registry.catalog(), ..places };
        let loaded = ao_config::parse_str("/x/ao.yaml".into(), text, &places).unwrap();
        let UnworkableSettings { refused, doubtful } = unworkable(&loaded, registry);
        let line = |problem: &Problem| format!("{:?} {}", problem.place, problem.what);
        (refused.iter().map(line).collect(), doubtful.iter().map(|warning| line(&warning.0)).collect())
    }

    #[test]
    fn every_known_agent_works_in_every_runtime() {
        let catalog = registry::catalog();
        for agent in catalog.names(PluginSlot::Agent) {
            for runtime in catalog.available(PluginSlot::Runtime) {
                let text = format!("defaults: {{ agent: {agent}, runtime: {runtime} }}\n");
                assert_eq!(told(&text), (vec![], vec![]), "{text}");
            }
        }
    }

    #[test]
    fn what_is_used_is_refused_once_and_what_may_be_asked_for_is_doubted() {
        let (refused, doubtful) =
            told("defaults: { runtime: docker }\nprojects: { a: { path: /a }, b: { path: /b } }\n");
        assert_eq!(doubtful, Vec::<String>::new());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].starts_with("Some((1, 22)) the runtime `docker` is not available in this version yet"),
            "{refused:?}"
        );

        let text =
            "projects: { a: { path: /a } }\nagents:\n  - { id: backend, tool: aider, runtime: docker }\n";
        let (refused, doubtful) = told(text);
        assert_eq!(refused, Vec::<String>::new());
        assert!(
            doubtful[0]
                .starts_with("Some((3, 42)) the runtime `docker` is not available in this version yet"),
            "{doubtful:?}"
        );

        let (refused, _) = told(&format!("{text}defaults: {{ agent: backend }}\n"));
        assert_eq!(refused.len(), 1, "as soon as a project uses it: {refused:?}");
    }

    #[test]
    fn an_agent_on_pipes_is_refused_in_tmux_only() {
        let text = |runtime: &str| {
            format!("defaults: {{ agent: own, runtime: {runtime} }}\ntools: {{ own: {{ program: x }} }}\n")
        };
        assert_eq!(told(&text("process")), (vec![], vec![]));
        let (refused, _) = told(&text("tmux"));
        assert!(
            refused[0].contains("`own` needs pipes for stdin and stdout, which the runtime `tmux` does"),
            "{refused:?}"
        );
    }

    #[test]
    fn teardown_commands_are_refused_where_the_set_up_does_not_run_on_this_host() {
        let mut registry = Registry::built_in();
        let abilities = registry.runtime_abilities("process").unwrap();
        let make = |_: &HostDeps| -> Arc<dyn ao_ports::Runtime> { unreachable!("nothing runs in it") };
        for (name, shares_files) in [("near", true), ("far", false)] {
            let abilities = RuntimeAbilities { shares_files, ..abilities };
            let maker = AdapterMaker::Runtime(abilities, Arc::new(make));
            registry.add(Adapter::new(name, "a runtime", maker));
        }
        let text = |runtime: &str, teardown: &str| {
            format!(
                "projects:\n  a: {{ path: /a, agent: own, runtime: {runtime}, teardown: {teardown} }}\n\
                     tools: {{ own: {{ program: x }} }}\n"
            )
        };
        assert_eq!(told_with(&registry, &text("near", "[make clean]")), (vec![], vec![]));
        let (refused, _) = told_with(&registry, &text("far", "[make clean]"));
        assert!(refused.iter().any(|line| line.contains("`far` shares no files")), "{refused:?}");
        let (refused, _) = told_with(&registry, &text("far", "[]"));
        assert!(!refused.iter().any(|line| line.contains("`far` shares no files")), "{refused:?}");
    }

    /// acceptance: J8
    #[test]
    fn a_permission_profile_or_model_that_an_agent_does_not_have_is_refused() {
        let text = |agent: &str, settings: &str| {
            format!("projects:\n  a:\n    path: /a\n    agent: {agent}\n    agentConfig: {settings}\n")
        };
        for (agent, settings, why) in [
            ("aider", "{ permissions: suggest }", "has no permission profile `suggest`"),
            ("opencode", "{ permissions: auto-edit }", "has no permission profile `auto-edit`"),
            ("goose", "{ model: x }", "cannot use the model `x`"),
            ("gemini", "{ effort: high }", "has no setting for the effort `high`"),
        ] {
            let (refused, _) = told(&text(agent, settings));
            assert!(refused.len() == 1 && refused[0].contains(why), "{agent} {settings}: {refused:?}");
            assert!(refused[0].starts_with("Some((5, "), "{refused:?}");
        }
        let catalog = registry::catalog();
        for agent in catalog.names(PluginSlot::Agent) {
            for word in ["default", "permissionless"] {
                let (refused, _) = told(&text(agent, &format!("{{ permissions: {word} }}")));
                assert_eq!(refused, Vec::<String>::new(), "{agent} {word}");
            }
        }
        let (refused, doubtful) =
            told(&text("claude-code", "{ permissions: suggest, model: opus, effort: high }"));
        assert!(refused.is_empty() && doubtful[0].contains("only plans"), "{refused:?} {doubtful:?}");
        let specialist =
            "agents: [{ id: x, tool: aider, config: { agentConfig: { permissions: suggest } } }]\n";
        let (refused, doubtful) = told(specialist);
        assert!(refused.is_empty() && doubtful[0].contains("`suggest`"), "{refused:?} {doubtful:?}");
    }

    /// acceptance: J8
    #[test]
    fn a_mode_that_an_agent_or_its_runtime_does_not_have_is_refused() {
        let text = |agent: &str, runtime: &str, settings: &str| {
            format!(
                "projects:\n  a:\n    path: /a\n    agent: {agent}\n    runtime: {runtime}\n    agentConfig: {{ {settings} }}\n"
            )
        };
        for (agent, runtime, mode, why) in [
            ("aider", "process", "protocol", "the agent `aider` has no mode `protocol`"),
            ("codex", "process", "terminal", "the agent `codex` has no mode `terminal`"),
            ("claude-code", "tmux", "protocol", "the agent `claude-code` needs pipes for stdin and stdout"),
        ] {
            let (refused, _) = told(&text(agent, runtime, &format!("mode: {mode}")));
            assert!(refused.len() == 1 && refused[0].contains(why), "{agent} {mode}: {refused:?}");
            assert!(refused[0].starts_with("Some((6, "), "{refused:?}");
        }
        for (agent, runtime, settings) in [
            ("claude-code", "process", "mode: protocol, model: opus, effort: high"),
            ("claude-code", "tmux", "mode: terminal, permissions: permissionless"),
            ("aider", "tmux", "mode: turns"),
            ("codex", "process", "mode: turns"),
            // Without one, the settings are those of the protocol.
            ("codex", "process", "model: gpt-5, effort: high, permissions: auto-edit"),
            ("opencode", "process", "model: x/y, permissions: permissionless"),
            ("opencode", "tmux", "model: x/y"),
        ] {
            let found = told(&text(agent, runtime, settings));
            assert_eq!(found, (vec![], vec![]), "{agent} {runtime} {settings}");
        }
    }

    #[test]
    fn an_agent_of_a_plugin_from_elsewhere_is_refused() {
        let (refused, _) = told("plugins: [{ name: hal }]\ndefaults: { agent: hal }\n");
        assert!(refused[0].contains("`hal` comes from a plugin"), "{refused:?}");
    }
}
