//! Applies a configuration: the agents, the channels, the limits and the projects, as the engine gets them.
//!
//! An error in one part stops nothing else. It is reported, and the previous setting stays: the agent as it was
//! described before, or the built-in one of that name; the project as the engine knows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_agent::OptionsError;
use ao_config::{Loaded, Problem};
use ao_core::project::ProjectInput;
use ao_core::{Input, ProjectId, Refusal};
use ao_engine::AskError;
use ao_notifier::Page;
use ao_ports::Notifier;
use camino::Utf8Path;

use super::InForce;
use crate::daemon::Daemon;
use crate::error::{DaemonError, ErrorKind};
use crate::looks::ForgeConfig;
use crate::registry::Registry;
use crate::spawn::nearest;
use crate::{channels, on_disk, secrets};

/// Agents by the names that people use.
pub type AgentsByName = BTreeMap<String, ao_agent::Options>;

/// The result of reading the configuration again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadReport {
    pub changes: Vec<String>,
    /// Settings that count only from the next start.
    pub needs_restart: Vec<String>,
}

impl Daemon {
    /// Gives the configuration to the engine, and remembers it. Returns the changes.
    pub(crate) async fn put_in_force(&self, mut configs: InForce) -> Result<Vec<String>, DaemonError> {
        let (agents, wrong) = agents(&configs, &self.config.agents());
        configs.not_taken = wrong;
        configs.not_taken.extend(configs.unworkable());
        let channels = channels::open(&configs, &self.config.page);
        let env = ao_config::Env::of_process();
        let projects = configs.projects();
        // Before anything is started with them, or sent.
        let variable = |name: &str| std::env::var(name).ok();
        for known in projects.values() {
            let project = known.effective().project;
            let checks = project.checks.iter().map(|check| check.env.core(&env));
            let environments = checks.chain([project.core(&env).environment]);
            secrets::learn(environments.flat_map(|of| secrets::of_project(&of, variable)));
        }
        secrets::learn(secrets::of_channels(&configs.main.config.notifiers, &env));
        let forges = projects.iter().map(|(id, known)| (id.clone(), ForgeConfig::of(known, &env))).collect();
        self.plug(agents.values().cloned().collect(), channels.notifiers, forges).await?;
        *self.config.agents() = agents;
        let handle = &self.handle;
        let mut changes = Vec::new();
        let mut settings = configs.main.config.settings();
        settings.sharing_runtimes = configs.registry().sharing_runtimes();
        match handle.ask(Input::Configure(Box::new(settings))).await {
            Ok(receipt) if receipt.events.is_empty() => {}
            Ok(_) => changes.push("limits and reactions have changed".to_owned()),
            Err(AskError::Refused(err)) => configs.not_taken.push(err.to_string()),
            Err(err) => return Err(err.into()),
        }
        for (id, known) in &projects {
            let Some(mut config) = known.loaded.config.project_config(&known.name, &env) else { continue };
            // A later file's settings for all of its projects become settings of each of them.
            if !Arc::ptr_eq(&known.loaded, &configs.main) {
                config.reactions = known.loaded.config.reactions_of(&known.name).core();
                config.agent_reactions = known.loaded.config.reactions_of_agents();
            }
            config.merge_limits = self.looks.scm(id).ok().and_then(|scm| scm.merge_abilities().limits());
            let input = ProjectInput::Configure(Box::new(config));
            let before = id.clone();
            let is_new = handle.view(move |state| !state.projects.contains_key(&before)).await?;
            match handle.ask(Input::Project { project: id.clone(), input }).await {
                Ok(receipt) if receipt.events.is_empty() => {}
                Ok(_) => {
                    changes.push(match is_new {
                        true => format!("the project `{id}` was added"),
                        false => format!("the project `{id}` has changed"),
                    });
                    // It may pick up its issues by itself from now on.
                    self.looks.look_at(id);
                }
                Err(AskError::Refused(err)) => configs.not_taken.push(err.to_string()),
                Err(err) => return Err(err.into()),
            }
        }
        if configs.is_whole() {
            let known = handle.view(|state| state.projects.keys().cloned().collect::<Vec<_>>()).await?;
            for id in known.into_iter().filter(|id| !projects.contains_key(id)) {
                let remove = Input::Project { project: id.clone(), input: ProjectInput::Remove };
                // One with sessions left stays until they are gone.
                if handle.ask(remove).await.is_ok() {
                    changes.push(format!("the project `{id}` was removed"));
                }
            }
        }
        configs.remember(&self.config.data_dir)?;
        for problem in configs.problems().iter().chain(&channels.problems) {
            tracing::warn!(%problem, "the configuration");
        }
        self.config.set(configs);
        Ok(changes)
    }

    /// Takes the projects of a configuration file into care, and remembers the file. Returns the ids of its projects.
    pub async fn add_project(&self, file: &Utf8Path) -> Result<Vec<String>, DaemonError> {
        let _one_at_a_time = self.config.changing.lock().await;
        if !file.is_absolute() {
            return Err(DaemonError::new(ErrorKind::BadPath, format!("`{file}` is no absolute path")));
        }
        let (before, added) = (self.config.in_force(), file.to_owned());
        let configs = on_disk(move || before.with(&added)).await?.map_err(bad_config)?;
        let named = configs.projects();
        let named = named.iter().filter(|(_, known)| known.file.as_deref() == Some(file));
        let named: Vec<String> = named.map(|(id, _)| id.to_string()).collect();
        self.put_in_force(configs).await.map_err(bad_config)?;
        Ok(named)
    }

    /// Forgets a project. Nothing is deleted from disk; a project with live sessions is refused.
    pub async fn remove_project(&self, project: &str) -> Result<(), DaemonError> {
        let _one_at_a_time = self.config.changing.lock().await;
        let id = ProjectId::new(project);
        let configs = self.config.in_force();
        let Some(file) = configs.file_to_forget(project).map(ToOwned::to_owned) else {
            return Err(not_forgotten(project, &configs));
        };
        let remove = || self.handle.ask(Input::Project { project: id.clone(), input: ProjectInput::Remove });
        let before = configs.clone();
        let without = on_disk(move || before.without(&file)).await?.map_err(bad_config)?;
        // The engine comes last: a project that it has forgotten, and the list of files has not, would come back.
        self.put_in_force(without).await.map_err(bad_config)?;
        match remove().await {
            // It may be gone by what is in force already.
            Ok(_) | Err(AskError::Refused(Refusal::UnknownProject(_))) => Ok(()),
            Err(err) => {
                self.put_in_force(configs).await.map_err(bad_config)?;
                Err(DaemonError::new(ErrorKind::ProjectInUse, err.to_string()))
            }
        }
    }

    /// Reads the configuration again. If anything is wrong with it, the old one stays in force.
    pub async fn reload(&self) -> Result<ReloadReport, DaemonError> {
        let _one_at_a_time = self.config.changing.lock().await;
        let before = self.config.in_force();
        let configs = on_disk(move || before.again()).await?.map_err(bad_config)?;
        let changes = self.put_in_force(configs).await.map_err(bad_config)?;
        let problems = self.config.configs().problems();
        let needs_restart = self.config.needs_restart();
        match problems.is_empty() {
            true => Ok(ReloadReport { changes, needs_restart }),
            false => {
                let mut problem = DaemonError::new(
                    ErrorKind::Config,
                    "the configuration has errors; the previous one stays in force",
                );
                problem.detail = Some(problems.join("\n"));
                Err(problem.hint("`ao config check` lists the errors"))
            }
        }
    }
}

/// The agents that a daemon begins with, so that it knows those of the sessions that it finds again.
pub fn first_agents(configs: &InForce) -> Vec<ao_agent::Options> {
    agents(configs, &AgentsByName::new()).0.into_values().collect()
}

/// The channels that a daemon begins with.
pub fn first_channels(configs: &InForce, page: &Page) -> BTreeMap<String, Arc<dyn Notifier>> {
    channels::open(configs, page).notifiers
}

/// The agents that we know, and those that the configuration describes; and what of it cannot be.
///
/// The user's own file and the first one may describe ours anew, as they speak for all. A later one speaks for its own
/// projects, so it may add agents and replaces none. What makes no sense leaves in its place what was there before.
fn agents(configs: &InForce, before: &AgentsByName) -> (AgentsByName, Vec<String>) {
    let mut agents = configs.registry().agents();
    let mut wrong = Vec::new();
    let (own, files) = configs.by_file();
    let mut take = |file: Option<&Utf8Path>, loaded: &Loaded, may_replace: bool| {
        for (name, manifest) in &loaded.config.tools {
            // What the user's own file describes is in every configuration.
            if file.is_some() && own.config.tools.get(name) == Some(manifest) {
                continue;
            }
            let options = match manifest_of(loaded, name, manifest) {
                Ok(options) => options,
                Err(problem) => {
                    wrong.push(on_one_line(&problem));
                    if let Some(before) =
                        before.get(name).filter(|_| may_replace || !agents.contains_key(name))
                    {
                        agents.insert(name.clone(), before.clone());
                    }
                    continue;
                }
            };
            match agents.get(name) {
                Some(there) if *there != options && !may_replace => {
                    let file = file.unwrap_or("".into());
                    wrong.push(format!(
                        "`tools.{name}` of `{file}` would replace an agent that other projects use; give it another name"
                    ));
                }
                _ => {
                    agents.insert(name.clone(), options);
                }
            }
        }
    };
    take(None, own, true);
    for (n, (file, said)) in files.enumerate() {
        if let Some(loaded) = said {
            take(Some(file), loaded, n == 0);
        }
    }
    (agents, wrong)
}

/// Returns what is wrong with the agents that a configuration describes, each thing at its place.
pub fn strange_tools(loaded: &Loaded) -> Vec<Problem> {
    let read = loaded.wrong_tools();
    let made = loaded.config.tools.iter().filter(|(name, _)| !read.iter().any(|(wrong, _)| wrong == *name));
    let made = made.filter_map(|(name, manifest)| manifest_of(loaded, name, manifest).err());
    read.iter().map(|(_, problem)| problem.clone()).chain(made).collect()
}

/// A problem without the line that it stands on, for lists and logs.
fn on_one_line(problem: &Problem) -> String {
    let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    let Problem { file, what, .. } = problem;
    match problem.place {
        Some((line, column)) => format!("`{file}:{line}:{column}`: {what}{hint}"),
        None => format!("`{file}`: {what}{hint}"),
    }
}

/// The agents that a configuration can name: those that we know, and those that it describes and that make sense.
pub fn agents_of(loaded: &Loaded, registry: &Registry) -> AgentsByName {
    let own = loaded.config.tools.iter();
    let own =
        own.filter_map(|(name, manifest)| Some((name.clone(), manifest_of(loaded, name, manifest).ok()?)));
    registry.agents().into_iter().chain(own).collect()
}

type AgentManifest = serde_json::Map<String, serde_json::Value>;

fn manifest_of(loaded: &Loaded, name: &str, manifest: &AgentManifest) -> Result<ao_agent::Options, Problem> {
    if let Some((_, wrong)) = loaded.wrong_tools().iter().find(|(wrong, _)| wrong == name) {
        return Err(wrong.clone());
    }
    let problem = |key: &str, what: String| {
        loaded.problem(&["tools", name, key], &format!("`tools.{name}` is invalid: {what}"), None)
    };
    let mut manifest = manifest.clone();
    manifest.entry("name").or_insert_with(|| name.into());
    let options: ao_agent::Options =
        serde_json::from_value(manifest.into()).map_err(|err| problem("", err.to_string()))?;
    options.check().map_err(|err| {
        let key = match &err {
            OptionsError::NoTerminal { .. } => "io",
            OptionsError::NoProof { .. } => "prompt",
            _ => "",
        };
        problem(key, err.to_string())
    })?;
    // People use the key as its name, so another name inside would take the place of another agent.
    match options.name == name {
        true => Ok(options),
        false => Err(problem("name", format!("it calls itself `{}`; leave out its `name`", options.name))),
    }
}

/// Returns the error for a project that cannot be forgotten with its file: there is none, or the file names others too.
fn not_forgotten(project: &str, configs: &InForce) -> DaemonError {
    let projects = configs.projects();
    match projects.get(&ProjectId::new(project)) {
        Some(known) => {
            let file = known.loaded.main_file().map(ToString::to_string).unwrap_or_default();
            let what = format!("the project `{project}` is in `{file}`, with others");
            DaemonError::new(ErrorKind::ConfiguredProject, what)
                .hint(format!("take it out with `ao remove-project {project}`"))
        }
        None => {
            let names: Vec<String> = projects.keys().map(ToString::to_string).collect();
            let mut problem =
                DaemonError::new(ErrorKind::UnknownProject, format!("there is no project `{project}`"));
            problem.candidates = nearest(project, &names);
            problem
        }
    }
}

fn bad_config(err: DaemonError) -> DaemonError {
    let hints = err.hints.clone();
    DaemonError { hints, ..DaemonError::config(err.to_plain()) }
}
