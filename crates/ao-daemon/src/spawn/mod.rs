//! A wish for a session made whole: what the wish leaves open is as the configuration says.

pub(crate) mod named;
mod rules;

use ao_api::{NewSession, Problem};
use ao_config::Effective;
use ao_config::catalog::PluginSlot;
use ao_config::shape::{AgentConfig, Permissions, Specialist};
use ao_core::budget::SpendLimits;
use ao_core::input::SpawnRequest;
use ao_core::outside::{self, QuotedKind, TextSource, one_line};
use ao_core::session::{AgentAbilities, AgentChoice, Session, SessionRole};
use ao_core::setup::Origin;
use ao_core::{ProjectId, TaskId};
use ao_ports::TaskSeen;

use self::rules::rules;
use crate::config::combination::{self, Unfit};
use crate::config::{InForce, Known};
use crate::registry;

/// What is plugged in: what the names in a wish can stand for.
pub(crate) trait Plugged {
    /// What an agent declares it can do, if there is one of that name.
    fn abilities(&self, agent: &str) -> Option<AgentAbilities>;
    /// The program that an agent is, if that is known.
    fn program(&self, agent: &str) -> Option<String>;
    /// Returns an error if a runtime cannot hold an agent.
    fn fits(&self, agent: &str, runtime: &str) -> Result<(), Unfit>;
    /// Whether an agent can be started with these permissions and this model.
    fn takes(&self, agent: &str, permissions: Option<Permissions>, model: Option<&str>) -> Result<(), Unfit>;
    fn agents(&self) -> Vec<String>;
    fn workspaces(&self) -> Vec<String>;
    /// Our own program, by its full path.
    fn ao(&self) -> String;
    /// Whether a program can be found.
    fn is_installed(&self, program: &str) -> bool;
}

/// What the forge and the tracker know of what a wish names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outside {
    pub(crate) issue: Option<TaskSeen>,
    /// The branch of the pull request that is to be taken over, if it is in the repository itself.
    pub(crate) pull_branch: Option<String>,
}

pub(crate) fn whole(
    wish: &NewSession,
    configs: &InForce,
    outside: &Outside,
    plugged: &dyn Plugged,
) -> Result<SpawnRequest, Problem> {
    let known = project(wish.project_id.as_deref(), configs)?;
    let effective = known.effective();
    let role = role(wish.role.as_deref())?;
    let specialist = specialist(wish.agent.as_deref(), &effective, role, &known);
    let agent = agent(wish, &effective, role, specialist, &known, plugged)?;
    let runtime = runtime(wish, &effective, specialist, plugged)?;
    fits(&agent.name, &runtime, plugged)?;
    let workspace = wish.workspace.as_deref().unwrap_or(&effective.workspace.plugin);
    one_of("workspace", workspace, &plugged.workspaces())?;

    let issue = match (&outside.issue, wish.issue.as_deref()) {
        (Some(seen), _) => Some(seen.task.key.clone()),
        (None, Some(issue)) => Some(issue_key(issue, &effective.tracker.plugin)?),
        (None, None) => None,
    };
    let title = wish.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let prompt = wish.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty());
    let of_issue = outside.issue.as_ref().map(|seen| one_line(&seen.facts.title));
    let title = match (role, title.or(of_issue.as_deref()), &issue, prompt) {
        (_, Some(title), _, _) => title.to_owned(),
        (SessionRole::Orchestrator, ..) => format!("Orchestrator of {}", effective.name),
        (_, None, Some(issue), _) => format!("Issue {issue}"),
        (_, None, None, Some(prompt)) => prompt.lines().next().unwrap_or_default().chars().take(80).collect(),
        (_, None, None, None) => match wish.claim_pr {
            Some(number) => format!("Pull request {number}"),
            None => {
                return Err(Problem::new(400, "nothing-to-do", "the session has nothing to do")
                    .hint("give it an issue, a title or a prompt"));
            }
        },
    };
    if let Some(branch) = &wish.branch {
        branch_fits(branch, &effective.project.default_branch)?;
    }
    let (branch, origin) = match (wish.claim_pr, &outside.pull_branch) {
        (None, _) => (wish.branch.clone(), Origin::Base),
        (Some(_), Some(branch)) => (Some(branch.clone()), Origin::Branch),
        (Some(number), None) => {
            let fetch = match effective.scm.plugin.as_str() {
                "gitlab" => format!("refs/merge-requests/{number}/head"),
                _ => format!("refs/pull/{number}/head"),
            };
            let branch = wish.branch.clone().unwrap_or_else(|| format!("pr-{number}"));
            (Some(branch), Origin::Pull { fetch })
        }
    };
    let name = wish.name.clone().or_else(|| match (&issue, role) {
        (_, SessionRole::Orchestrator) => Some(format!("{}-orchestrator", effective.session_prefix)),
        (Some(issue), _) => Some(format!("{}-{issue}", effective.session_prefix)),
        (None, _) => Some(format!("{}-{title}", effective.session_prefix)),
    });
    Ok(SpawnRequest {
        prompt: instructions(
            &effective,
            (role, &title, prompt),
            issue.as_deref(),
            specialist,
            outside,
            &plugged.ao(),
        ),
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
        priority: wish
            .priority
            .or(outside.issue.as_ref().map(|seen| seen.facts.priority))
            .unwrap_or_default(),
        limits: limits(&effective),
        trusted: wish.trust,
    })
}

/// The project that is meant: the one that is named, or the only one.
pub(crate) fn project(named: Option<&str>, configs: &InForce) -> Result<Known, Problem> {
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
                    Problem::new(404, "unknown-project", format!("there is no project `{name}`"));
                problem.candidates = nearest(name, &names);
                Err(problem.hint("`ao status` lists what there is; `ao add-project PATH` adds one"))
            }
        },
        None if names.len() == 1 => Ok(projects.into_values().next().expect("there is one")),
        None if names.is_empty() => Err(Problem::new(404, "unknown-project", "there is no project yet")
            .hint("run `ao start` in a git repository, or `ao add-project PATH`")),
        None => {
            let mut problem =
                Problem::new(400, "which-project", "there are several projects; which one is meant?");
            problem.candidates = names;
            Err(problem.hint("name it with `--project`"))
        }
    }
}

fn role(word: Option<&str>) -> Result<SessionRole, Problem> {
    match word {
        None | Some("worker") => Ok(SessionRole::Worker),
        Some("orchestrator") => Ok(SessionRole::Orchestrator),
        Some("reviewer") => Ok(SessionRole::Reviewer),
        Some(other) => Err(Problem::new(400, "bad-role", format!("`{other}` is no role"))
            .hint("there are `worker`, `orchestrator` and `reviewer`")),
    }
}

/// The specialist that is named, if it is one.
fn specialist<'a>(
    named: Option<&str>,
    effective: &Effective<'a>,
    role: SessionRole,
    known: &'a Known,
) -> Option<&'a Specialist> {
    let name = named.unwrap_or(match role {
        SessionRole::Orchestrator => effective.orchestrator,
        _ => effective.agent,
    });
    known.loaded.config.agents.iter().find(|specialist| specialist.id == name)
}

fn agent(
    wish: &NewSession,
    effective: &Effective<'_>,
    role: SessionRole,
    specialist: Option<&Specialist>,
    known: &Known,
    plugged: &dyn Plugged,
) -> Result<AgentChoice, Problem> {
    let usual = if role == SessionRole::Orchestrator { effective.orchestrator } else { effective.agent };
    let name = match specialist {
        Some(specialist) => specialist.tool.as_str(),
        None => wish.agent.as_deref().unwrap_or(usual),
    };
    let Some(abilities) = plugged.abilities(name) else {
        let mut problem = Problem::new(400, "unknown-agent", format!("there is no agent `{name}`"));
        problem.candidates = nearest(name, &plugged.agents());
        return Err(problem.hint("`ao plugin list` shows what there is; describe another one under `tools:`"));
    };
    if let Some(program) = plugged.program(name).filter(|program| !plugged.is_installed(program)) {
        let what = format!("the agent `{name}` is the program `{program}`, which is not installed");
        return Err(Problem::new(422, "missing-program", what)
            .hint(format!("install `{program}`, or choose another agent with `--agent`"))
            .hint("`ao doctor` says what else is missing"));
    }
    // The nearest word counts: that of the specialist or the role, then the project's.
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
    let permissions = said.iter().find_map(|config| config.permissions);
    let model = wish.model.clone().or_else(|| first(&|config| config.model.clone()));
    plugged
        .takes(name, permissions, model.as_deref())
        .map_err(|Unfit { what, hint }| Problem::new(422, "unfit-agent", what).hint(hint))?;
    Ok(AgentChoice {
        name: name.to_owned(),
        specialist: specialist.map(|specialist| specialist.id.clone()),
        account: first(&|config| config.account.clone()),
        model,
        permissions: permissions.map(|permissions| combination::permissions_word(permissions).to_owned()),
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
    wish: &NewSession,
    effective: &Effective<'_>,
    specialist: Option<&Specialist>,
    plugged: &dyn Plugged,
) -> Result<String, Problem> {
    let of_specialist = specialist.and_then(|specialist| specialist.runtime.as_ref());
    let configured = of_specialist.unwrap_or(effective.runtime);
    let name = wish.runtime.as_deref().unwrap_or(&configured.plugin);
    is_there(name, plugged)?;
    Ok(name.to_owned())
}

/// The runtime in which a session goes on: the one that is asked for, or the one that is configured now. One that was chosen
/// for it is kept where the configured one cannot hold its agent.
pub(crate) fn runtime_of(
    session: &Session,
    asked_for: Option<&str>,
    configs: &InForce,
    plugged: &dyn Plugged,
) -> Result<String, Problem> {
    let agent = &session.spec.agent;
    let can = |name: &str| is_there(name, plugged).and_then(|()| fits(&agent.name, name, plugged));
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
fn branch_fits(branch: &str, default: &str) -> Result<(), Problem> {
    let refused = |what: String, hint: &str| Err(Problem::new(422, "unfit-branch", what).hint(hint));
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

/// Whether a runtime can be used on this machine.
fn is_there(name: &str, plugged: &dyn Plugged) -> Result<(), Problem> {
    if let Err(Unfit { what, hint }) = combination::runtime(name) {
        let mut problem = Problem::new(400, "unknown-runtime", what);
        let catalog = registry::catalog();
        let there: Vec<String> =
            catalog.available(PluginSlot::Runtime).into_iter().map(str::to_owned).collect();
        problem.candidates = nearest(name, &there);
        return Err(problem.hint(hint));
    }
    if name == "tmux" && !plugged.is_installed("tmux") {
        return Err(Problem::new(
            422,
            "missing-program",
            "the runtime `tmux` needs the program `tmux`, which is not installed",
        )
        .hint("install tmux, or use the built-in terminal: `ao config set defaults.runtime process`"));
    }
    Ok(())
}

/// Whether a runtime holds agents in the way that this one needs.
fn fits(agent: &str, runtime: &str, plugged: &dyn Plugged) -> Result<(), Problem> {
    plugged
        .fits(agent, runtime)
        .map_err(|Unfit { what, hint }| Problem::new(422, "unfit-runtime", what).hint(hint))
}

fn one_of(slot: &str, name: &str, there: &[String]) -> Result<(), Problem> {
    if there.iter().any(|known| known == name) {
        return Ok(());
    }
    let mut problem =
        Problem::new(400, &format!("unknown-{slot}"), format!("the {slot} `{name}` is not there"));
    problem.candidates = nearest(name, there);
    Err(problem.hint(format!("there is {}", there.join(", "))))
}

/// Takes the project out of an issue such as `my-app#42`, and puts it where a project is named.
pub(crate) fn with_project_of_issue(mut wish: NewSession) -> Result<NewSession, Problem> {
    let Some((project, key)) = wish.issue.as_deref().and_then(|issue| issue.trim().split_once('#')) else {
        return Ok(wish);
    };
    if project.is_empty() {
        return Ok(wish);
    }
    let (project, key) = (project.to_owned(), key.to_owned());
    if let Some(named) = wish.project_id.as_deref().filter(|named| *named != project) {
        let what = format!("the issue `{project}#{key}` is not of the project `{named}`");
        return Err(Problem::new(422, "invalid", ao_core::text::sanitise(&what)));
    }
    wish.project_id = Some(project);
    wish.issue = Some(key);
    Ok(wish)
}

/// An issue's key as its tracker has it: `#42` is `42`, and for GitHub so is `GH-42`. A local tracker knows itself what it is.
pub(crate) fn issue_key(written: &str, tracker: &str) -> Result<String, Problem> {
    let key = written.trim().trim_start_matches('#');
    let key = match tracker {
        "github" | "gitlab" | "gitea" => {
            let bare = key.strip_prefix("GH-").or_else(|| key.strip_prefix("gh-"));
            bare.filter(|number| number.chars().all(|c| c.is_ascii_digit())).unwrap_or(key)
        }
        _ => key,
    };
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if key.is_empty() || key.len() > 100 || !key.chars().all(fits) || key.starts_with('-') {
        return Err(Problem::new(
            400,
            "bad-issue",
            format!("`{}` is no issue", ao_core::text::sanitise(written)),
        )
        .hint("an issue is a number or a key, such as `42` or `ENG-7`"));
    }
    Ok(key.to_owned())
}

/// What the agent is told to do.
fn instructions(
    effective: &Effective<'_>,
    (role, title, prompt): (SessionRole, &str, Option<&str>),
    issue: Option<&str>,
    specialist: Option<&Specialist>,
    outside: &Outside,
    ao: &str,
) -> String {
    let mut parts = Vec::new();
    match (role, prompt) {
        (_, Some(prompt)) => parts.push(prompt.to_owned()),
        (SessionRole::Orchestrator, None) => parts.push(format!(
            "You are the orchestrator of the project {}. You help a person steer other agents; you write no code \
             yourself. Call `ao` as `{ao}`. `ao status` shows what they do, `ao explain SESSION` why, `ao plan` what comes next, `ao advise` \
             what matters now, `ao spawn ISSUE` starts one, and `ao send SESSION TEXT` tells one something. Wait until you are told what is wanted.",
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
            "Commit your work on the branch that is checked out, in small steps, and say when you are done."
                .into(),
        );
        if effective.scm.plugin == "local" {
            parts.push(
                format!(
                    "When the change is ready for review, open a pull request with `{ao} pr create`. You hear of failing \
                     checks and of what reviewers say; answer reviewers with `{ao} pr reply`. Call `ao` by this full path."
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

/// How much of an issue's text an agent is given; the rest it can read with `ao issue show`.
const ISSUE_TEXT: usize = 16 * 1024;

/// What an issue says, marked as what somebody wrote, because it is data and not an order of ours. What others have said below
/// it is left out: the agent can read that with `ao issue show`, with who said it.
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
