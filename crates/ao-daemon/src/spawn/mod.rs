//! Spawn orders: a draft of a session made whole by the configuration, the tracker and the forge.

mod named;
mod rules;

use std::sync::Arc;

use ao_agent::AgentSettings;
use ao_config::Effective;
use ao_config::catalog::PluginSlot;
use ao_config::shape::{AgentConfig, Specialist};
use ao_core::budget::SpendLimits;
use ao_core::input::SpawnRequest;
use ao_core::outside::{self, QuotedKind, TextSource, one_line};
use ao_core::session::{AgentChoice, AgentMode, Session, SessionRole};
use ao_core::setup::Origin;
use ao_core::{ProjectId, TaskId};
use ao_engine::Handle;
use ao_ports::TaskSeen;

use self::rules::rules;
use crate::adapters::DaemonAdapters;
use crate::config::apply::AgentsByName;
use crate::config::combination::{self, UnfitCombination};
use crate::config::{ActiveConfig, InForce, KnownProject};
use crate::error::{DaemonError, ErrorKind};
use crate::looks::ProjectLooks;
use crate::repository::{self, GitRepository};
use crate::{chores, on_disk, secrets};

/// A session that is asked for. The configuration fills in what it leaves open.
#[derive(Debug, Clone, Default)]
pub struct SpawnDraft {
    /// May be left out if there is only one project.
    pub project: Option<String>,
    /// An issue by its tracker's own key: `42`, `#42`, `my-app#42`, `GH-789`. It must exist.
    pub issue: Option<String>,
    pub title: Option<String>,
    /// The task of the agent; made of the issue and the title by default.
    pub prompt: Option<String>,
    pub name: Option<String>,
    pub branch: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub runtime: Option<String>,
    pub workspace: Option<String>,
    /// The number of a pull request whose branch is taken over.
    pub claim_pr: Option<u64>,
    pub role: Option<SessionRole>,
    pub priority: Option<i32>,
    /// True if a person answers for an issue that an outsider wrote.
    pub trust: bool,
    /// True to start although the tracker cannot be asked about the issue.
    pub force: bool,
}

/// Makes whole spawn orders. Routes, reactions and reviews all order sessions here.
#[derive(Debug)]
pub struct SpawnOrders {
    pub handle: Handle,
    pub config: Arc<ActiveConfig>,
    pub looks: Arc<ProjectLooks>,
    pub adapters: Arc<DaemonAdapters>,
    /// False in a simulation, where no machine can be asked about its files, repositories and memory.
    pub asks_host: bool,
}

impl SpawnOrders {
    /// Makes a whole order of a draft: what the draft leaves open is as the configuration has it.
    pub async fn order(&self, draft: SpawnDraft) -> Result<SpawnRequest, DaemonError> {
        let (mut draft, configs) = (with_project_of_issue(draft)?, self.config.in_force());
        // Names and branches are made of them.
        for text in [&mut draft.title, &mut draft.prompt].into_iter().flatten() {
            secrets::known().mask_in(text);
        }
        let plugged = self.plugged();
        let outside = self.outside(&draft, &configs).await?;
        let whole = move || whole(&draft, &configs, &outside, &plugged);
        if !self.asks_host {
            return whole();
        }
        let order = on_disk(whole).await??;
        self.is_repository(&order.project).await?;
        // Measured before the session is admitted, so that none slips in between two looks.
        chores::tell_memory(&self.handle).await?;
        Ok(order)
    }

    /// Returns the runtime in which a session that is restored goes on: the one that is asked for, or the one that is
    /// configured now.
    pub async fn runtime_of(
        &self,
        session: &Session,
        asked_for: Option<&str>,
    ) -> Result<String, DaemonError> {
        let (session, configs, plugged) = (session.clone(), self.config.in_force(), self.plugged());
        let asked_for = asked_for.map(str::to_owned);
        let runtime = move || runtime_of(&session, asked_for.as_deref(), &configs, &plugged);
        if self.asks_host { on_disk(runtime).await? } else { runtime() }
    }

    /// Refuses a project whose folder is no repository that work can begin in, before anything is made.
    async fn is_repository(&self, project: &ProjectId) -> Result<(), DaemonError> {
        let projects = self.config.configs().projects();
        let Some(path) = projects.get(project).map(|known| known.effective().project.path.clone()) else {
            return Ok(());
        };
        // Asking git takes a while, and the usual case can be seen at once.
        let folder = path.clone();
        if on_disk(move || repository::is_born(&folder)).await? {
            return Ok(());
        }
        let mut wrong = match GitRepository::at(&path).await {
            Ok(_) => return Ok(()),
            Err(err) => DaemonError::from(err),
        };
        if let ErrorKind::Environment = wrong.kind {
            wrong.kind = ErrorKind::NoRepository;
        }
        Err(wrong)
    }

    fn plugged(&self) -> PluggedAgents {
        PluggedAgents { adapters: self.adapters.clone(), described: self.config.agents().clone() }
    }
}

/// The agents that are plugged in, with their descriptions: what the names in a draft can stand for.
struct PluggedAgents {
    adapters: Arc<DaemonAdapters>,
    described: AgentsByName,
}

impl PluggedAgents {
    /// Returns the mode that an agent is run in: the configured one, or that which it has by default in this runtime.
    fn mode(
        &self,
        agent: &str,
        mode: Option<AgentMode>,
        runtime: &str,
    ) -> Result<Option<AgentMode>, UnfitCombination> {
        let Some(options) = self.described.get(agent) else {
            return match mode {
                // Made by the embedding program, with one way to run it.
                Some(_) => combination::in_mode(&unknown_agent(agent), mode).map(|_| None),
                None => Ok(None),
            };
        };
        let abilities = || self.adapters.registry.runtime_abilities(runtime);
        match mode {
            Some(_) => combination::in_mode(options, mode).map(|_| mode),
            None => Ok(abilities().and_then(|abilities| options.default_mode(abilities))),
        }
    }

    /// Returns the program that an agent is, if that is known.
    fn program(&self, agent: &str) -> Option<String> {
        self.described.get(agent).map(|known| known.program.clone())
    }

    /// Refuses a runtime that cannot hold an agent. The needs of an agent that the embedding program made are not known.
    fn fits(&self, agent: &AgentChoice, runtime: &str) -> Result<(), UnfitCombination> {
        self.described.get(&agent.name).map_or(Ok(()), |options| {
            let options = combination::in_mode(options, agent.mode)?;
            combination::holds(&options, runtime, &self.adapters.registry)
        })
    }

    /// Returns the names of a slot that work.
    fn names(&self, slot: PluginSlot) -> Vec<String> {
        self.adapters.registry.catalog().available(slot).into_iter().map(str::to_owned).collect()
    }

    /// Refuses settings that an agent cannot be started with. Those of an agent that the embedding
    /// program made are checked at launch.
    fn takes(
        &self,
        agent: &str,
        mode: Option<AgentMode>,
        settings: AgentSettings<'_>,
    ) -> Result<(), UnfitCombination> {
        self.described
            .get(agent)
            .map_or(Ok(()), |options| combination::takes(&combination::in_mode(options, mode)?, settings))
    }
}

/// An agent of the embedding program, of which only the name is known.
fn unknown_agent(name: &str) -> ao_agent::Options {
    ao_agent::Options { name: name.to_owned(), ..ao_agent::Options::default() }
}

fn is_installed(program: &str) -> bool {
    crate::program::find(program).is_some()
}

/// The issue and the branch that a draft names, as the tracker and the forge have them.
#[derive(Debug, Clone, Default)]
struct OutsideFacts {
    issue: Option<TaskSeen>,
    /// The branch of the pull request that is to be taken over, if it is in the repository itself.
    pull_branch: Option<String>,
    /// The project has a forge, where its agent can open a pull request.
    has_forge: bool,
}

fn whole(
    draft: &SpawnDraft,
    configs: &InForce,
    outside: &OutsideFacts,
    plugged: &PluggedAgents,
) -> Result<SpawnRequest, DaemonError> {
    let known = project(draft.project.as_deref(), configs)?;
    let effective = known.effective();
    let role = draft.role.unwrap_or(SessionRole::Worker);
    let specialist = specialist(draft.agent.as_deref(), &effective, role, &known);
    let runtime = runtime(draft, &effective, specialist, plugged)?;
    let agent = agent(draft, (&effective, &runtime), role, specialist, &known, plugged)?;
    fits(&agent, &runtime, plugged)?;
    let workspace = draft.workspace.as_deref().unwrap_or(&effective.workspace.plugin);
    workspace_known(workspace, plugged)?;

    let issue = match (&outside.issue, draft.issue.as_deref()) {
        (Some(seen), _) => Some(seen.task.key.clone()),
        (None, Some(issue)) => Some(issue_key(issue, &known)?),
        (None, None) => None,
    };
    let title = draft.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let prompt = draft.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty());
    let of_issue = outside.issue.as_ref().map(|seen| one_line(&seen.facts.title));
    let title = match (role, title.or(of_issue.as_deref()), &issue, prompt) {
        (_, Some(title), _, _) => title.to_owned(),
        (SessionRole::Orchestrator, ..) => format!("Orchestrator of {}", effective.name),
        (_, None, Some(issue), _) => format!("Issue {issue}"),
        (_, None, None, Some(prompt)) => prompt.lines().next().unwrap_or_default().chars().take(80).collect(),
        (_, None, None, None) => match draft.claim_pr {
            Some(number) => format!("Pull request {number}"),
            None => {
                return Err(DaemonError::new(ErrorKind::NothingToDo, "the session has nothing to do")
                    .hint("give it an issue, a title or a prompt"));
            }
        },
    };
    if let Some(branch) = &draft.branch {
        branch_fits(branch, &effective.project.default_branch)?;
    }
    let (branch, origin) = match (draft.claim_pr, &outside.pull_branch) {
        (None, _) => (draft.branch.clone(), Origin::Base),
        (Some(_), Some(branch)) => (Some(branch.clone()), Origin::Branch),
        (Some(number), None) => {
            let service = known.loaded.catalog.service(PluginSlot::Scm, &known.scm().plugin);
            let pull_ref = service.pull_ref.unwrap_or("refs/pull/{number}/head");
            let fetch = pull_ref.replace("{number}", &number.to_string());
            let branch = draft.branch.clone().unwrap_or_else(|| format!("pr-{number}"));
            (Some(branch), Origin::Pull { fetch })
        }
    };
    let name = draft.name.clone().or_else(|| match (&issue, role) {
        (_, SessionRole::Orchestrator) => Some(format!("{}-orchestrator", effective.session_prefix)),
        (Some(issue), _) => Some(format!("{}-{issue}", effective.session_prefix)),
        (None, _) => Some(format!("{}-{title}", effective.session_prefix)),
    });
    let sees_files =
        plugged.adapters.registry.runtime_abilities(&runtime).is_none_or(|abilities| abilities.shares_files);
    let ao = if sees_files { plugged.adapters.ao() } else { "ao".to_owned() };
    Ok(SpawnRequest {
        prompt: instructions(&effective, (role, &title, prompt), issue.as_deref(), specialist, outside, &ao),
        project: ProjectId::new(&known.name),
        task: issue.map(|key| TaskId { project: ProjectId::new(&known.name), key }),
        role,
        title,
        name,
        branch,
        origin,
        agent,
        runtime,
        workspace: workspace.to_owned(),
        priority: draft
            .priority
            .or(outside.issue.as_ref().map(|seen| seen.facts.priority))
            .unwrap_or_default(),
        limits: limits(&effective),
        trusted: draft.trust,
    })
}

/// The project that is meant: the one that is named, or the only one.
pub(crate) fn project(named: Option<&str>, configs: &InForce) -> Result<KnownProject, DaemonError> {
    let mut projects = configs.projects();
    let names: Vec<String> = projects.keys().map(ToString::to_string).collect();
    match named {
        Some(name) => match projects.remove(&ProjectId::new(name)) {
            Some(known) => Ok(known),
            None => {
                let beginning: Vec<&String> = names.iter().filter(|known| known.starts_with(name)).collect();
                if let [only] = beginning[..] {
                    return Ok(projects.remove(&ProjectId::new(only)).expect("it is one of them"));
                }
                let mut problem =
                    DaemonError::new(ErrorKind::UnknownProject, format!("there is no project `{name}`"));
                problem.candidates = nearest(name, &names);
                Err(problem.hint("`ao status` lists the projects; `ao add-project PATH` adds one"))
            }
        },
        None if names.len() == 1 => Ok(projects.into_values().next().expect("there is one")),
        None if names.is_empty() => {
            Err(DaemonError::new(ErrorKind::UnknownProject, "there is no project yet")
                .hint("run `ao start` in a git repository, or `ao add-project PATH`"))
        }
        None => {
            let mut problem = DaemonError::new(ErrorKind::AmbiguousProject, "there are several projects");
            problem.candidates = names;
            Err(problem.hint("name it with `--project`"))
        }
    }
}

/// The specialist that is named, if it is one.
fn specialist<'a>(
    named: Option<&str>,
    effective: &Effective<'a>,
    role: SessionRole,
    known: &'a KnownProject,
) -> Option<&'a Specialist> {
    let name = named.unwrap_or(match role {
        SessionRole::Orchestrator => effective.orchestrator,
        _ => effective.agent,
    });
    known.loaded.config.agents.iter().find(|specialist| specialist.id == name)
}

fn agent(
    draft: &SpawnDraft,
    (effective, runtime): (&Effective<'_>, &str),
    role: SessionRole,
    specialist: Option<&Specialist>,
    known: &KnownProject,
    plugged: &PluggedAgents,
) -> Result<AgentChoice, DaemonError> {
    let usual = if role == SessionRole::Orchestrator { effective.orchestrator } else { effective.agent };
    let name = match specialist {
        Some(specialist) => specialist.tool.as_str(),
        None => draft.agent.as_deref().unwrap_or(usual),
    };
    if plugged.adapters.agent(name).is_none() {
        let mut problem = DaemonError::new(ErrorKind::UnknownAgent, format!("there is no agent `{name}`"));
        problem.candidates = nearest(name, &plugged.adapters.agents());
        return Err(problem.hint("`ao plugin list` lists all agents; describe your own under `tools:`"));
    }
    if let Some(program) = plugged.program(name).filter(|program| !is_installed(program)) {
        let what = format!("the agent `{name}` is the program `{program}`, which is not installed");
        return Err(DaemonError::new(ErrorKind::MissingProgram, what)
            .hint(format!("install `{program}`, or choose another agent with `--agent`"))
            .hint("`ao doctor` lists what else is missing"));
    }
    // The most specific setting counts: that of the specialist or the role, then the project's.
    let of_role = match role {
        SessionRole::Orchestrator => {
            [&effective.project.orchestrator.agent_config, &known.loaded.config.orchestrator.agent_config]
        }
        _ => [&effective.project.worker.agent_config, &effective.project.agent_config],
    };
    let mut said: Vec<&AgentConfig> =
        specialist.map(|specialist| &specialist.config.agent_config).into_iter().collect();
    said.extend(of_role);
    said.push(&effective.project.agent_config);
    let first = |get: &dyn Fn(&AgentConfig) -> Option<String>| said.iter().find_map(|config| get(config));
    let permissions = said.iter().find_map(|config| config.permissions).map(combination::permissions_word);
    let unfit = |UnfitCombination { what, hint }| DaemonError::new(ErrorKind::UnfitAgent, what).hint(hint);
    let mode = said.iter().find_map(|config| config.mode).map(combination::mode_of);
    let mode = plugged.mode(name, mode, runtime).map_err(unfit)?;
    let model = draft.model.clone().or_else(|| first(&|config| config.model.clone()));
    let effort = first(&|config| config.effort.clone());
    let settings = AgentSettings { permissions, model: model.as_deref(), effort: effort.as_deref() };
    plugged.takes(name, mode, settings).map_err(unfit)?;
    let Some(abilities) = plugged.adapters.agent_in(name, mode).map(|agent| agent.abilities()) else {
        let what =
            format!("the agent `{name}` reports by hooks in this mode, which this daemon does not receive");
        return Err(DaemonError::new(ErrorKind::UnfitAgent, what).hint("leave `mode` out"));
    };
    Ok(AgentChoice {
        name: name.to_owned(),
        specialist: specialist.map(|specialist| specialist.id.clone()),
        account: first(&|config| config.account.clone()),
        model,
        effort,
        permissions: permissions.map(str::to_owned),
        mode,
        args: said
            .iter()
            .map(|config| &config.args)
            .find(|args| !args.is_empty())
            .cloned()
            .unwrap_or_default(),
        abilities,
    })
}

fn runtime(
    draft: &SpawnDraft,
    effective: &Effective<'_>,
    specialist: Option<&Specialist>,
    plugged: &PluggedAgents,
) -> Result<String, DaemonError> {
    let of_specialist = specialist.and_then(|specialist| specialist.runtime.as_ref());
    let configured = of_specialist.unwrap_or(effective.runtime);
    let name = draft.runtime.as_deref().unwrap_or(&configured.plugin);
    is_there(name, plugged)?;
    Ok(name.to_owned())
}

/// The runtime in which a session goes on: the one that is asked for, or the one that is configured now. One that was chosen
/// for it is kept where the configured one cannot hold its agent.
fn runtime_of(
    session: &Session,
    asked_for: Option<&str>,
    configs: &InForce,
    plugged: &PluggedAgents,
) -> Result<String, DaemonError> {
    let agent = &session.spec.agent;
    let can = |name: &str| is_there(name, plugged).and_then(|()| fits(agent, name, plugged));
    let projects = configs.projects();
    let configured = projects.get(&session.spec.project).map(|known| {
        let mut specialists = known.loaded.config.agents.iter();
        let own = specialists.find(|specialist| Some(&specialist.id) == agent.specialist.as_ref());
        let own = own.and_then(|specialist| specialist.runtime.clone());
        own.unwrap_or_else(|| known.effective().runtime.clone()).plugin
    });
    let name = asked_for.map(str::to_owned).or(configured).unwrap_or_else(|| session.spec.runtime.clone());
    match can(&name) {
        Ok(()) => Ok(name),
        Err(_) if asked_for.is_none() && can(&session.spec.runtime).is_ok() => {
            Ok(session.spec.runtime.clone())
        }
        Err(problem) => Err(problem),
    }
}

/// Refuses a branch that no session can work on: one that git does not allow, or the one that everything lands on.
fn branch_fits(branch: &str, default: &str) -> Result<(), DaemonError> {
    let refused = |what: String, hint: &str| Err(DaemonError::new(ErrorKind::UnfitBranch, what).hint(hint));
    let shown = one_line(branch);
    if branch == default {
        let what = format!("`{shown}` is the branch that changes land on, so no session can work on it");
        return refused(what, "leave `--branch` out, or name a branch of its own");
    }
    let part_fits = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let fits = branch.split('/').all(part_fits)
        && !branch.starts_with('-')
        && branch != "@"
        && !branch.contains("..")
        && !branch.contains("@{")
        && !branch.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c));
    match fits {
        true => Ok(()),
        false => {
            refused(format!("`{shown}` is no name that git allows for a branch"), "try one like `fix/login`")
        }
    }
}

/// Returns an error if a runtime cannot be used on this machine.
fn is_there(name: &str, plugged: &PluggedAgents) -> Result<(), DaemonError> {
    let registry = &plugged.adapters.registry;
    if let Err(UnfitCombination { what, hint }) = combination::runtime(name, registry) {
        let mut problem = DaemonError::new(ErrorKind::UnknownRuntime, what);
        problem.candidates = nearest(name, &plugged.names(PluginSlot::Runtime));
        return Err(problem.hint(hint));
    }
    match combination::missing_program(name, &registry.catalog()) {
        Some(UnfitCombination { what, hint }) => {
            Err(DaemonError::new(ErrorKind::MissingProgram, what).hint(hint))
        }
        None => Ok(()),
    }
}

/// Returns an error if a runtime cannot hold an agent.
fn fits(agent: &AgentChoice, runtime: &str, plugged: &PluggedAgents) -> Result<(), DaemonError> {
    let fits = plugged.fits(agent, runtime);
    fits.map_err(|UnfitCombination { what, hint }| DaemonError::new(ErrorKind::UnfitRuntime, what).hint(hint))
}

fn workspace_known(name: &str, plugged: &PluggedAgents) -> Result<(), DaemonError> {
    let known = plugged.names(PluginSlot::Workspace);
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let what = format!("there is no workspace `{name}`");
    let mut error = DaemonError::new(ErrorKind::UnknownWorkspace, what);
    error.candidates = nearest(name, &known);
    Err(error.hint(format!("known names: {}", known.join(", "))))
}

/// Takes the project out of an issue such as `my-app#42`, and puts it where a project is named.
fn with_project_of_issue(mut draft: SpawnDraft) -> Result<SpawnDraft, DaemonError> {
    let Some((project, key)) = draft.issue.as_deref().and_then(|issue| issue.trim().split_once('#')) else {
        return Ok(draft);
    };
    if project.is_empty() {
        return Ok(draft);
    }
    let (project, key) = (project.to_owned(), key.to_owned());
    if let Some(named) = draft.project.as_deref().filter(|named| *named != project) {
        let what = format!("the issue `{project}#{key}` is not of the project `{named}`");
        return Err(DaemonError::new(ErrorKind::OtherProject, ao_core::text::sanitise(&what)));
    }
    draft.project = Some(project);
    draft.issue = Some(key);
    Ok(draft)
}

/// An issue's key as its tracker has it: `#42` is `42`, and for GitHub so is `GH-42`. A local tracker knows itself what it is.
fn issue_key(written: &str, known: &KnownProject) -> Result<String, DaemonError> {
    let key = written.trim().trim_start_matches('#');
    let service = known.loaded.catalog.service(PluginSlot::Tracker, &known.effective().tracker.plugin);
    let bare = service.issue_prefix.and_then(|prefix| {
        let (start, number) = key.split_at_checked(prefix.len())?;
        let is_prefix = start.eq_ignore_ascii_case(prefix) && number.chars().all(|c| c.is_ascii_digit());
        is_prefix.then_some(number)
    });
    let key = bare.unwrap_or(key);
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if key.is_empty() || key.len() > 100 || !key.chars().all(fits) || key.starts_with('-') {
        return Err(DaemonError::new(
            ErrorKind::BadIssue,
            format!("`{}` is no issue", ao_core::text::sanitise(written)),
        )
        .hint("an issue is a number or a key, such as `42` or `ENG-7`"));
    }
    Ok(key.to_owned())
}

/// Returns the prompt of the agent.
fn instructions(
    effective: &Effective<'_>,
    (role, title, prompt): (SessionRole, &str, Option<&str>),
    issue: Option<&str>,
    specialist: Option<&Specialist>,
    outside: &OutsideFacts,
    ao: &str,
) -> String {
    let mut parts = Vec::new();
    match (role, prompt) {
        (_, Some(prompt)) => parts.push(prompt.to_owned()),
        (SessionRole::Orchestrator, None) => parts.push(format!(
            "You are the orchestrator of the project {}. You help a person steer other agents; you write no code \
             yourself. Call `ao` as `{ao}`. `ao status` shows what they do, `ao explain SESSION` why, `ao plan` what comes next, `ao advise` \
             what matters now, `ao spawn ISSUE` starts one, and `ao send SESSION TEXT` sends one a message. Wait for a request.",
            effective.name
        )),
        (_, None) => parts.push(match issue {
            Some(issue) if title == format!("Issue {issue}") => format!("Work on issue {issue} of {}.", effective.name),
            Some(issue) => format!("Work on issue {issue} of {}: {title}", effective.name),
            None => title.to_owned(),
        }),
    }
    if let Some(text) = outside.issue.as_ref().and_then(issue_text) {
        parts.push(text);
    }
    if role == SessionRole::Worker && prompt.is_none() {
        parts.push(
            "Commit your work on the branch that is checked out, in small steps, and report when you are done."
                .into(),
        );
        if outside.has_forge {
            parts.push(
                format!(
                    "When the change is ready for review, open a pull request with `{ao} pr create`. Failed checks \
                     and review comments are sent to you; answer reviewers with `{ao} pr reply`. Always call `ao` as `{ao}`."
                ),
            );
        }
    }
    if let Some(specialist) = specialist {
        if !specialist.config.skills.is_empty() {
            parts.push(format!("What you are good at: {}.", specialist.config.skills.join(", ")));
        }
        parts.extend(specialist.config.prompt.clone());
    }
    parts.extend(effective.project.agent_rules.clone());
    parts.extend(
        effective.project.agent_rules_file.as_deref().and_then(|file| rules(&effective.project.path, file)),
    );
    parts.join("\n\n")
}

/// The number of bytes of an issue's text in a prompt; the agent reads the rest with `ao issue show`.
const ISSUE_TEXT: usize = 16 * 1024;

/// Returns the text of an issue, marked as text of a person, because it is data and not an order of ours. The
/// comments are left out: the agent reads them with `ao issue show`, with their authors.
fn issue_text(seen: &TaskSeen) -> Option<String> {
    let body = outside::stripped(QuotedKind::Issue, &seen.body);
    let body = body.trim();
    if body.is_empty() {
        return None;
    }
    let source = TextSource {
        kind: QuotedKind::Issue,
        author: seen.author.as_ref(),
        place: "What the issue says",
        url: seen.url.as_deref().unwrap_or_default(),
    };
    let more =
        if body.len() > ISSUE_TEXT { "(The issue says more; `ao issue show` has all of it.)\n" } else { "" };
    Some(format!("{}{more}", outside::quoted(source, body, ISSUE_TEXT)).trim_end().to_owned())
}

fn limits(effective: &Effective<'_>) -> SpendLimits {
    effective.project.budget.core()
}

/// Names that may have been meant, the likeliest first.
pub(crate) fn nearest(name: &str, there: &[String]) -> Vec<String> {
    let mut near: Vec<(f64, &String)> = there
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(like, _)| *like > 0.7)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, known)| known.clone()).collect()
}
