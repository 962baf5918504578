//! `ao start`: starts the daemon and registers the current repository.

use ao_api::client::{Client, ClientError, ItemName};
use ao_api::{AgentRole, NewProject, NewSession, Projects, Session, Spawned};
use ao_daemon::config;
use ao_daemon::config::apply::agents_of;
use ao_daemon::registry;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::cli::context::Context;
use crate::client::daemon_process::{self, DaemonOrigin, RunningDaemon};
use crate::client::project_choice::project_of_issue;
use crate::config::check_offer;
use crate::config::initial_config::{InitialChoices, InitialConfig, existing};
use crate::config::untrusted_config::risky_keys;
use crate::error::{CommandError, FailureKind};
use crate::findings::{ConfigFinding, FindingSeverity};
use crate::git::clone;
use crate::git::url::GitUrl;
use crate::repository::GitRepository;
use crate::system::{desktop, paths};
use crate::{combination, findings, ui};

/// Start the daemon if needed, and register a repository
///
/// In a git repository without a configuration file, one is written first; at a terminal you are asked whether the
/// checks that fit the repository should run. One daemon serves all your repositories: run this in each of them, or
/// name them. Agents that an earlier daemon left running are found again. A daemon of another build is replaced while
/// its agents keep running. After `ao stop --all`, automatic assignment resumes where it is configured.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao start                                     the repository you are in
  ao start ~/docs                              another one
  ao start https://github.com/owner/my-app     clones it here first
  ao start --issue 42                          and a session for that issue")]
pub(crate) struct Args {
    /// A repository: a folder, or a URL to clone into the current folder [default: the current repository]
    #[arg(value_name = "PATH|URL")]
    what: Option<String>,
    /// Also start a session for this issue; can be repeated
    #[arg(long, value_name = "ISSUE")]
    issue: Vec<String>,
    /// The port for browsers and API clients; 0 picks a free one [default: from the configuration, 3000]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Do not start the orchestrator, the agent that helps you manage the others
    #[arg(long)]
    no_orchestrator: bool,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// With `--issue`: start even if the tracker cannot be reached
    #[arg(long, requires = "issue")]
    force: bool,
    /// Trust the configuration of a cloned repository, with every command in it
    #[arg(long)]
    trust: bool,
    /// Do not ask; write the checks that fit the repository as a comment
    #[arg(long, short)]
    yes: bool,
}

/// The result of a start.
struct StartResult {
    joined: RunningDaemon,
    projects: Vec<String>,
    config: Option<Utf8PathBuf>,
    /// Settings that do not work here.
    findings: Vec<ConfigFinding>,
    notes: Vec<String>,
    /// The configuration asks to open the page.
    opens: bool,
    orchestrator: Option<Session>,
    sessions: Vec<Spawned>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.wait_for(async {
        let started = start(args, cx).await?;
        let opened = !args.no_open && !cx.json() && open_browser(&started).await;
        print_result(&started, opened, cx)
    })
}

async fn start(args: &Args, cx: &Context) -> Result<StartResult, CommandError> {
    // Validate everything before anything is started.
    let mut notes = Vec::new();
    let config = match find(args.what.as_deref(), cx).await? {
        StartTarget::Config(file) => Some(file),
        StartTarget::Brought(file) => {
            if !args.trust {
                is_plain(&file)?;
            }
            Some(file)
        }
        StartTarget::Repository(repository) => {
            let asks = !args.yes && !cx.json() && check_offer::can_ask();
            Some(configure(&repository, asks, &mut notes).await?)
        }
        StartTarget::Nothing => None,
    };
    let loaded = config::load(config.as_deref())?;
    let findings = findings::without_errors(&loaded, cx).await?;
    let enabled = config.is_some()
        && combination::has_orchestrator(&loaded, &agents_of(&loaded, &registry::built_in()));
    let opens = loaded.config.dashboard.open;
    let mut joined = daemon_process::ensure(cx, args.port, config.clone()).await?;
    let mut projects: Vec<String> = Vec::new();
    if let Some(file) = &config {
        let project = NewProject { config: file.to_string() };
        let added: Projects = match joined.client.post("/api/projects", &project).await {
            // The daemon was shutting down when it answered.
            Err(ClientError::Unreachable { .. }) if joined.how == DaemonOrigin::Ran => {
                joined = daemon_process::ensure(cx, args.port, config.clone()).await?;
                joined.client.post("/api/projects", &project).await?
            }
            added => added?,
        };
        projects = added.projects.into_iter().map(|project| project.id).collect();
    }
    started_again(&joined.client, &projects, &mut notes).await?;
    if args.port.is_some_and(|port| port != 0) && joined.how == DaemonOrigin::Ran {
        let url = joined.daemon.url.as_deref().unwrap_or("its socket only");
        notes.push(format!("the daemon already runs at {url}; to change its port, run `ao stop` first"));
    }
    let mut started = StartResult {
        joined,
        projects,
        config,
        findings,
        notes,
        opens,
        orchestrator: None,
        sessions: vec![],
    };
    if enabled && !args.no_orchestrator {
        orchestrate(&mut started).await?;
    }
    for issue in &args.issue {
        let wish = NewSession {
            project_id: project_of(issue, &started).await?,
            issue: Some(issue.clone()),
            force: args.force,
            ..NewSession::default()
        };
        started.sessions.push(started.joined.client.spawn(&wish).await?);
    }
    Ok(started)
}

/// Resumes projects that `ao stop --all` has stopped: the named ones, or all.
async fn started_again(
    client: &Client,
    projects: &[String],
    notes: &mut Vec<String>,
) -> Result<(), CommandError> {
    for project in client.projects().await?.projects {
        if project.stopped_by.is_none() || !(projects.is_empty() || projects.contains(&project.id)) {
            continue;
        }
        let project = client.start_work(&project.id).await?;
        if project.auto_assign {
            notes.push(format!("automatic assignment is enabled again for {}", project.id));
        }
    }
    Ok(())
}

/// Returns the project to look for an issue in: the one that was started, or the one of the current folder if there
/// are several.
async fn project_of(issue: &str, started: &StartResult) -> Result<Option<String>, CommandError> {
    match &started.projects[..] {
        _ if ItemName::has_project(issue) => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => project_of_issue(&started.joined.client, issue, None).await,
    }
}

/// Refuses a configuration file from a cloned repository that does more than describe its project, because the user
/// has not read it yet.
fn is_plain(file: &Utf8Path) -> Result<(), CommandError> {
    let said = risky_keys(file)?;
    if said.is_empty() {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(file);
    let what = format!(
        "the repository's configuration does more than describe its project, so nothing was started: `{file}`\n  {}",
        said.join("\n  ")
    );
    Err(CommandError::user(what)
        .hint(format!("read it, then run `ao start {folder}`"))
        .hint("if you trust the repository, `--trust` accepts its configuration"))
}

enum StartTarget {
    /// A configuration file from a cloned repository, which was never used here.
    Brought(Utf8PathBuf),
    /// An existing configuration file.
    Config(Utf8PathBuf),
    /// A repository without a configuration file.
    Repository(Box<GitRepository>),
    /// Neither, and none was asked for: only the daemon is started.
    Nothing,
}

async fn find(what: Option<&str>, cx: &Context) -> Result<StartTarget, CommandError> {
    let here = paths::here()?;
    let mut cloned_to = None;
    let folder = match what {
        // An existing path is never taken for a URL.
        Some(what) if here.join(what).exists() => here.join(what),
        Some(what) => match GitUrl::parse_short(what)? {
            Some(url) => {
                let root = clone::clone(&url, &here).await?.repository.root;
                cloned_to = Some(root.clone());
                root
            }
            None => here.join(what),
        },
        None => {
            if let Some(file) = cx.config() {
                return Ok(StartTarget::Config(here.join(file)));
            }
            here
        }
    };
    let repository = match GitRepository::at(&folder).await {
        Ok(repository) => Ok(repository),
        Err(err) => match CommandError::from(err) {
            // Without git nothing works.
            err if err.kind() == FailureKind::MissingProgram => return Err(err),
            err => Err(err),
        },
    };
    let from = repository.as_ref().map_or(&folder, |repository| &repository.root);
    if let Some(file) = upwards(from) {
        // Also if the clone existed before: it may have been refused a moment ago.
        let came = cloned_to.is_some_and(|root| file.starts_with(root));
        let brought = came && !config::is_registered(&cx.data_dir()?, &file);
        return Ok(if brought { StartTarget::Brought(file) } else { StartTarget::Config(file) });
    }
    match repository {
        Ok(repository) => Ok(StartTarget::Repository(Box::new(repository))),
        // The user's own file may name projects, so `ao start` works anywhere.
        Err(err) if what.is_none() && err.kind() == FailureKind::NoRepository => {
            let own = config::load(None)?;
            if own.config.projects.is_empty() { Err(err) } else { Ok(StartTarget::Nothing) }
        }
        Err(err) => Err(err),
    }
}

/// Returns the configuration file in a folder or one above it.
fn upwards(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let in_folder = |folder: &Utf8Path| {
        ao_config::PROJECT_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    };
    folder.ancestors().find_map(in_folder)
}

async fn configure(
    repository: &GitRepository,
    asks: bool,
    notes: &mut Vec<String>,
) -> Result<Utf8PathBuf, CommandError> {
    let mut initial = InitialConfig::choose(repository, &InitialChoices::default()).await?;
    initial.settle_checks(asks)?;
    let file = match initial.write(&repository.root, false) {
        Ok(file) => file,
        // Another `ao start` was faster, and its file is as good.
        Err(err) => return existing(&repository.root).filter(|file| file.is_file()).ok_or(err),
    };
    notes.push(format!("wrote {file}; change and commit it as you like"));
    notes.extend(initial.notes);
    Ok(file)
}

/// Starts the orchestrator of the first project. A failure is reported and ignored: sessions work without it.
async fn orchestrate(started: &mut StartResult) -> Result<(), CommandError> {
    let Some(project) = started.projects.first() else { return Ok(()) };
    let wish = NewSession {
        project_id: Some(project.clone()),
        role: Some(AgentRole::Orchestrator),
        ..NewSession::default()
    };
    match started.joined.client.spawn(&wish).await {
        Ok(spawned) => started.orchestrator = Some(spawned.session),
        Err(err) => {
            let err = CommandError::from(err);
            let hints: Vec<&str> = err.hints().iter().map(String::as_str).collect();
            started.notes.push(format!("there is no orchestrator: {}; {}", err.to_plain(), hints.join("; ")));
        }
    }
    Ok(())
}

async fn open_browser(started: &StartResult) -> bool {
    // Only on the first start; later the page is open already.
    let (Some(url), true) = (&started.joined.daemon.url, started.joined.how == DaemonOrigin::Started) else {
        return false;
    };
    if !started.opens || !desktop::is_there() {
        return false;
    }
    match super::dashboard::address(&started.joined.client, url).await {
        Ok(address) => desktop::open(&address).await.is_ok(),
        Err(_) => false,
    }
}

fn print_result(started: &StartResult, opened: bool, cx: &Context) -> Result<(), CommandError> {
    let StartResult { joined, projects, config, findings, notes, orchestrator, sessions, .. } = started;
    let daemon = &joined.daemon;
    if cx.json() {
        ui::json(&json!({
            "daemon": daemon,
            "started": joined.how != DaemonOrigin::Ran,
            "replaced": joined.how == DaemonOrigin::Replaced,
            "projects": projects,
            "config": config,
            "orchestrator": orchestrator,
            "sessions": sessions,
            "notes": notes,
            "warnings": findings.iter().map(ConfigFinding::json).collect::<Vec<_>>(),
        }))?;
        return Ok(());
    }
    findings.iter().for_each(ConfigFinding::print);
    for note in notes {
        ui::note(note);
    }
    let how = match joined.how {
        DaemonOrigin::Ran => "The daemon runs",
        DaemonOrigin::Started => "The daemon has started",
        DaemonOrigin::Replaced => "The daemon was replaced by this build; its agents kept running",
    };
    ui::line(format_args!("{how} (pid {}).", daemon.pid))?;
    if let Some(url) = &daemon.url {
        let opened = if opened { ", opened in your browser" } else { "; `ao dashboard` opens it" };
        ui::line(format_args!("  dashboard     {url}{opened}"))?;
    }
    for project in projects {
        let by = config.as_ref().map(|file| format!(", by {file}")).unwrap_or_default();
        ui::line(format_args!("  project       {project}{by}"))?;
    }
    if let Some(orchestrator) = orchestrator {
        ui::line(format_args!("  orchestrator  {} ({})", orchestrator.name, orchestrator.status.state))?;
    }
    for spawned in sessions {
        let session = &spawned.session;
        let new = if spawned.created { "" } else { ", which had it already" };
        ui::line(format_args!("  session       {} ({}){new}", session.name, session.status.state))?;
    }
    if daemon.live_sessions > 0 {
        ui::line(format_args!("  agents        {}", ui::count(daemon.live_sessions.into(), "session")))?;
    }
    ui::line(format_args!("  log           {}", daemon.log))?;
    for (severity, word) in [(FindingSeverity::Problem, "problem"), (FindingSeverity::Warning, "warning")] {
        let found = findings.iter().filter(|finding| finding.severity == severity).count();
        if found > 0 {
            let (label, found) = (format!("{word}s"), ui::count(found as u64, word));
            ui::line(format_args!("  {label:<13} {found} above; `ao config check` lists them again"))?;
        }
    }
    let issues = findings.iter().all(|finding| finding.id != "tracker");
    let spawn = if issues { "`ao spawn ISSUE` or " } else { "" };
    ui::line(format_args!(
        "Next: {spawn}`ao new \"what to do\"` starts an agent, `ao status` shows them all."
    ))?;
    Ok(())
}
