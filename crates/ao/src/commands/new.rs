//! `ao new`: a session from a title.

use ao_api::NewSession;
use ao_api::client::Client;

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
    /// What is to be done, in one line
    title: String,
    /// The project it belongs to [default: the one of this folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// The issue it is for, which must exist; one issue never gets two sessions
    #[arg(long, short)]
    issue: Option<String>,
    #[command(flatten)]
    how: How,
    /// What people will call the session [default: made of project and title]
    #[arg(long)]
    name: Option<String>,
}

/// How a new session is to work, where it should differ from the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct How {
    /// Which agent works on it [default: as configured]
    #[arg(long, short)]
    pub(super) agent: Option<String>,
    /// The model that the agent uses
    #[arg(long)]
    pub(super) model: Option<String>,
    /// What the agent is told to do [default: made of the issue and the title]
    #[arg(long)]
    pub(super) prompt: Option<String>,
    /// The branch it works on [default: made of the name]
    #[arg(long)]
    pub(super) branch: Option<String>,
    /// Where its process runs: process, tmux, …
    #[arg(long)]
    pub(super) runtime: Option<String>,
    /// What kind of folder it gets: worktree or clone
    #[arg(long)]
    pub(super) workspace: Option<String>,
    /// Sessions with a higher number get a free slot first
    #[arg(long, allow_negative_numbers = true)]
    pub(super) priority: Option<i32>,
    /// Answer for an issue that an outsider wrote: read it before, its text becomes the agent's task
    #[arg(long)]
    pub(super) trust: bool,
    /// Start although the tracker cannot be asked about the issue; the agent gets no more of it than its name
    #[arg(long)]
    pub(super) force: bool,
}

impl How {
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
    let client: Client = cx.client()?;
    cx.wait_for(async {
        let wish = NewSession {
            project_id: match &args.issue {
                Some(issue) => project_of_issue(&client, issue, args.project.as_deref()).await?,
                None => project(&client, args.project.as_deref()).await?,
            },
            issue: args.issue.clone(),
            title: Some(args.title.clone()),
            name: args.name.clone(),
            ..args.how.wish()
        };
        spawn::one(&client, &wish, cx).await
    })
}
