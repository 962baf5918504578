//! `ao new`: starts a session from a title.

use ao_api::NewSession;

use super::spawn;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::{project, project_of_issue};
use crate::error::CommandError;

/// Start a session from a title
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao new \"Fix login validation bug\" --project my-app --issue 123
  ao new \"Try the new parser\" --agent codex --branch try/parser
  ao new \"Tidy up\" --prompt \"Remove dead code from src/, run the tests, open a pull request.\"")]
pub(crate) struct Args {
    /// The task, in one line
    title: String,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// The issue it is for, which must exist; an issue never gets two sessions
    #[arg(long, short)]
    issue: Option<String>,
    #[command(flatten)]
    how: SessionOptions,
    /// The name of the session [default: derived from project and title]
    #[arg(long)]
    name: Option<String>,
}

/// Settings of a new session that differ from the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SessionOptions {
    /// The agent [default: from the configuration]
    #[arg(long, short)]
    pub(super) agent: Option<String>,
    /// The model of the agent
    #[arg(long)]
    pub(super) model: Option<String>,
    /// The prompt for the agent [default: made from the issue and the title]
    #[arg(long)]
    pub(super) prompt: Option<String>,
    /// The branch to work on [default: derived from the name]
    #[arg(long)]
    pub(super) branch: Option<String>,
    /// The runtime of its process: process, tmux, …
    #[arg(long)]
    pub(super) runtime: Option<String>,
    /// The kind of workspace: worktree or clone
    #[arg(long)]
    pub(super) workspace: Option<String>,
    /// Sessions with a higher priority get a free slot first
    #[arg(long, allow_negative_numbers = true)]
    pub(super) priority: Option<i32>,
    /// Trust an issue that an outsider wrote; read it first, because its text becomes the agent's task
    #[arg(long)]
    pub(super) trust: bool,
    /// Start even if the tracker cannot be reached; the agent then only gets the issue's name
    #[arg(long)]
    pub(super) force: bool,
}

impl SessionOptions {
    pub(super) fn wish(&self) -> NewSession {
        NewSession {
            agent: self.agent.clone(),
            model: self.model.clone(),
            prompt: self.prompt.clone(),
            branch: self.branch.clone(),
            runtime: self.runtime.clone(),
            workspace: self.workspace.clone(),
            priority: self.priority,
            trust: self.trust,
            force: self.force,
            ..NewSession::default()
        }
    }
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let wish = NewSession {
            project_id: match &args.issue {
                Some(issue) => project_of_issue(client, issue, args.project.as_deref()).await?,
                None => project(client, args.project.as_deref()).await?,
            },
            issue: args.issue.clone(),
            title: Some(args.title.clone()),
            name: args.name.clone(),
            ..args.how.wish()
        };
        spawn::one(client, &wish, cx).await
    })
}
