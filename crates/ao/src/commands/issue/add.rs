//! `ao issue add`: creates an issue.

use ao_api::NewIssue;

use super::print_issue;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::cli::text_input::BodyArgs;
use crate::client::project_choice::project;
use crate::client::retry::{self, CallRetry};
use crate::error::CommandError;

/// Create an issue
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue add \"Login forgets the user\"
  ao issue add \"Login forgets the user\" -b \"After a restart.\" --label bug,auth --priority 2
  ao issue add \"Export to CSV\" --body-file notes.md --blocked-by 9,12
  git log -1 --format=%b | ao issue add \"Follow up\" --body-file -")]
pub(crate) struct Args {
    /// The title
    title: String,
    #[command(flatten)]
    body: BodyArgs,
    /// Labels, separated by commas
    #[arg(long, short, value_delimiter = ',', value_name = "LABEL")]
    label: Vec<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    priority: i32,
    /// Issues that must be closed first
    #[arg(long, value_delimiter = ',', value_name = "ISSUE", add = completers::issues())]
    blocked_by: Vec<String>,
    /// The assignee
    #[arg(long)]
    assignee: Option<String>,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if args.title.trim().is_empty() {
        return Err(CommandError::user("an issue needs a title, so nothing was created"));
    }
    let body = args.body.read()?.unwrap_or_default();
    cx.call(async |client| {
        let new = NewIssue {
            project_id: project(client, args.project.as_deref()).await?,
            title: args.title.trim().to_owned(),
            body,
            labels: args.label.clone(),
            priority: args.priority,
            blocked_by: args.blocked_by.clone(),
            assignee: args.assignee.clone(),
            key: Some(retry::key()),
            closed: false,
        };
        let added = CallRetry::default().call(async || client.add_issue(&new).reply().await).await?;
        print_issue(&added, "is created", cx)
    })
}
