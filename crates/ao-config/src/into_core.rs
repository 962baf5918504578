//! Converts a configuration to the core's settings, projects and reactions.

use std::collections::BTreeMap;

use ao_core::DaemonSettings;
use ao_core::assign::{self as core_assign, AutoAssign};
use ao_core::budget::SpendLimits;
use ao_core::forecast::ForecastConfig;
use ao_core::notice::NoticeLevel;
use ao_core::project::ProjectConfig;
use ao_core::queue::{BranchUpdate, QueueRules};
use ao_core::reaction::ReactionPatches;
use ao_core::setup::{Environment, IncludeHow, IncludedFiles, PortRange, SecretRef, SecretSource, Setup};

use crate::catalog::{PluginCatalog, PluginSlot};
use crate::refs::{Env, sole_ref};
use crate::shape::{
    AgentConfig, AutoAssignConfig, BudgetConfig, Config, EnvConfig, IncludeMode, MergeQueueConfig, Plugin,
    PortsConfig, Priority, Project, Reactions, Specialist, UpdateName,
};

/// The settings of one project, with the defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective<'a> {
    pub name: &'a str,
    pub project: &'a Project,
    pub runtime: &'a Plugin,
    /// The agent of its sessions.
    pub agent: &'a str,
    /// The agent of its orchestrator.
    pub orchestrator: &'a str,
    pub workspace: &'a Plugin,
    pub tracker: &'a Plugin,
    /// The forge, if one is configured. Otherwise it follows from the tracker.
    pub scm: Option<&'a Plugin>,
    pub notifiers: &'a [String],
    /// The start of the names of its sessions.
    pub session_prefix: &'a str,
}

impl Effective<'_> {
    /// Returns the forge: the configured one, or the one that goes with the tracker.
    pub fn forge(&self, catalog: &PluginCatalog) -> Plugin {
        let tracker = self.tracker.plugin.as_str();
        let service = catalog.service(PluginSlot::Tracker, tracker);
        self.scm.cloned().unwrap_or_else(|| Plugin::named(service.forge.unwrap_or(tracker)))
    }
}

impl Config {
    /// Returns limits and delays for the daemon, with the reaction to each kind of incident.
    pub fn settings(&self) -> DaemonSettings {
        DaemonSettings {
            daily: self.daily_budget.core(),
            reactions: self.reactions.core(),
            agent_reactions: self.reactions_of_agents(),
            ..self.lifecycle.settings()
        }
    }

    /// Returns the reactions to incidents of agents, by the names of tools and specialists.
    pub fn reactions_of_agents(&self) -> BTreeMap<String, ReactionPatches> {
        let mut all = self.agent_reactions.clone();
        for specialist in &self.agents {
            let mine = all.entry(specialist.id.clone()).or_default();
            *mine = mine.overlaid(&specialist.config.reactions);
        }
        all.into_iter()
            .filter(|(_, reactions)| !reactions.is_empty())
            .map(|(name, reactions)| (name, reactions.core()))
            .collect()
    }

    /// Returns the reactions of a project: its own merged over those at the top, field by field.
    pub fn reactions_of(&self, project: &str) -> Reactions {
        match self.projects.get(project) {
            Some(project) => self.reactions.overlaid(&project.reactions),
            None => self.reactions.clone(),
        }
    }

    /// Returns the hooks of a project in the order in which they run: those at the top, then its own.
    pub fn hooks_of(&self, project: &str) -> Vec<ao_core::hook::Hook> {
        let own = self.projects.get(project).map(|project| project.hooks.core()).unwrap_or_default();
        self.hooks.core().into_iter().chain(own).collect()
    }

    /// Returns the rules by which a project picks up issues on its own, and the specialists that are for it.
    pub fn assignment_of(&self, name: &str) -> (Option<AutoAssign>, Vec<core_assign::SpecialistAgent>) {
        let Some(effective) = self.effective(name) else { return (None, vec![]) };
        let of_project = [&effective.project.worker.agent_config, &effective.project.agent_config];
        let account = |own: Option<&AgentConfig>, tool: &str| {
            let mut said = own.into_iter().chain(of_project);
            said.find_map(|config| config.account.clone()).unwrap_or_else(|| tool.to_owned())
        };
        let set = |labels: &[String]| labels.iter().cloned().collect();
        let here = |specialist: &&Specialist| {
            let projects = &specialist.config.filters.projects;
            projects.is_empty() || projects.iter().any(|project| project == name)
        };
        let specialists = self.agents.iter().filter(here).map(|specialist| core_assign::SpecialistAgent {
            id: specialist.id.clone(),
            labels: set(&specialist.config.filters.labels),
            exclude_labels: set(&specialist.config.filters.exclude_labels),
            named: !specialist.config.filters.projects.is_empty(),
            skills: specialist.config.skills.clone(),
            max_parallel: specialist.max_parallel,
            account: account(Some(&specialist.config.agent_config), &specialist.tool),
        });
        let said = effective.project.auto_assign.clone();
        let auto = said.or_else(|| self.orchestrator.auto_assign.then(AutoAssignConfig::default));
        let own = self.agents.iter().find(|specialist| specialist.id == effective.agent);
        let auto = auto.filter(|auto| auto.enabled).map(|auto| AutoAssign {
            labels: set(&auto.labels),
            exclude_labels: set(&auto.exclude_labels),
            approval_label: auto.approval_label,
            specialists_only: auto.specialists_only,
            account: match own {
                Some(own) => account(Some(&own.config.agent_config), &own.tool),
                None => account(None, effective.agent),
            },
        });
        (auto, specialists.collect())
    }

    /// Returns a project for the core, or `None` if no project has that name. Reactions for all projects are not part
    /// of it: they belong to the [settings](Config::settings).
    pub fn project_config(&self, name: &str, env: &Env) -> Option<ProjectConfig> {
        let (auto_assign, specialists) = self.assignment_of(name);
        let config = self.effective(name)?.project.core(env);
        let landing = self.reactions_of(name).landing();
        Some(ProjectConfig { hooks: self.hooks_of(name), auto_assign, specialists, landing, ..config })
    }

    /// Returns the settings of a project with the defaults filled in, or `None` if no project has that name.
    pub fn effective(&self, name: &str) -> Option<Effective<'_>> {
        let (name, project) = self.projects.get_key_value(name)?;
        let defaults = &self.defaults;
        let tracker = project.tracker.as_ref().unwrap_or(&defaults.tracker);
        let agent = project.agent.as_deref().unwrap_or(&defaults.agent);
        let orchestrator = project.orchestrator.agent.as_deref().or(self.orchestrator.agent.as_deref());
        Some(Effective {
            name,
            project,
            runtime: project.runtime.as_ref().unwrap_or(&defaults.runtime),
            agent: project.worker.agent.as_deref().unwrap_or(agent),
            orchestrator: orchestrator.unwrap_or(agent),
            workspace: project.workspace.as_ref().unwrap_or(&defaults.workspace),
            scm: project.scm.as_ref().or(defaults.scm.as_ref()),
            tracker,
            notifiers: project.notifiers.as_deref().unwrap_or(&defaults.notifiers),
            session_prefix: project.session_prefix.as_deref().unwrap_or(name),
        })
    }
}

impl Priority {
    pub fn core(self) -> NoticeLevel {
        match self {
            Priority::Urgent => NoticeLevel::Urgent,
            Priority::Action => NoticeLevel::Action,
            Priority::Warning => NoticeLevel::Warning,
            Priority::Info => NoticeLevel::Info,
        }
    }
}

impl Project {
    /// Converts it for the core. `env` decides between a reference and its fallback.
    pub fn core(&self, env: &Env) -> ProjectConfig {
        let include = self.include.iter().map(|include| IncludedFiles {
            pattern: include.pattern.clone(),
            how: match include.how {
                IncludeMode::Copy => IncludeHow::Copy,
                IncludeMode::Symlink => IncludeHow::Symlink,
                IncludeMode::Reflink => IncludeHow::Reflink,
            },
        });
        ProjectConfig {
            path: self.path.to_string(),
            default_branch: self.default_branch.clone(),
            max_live: self.max_parallel_agents,
            daily: self.daily_budget.core(),
            per_task: self.task_budget.core(),
            total: self.total_budget.core(),
            auto_resume: self.auto_resume,
            setup: Setup {
                include: include.collect(),
                symlinks: self.symlinks.clone(),
                post_create: self.post_create.clone(),
                teardown: self.teardown.clone(),
                timeout: self.setup_timeout.0,
            },
            environment: self.env.core(env),
            ports: self.ports.as_ref().map(PortsConfig::core),
            reactions: self.reactions.core(),
            hooks: self.hooks.core(),
            conflict_forecast: ForecastConfig {
                tell: self.conflict_forecast.tell,
                hold: self.conflict_forecast.hold,
            },
            merge_queue: self.merge_queue.as_ref().map(MergeQueueConfig::core),
            leave_issues_open: !self.close_merged_issues,
            // `Config::project_config`, which knows the whole file, and the code that combines several files fill in
            // the rest.
            ..ProjectConfig::default()
        }
    }
}

impl MergeQueueConfig {
    pub fn core(&self) -> QueueRules {
        QueueRules {
            parallel: self.parallel,
            batch: self.batch,
            update: match self.update {
                UpdateName::None => BranchUpdate::None,
                UpdateName::Rebase => BranchUpdate::Rebase,
            },
        }
    }
}

impl EnvConfig {
    /// Converts it without the value of any variable, because the result is stored in the log: a reference becomes a
    /// secret.
    pub fn core(&self, env: &Env) -> Environment {
        let mut core = Environment { pass: self.pass.clone(), ..Environment::default() };
        for (name, value) in &self.set {
            match sole_ref(value) {
                Some((from, Some(or))) if env.get(from).is_none() => {
                    core.set.insert(name.clone(), or.to_owned());
                }
                Some((from, _)) => {
                    core.secrets
                        .push(SecretRef { name: name.clone(), from: SecretSource::Env(from.to_owned()) });
                }
                None => {
                    core.set.insert(name.clone(), value.replace("$${", "${"));
                }
            }
        }
        for (name, secret) in &self.secrets {
            let from = match (&secret.env, &secret.file) {
                (_, Some(file)) => SecretSource::File(file.to_string()),
                (Some(variable), None) => SecretSource::Env(
                    sole_ref(variable).map_or(variable.as_str(), |(name, _)| name).to_owned(),
                ),
                (None, None) => continue,
            };
            core.secrets.push(SecretRef { name: name.clone(), from });
        }
        core
    }
}

impl PortsConfig {
    /// Returns the last port that may be leased.
    pub fn last(&self) -> u16 {
        let names = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        self.last.unwrap_or_else(|| self.first.saturating_add(names.saturating_sub(1)))
    }

    fn core(&self) -> PortRange {
        PortRange {
            names: self.names.clone(),
            first: self.first,
            last: self.last(),
            exclusive: self.exclusive,
        }
    }
}

impl BudgetConfig {
    pub fn core(&self) -> SpendLimits {
        SpendLimits {
            // Budgets are far below the range in which a float loses millionths.
            micros: self.usd.map(|usd| (usd * 1_000_000.0).round() as u64),
            tokens: self.tokens,
            turns: self.turns,
            seconds: self.time.map(|time| time.0.as_secs()),
        }
    }
}
