//! The agents of a simulation: those of each project, as configured.

use std::collections::BTreeMap;

use ao_config::shape::{AgentConfig, Config, Defaults, Specialist};
use ao_core::input::SpawnRequest;
use ao_core::session::{AgentAbilities, AgentChoice, SessionRole};
use ao_core::{ProjectId, State, TaskId};

pub(super) struct ProjectAgents {
    /// The default agent of each project, and how it is started.
    usual: BTreeMap<ProjectId, (String, Vec<AgentConfig>)>,
    specialists: Vec<Specialist>,
}

impl ProjectAgents {
    pub(super) fn of(config: &Config) -> ProjectAgents {
        let mut usual = BTreeMap::new();
        for effective in config.projects.keys().filter_map(|name| config.effective(name)) {
            let project = effective.project;
            let said = vec![project.worker.agent_config.clone(), project.agent_config.clone()];
            usual.insert(ProjectId::new(effective.name), (effective.agent.to_owned(), said));
        }
        ProjectAgents { usual, specialists: config.agents.clone() }
    }

    /// Builds the request for a task's session, with the named agent or the project's default one.
    pub(super) fn request(&self, state: &State, task: &TaskId, agent: Option<&str>) -> SpawnRequest {
        let (usual, of_project) = match self.usual.get(&task.project) {
            Some((usual, said)) => (usual.as_str(), said.as_slice()),
            // A project that only the record knows.
            None => ("", [].as_slice()),
        };
        let name = agent.unwrap_or(usual);
        let specialist = self.specialists.iter().find(|specialist| specialist.id == name);
        let own = specialist.map(|specialist| &specialist.config.agent_config);
        let account = own.into_iter().chain(of_project).find_map(|config| config.account.clone());
        let facts = state.tasks.get(task);
        let title = facts.map_or_else(|| format!("Issue {}", task.key), |facts| facts.title.clone());
        SpawnRequest {
            project: task.project.clone(),
            task: Some(task.clone()),
            role: SessionRole::Worker,
            prompt: format!("Work on issue {}: {title}", task.key),
            title,
            name: None,
            branch: None,
            origin: ao_core::setup::Origin::default(),
            agent: AgentChoice {
                name: specialist.map_or(name, |specialist| &specialist.tool).to_owned(),
                specialist: specialist.map(|specialist| specialist.id.clone()),
                account,
                abilities: AgentAbilities { resume: true, ..AgentAbilities::default() },
                ..AgentChoice::default()
            },
            runtime: Defaults::default().runtime.plugin,
            workspace: Defaults::default().workspace.plugin,
            priority: facts.map_or(0, |facts| facts.priority),
            limits: ao_core::budget::SpendLimits::default(),
            trusted: true,
        }
    }
}
