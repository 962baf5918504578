//! `ao init`: writes a configuration file for the current repository.

use ao_daemon::config;
use serde_json::json;

use crate::cli::context::Context;
use crate::config::check_offer;
use crate::config::initial_config::{InitialChoices, InitialConfig};
use crate::error::CommandError;
use crate::findings::ConfigFinding;
use crate::repository::GitRepository;
use crate::system::paths;
use crate::{findings, ui};

/// Write a configuration file for this repository
///
/// Creates `agent-orchestrator.yaml` at the repository's root, ready to be committed. Options that you leave out are
/// detected: tmux if it is installed, the first agent that is, and desktop notices if there is a desktop. Checks that
/// fit the repository (`cargo test`, `npm test`, `pytest`, `go test`, `make test`) are offered at a terminal, and
/// otherwise written as a comment.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao init
  ao init --tracker github --agent claude-code --runtime tmux
  ao init --agent codex --runtime process --force   overwrites the file")]
pub(crate) struct Args {
    /// The issue tracker: local; github, gitlab, linear and jira are accepted but not supported yet
    #[arg(long, value_name = "NAME")]
    tracker: Option<String>,
    /// The agent: claude-code, codex, aider, opencode, …
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The runtime that agents run in: process or tmux
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// The kind of workspace for each session: worktree or clone
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// The name of the project [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Do not ask; write the checks that fit the repository as a comment
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let here = paths::here()?;
    let repository = cx.wait_for(async { Ok(GitRepository::at(&here).await?) })?;
    let wishes = InitialChoices {
        tracker: args.tracker.clone(),
        agent: args.agent.clone(),
        runtime: args.runtime.clone(),
        workspace: args.workspace.clone(),
        project: args.project.clone(),
    };
    let mut initial = cx.wait_for(InitialConfig::choose(&repository, &wishes))?;
    initial.can_be_written(&repository.root, args.force)?;
    initial.settle_checks(!args.yes && !cx.json() && check_offer::can_ask())?;
    let file = initial.write(&repository.root, args.force)?;
    let findings = cx.wait_for(findings::of(&config::load(Some(&file))?, cx))?;
    if cx.json() {
        ui::json(&json!({
            "config": file,
            "project": initial.project,
            "repo": initial.repo,
            "path": repository.root,
            "defaultBranch": initial.default_branch,
            "agent": initial.agent,
            "runtime": initial.runtime,
            "workspace": initial.workspace,
            "tracker": initial.tracker,
            "notes": initial.notes,
            "warnings": findings.iter().map(ConfigFinding::json).collect::<Vec<_>>(),
        }))?;
        return Ok(());
    }
    let repo = initial.repo.as_ref().map(|repo| format!(" ({repo})")).unwrap_or_default();
    ui::line(format_args!("Wrote {file}"))?;
    ui::line(format_args!("  project    {}{repo}, from branch {}", initial.project, initial.default_branch))?;
    ui::line(format_args!("  agent      {}", initial.agent))?;
    ui::line(format_args!("  runtime    {}", initial.runtime))?;
    ui::line(format_args!("  workspace  {}", initial.workspace))?;
    ui::line(format_args!("  tracker    {}", initial.tracker))?;
    if initial.runs_checks {
        let names: Vec<&str> = initial.checks.iter().map(|check| check.name.as_str()).collect();
        ui::line(format_args!("  checks     {}", names.join(", ")))?;
    }
    for note in &initial.notes {
        ui::note(note);
    }
    findings.iter().for_each(ConfigFinding::print);
    ui::line("Next: `ao start`")?;
    Ok(())
}
