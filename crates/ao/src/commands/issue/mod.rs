//! `ao issue`: issues of the trackers.

mod add;
mod comment;
mod edit;
mod import;
mod label;
mod list;
mod show;
mod state;

use ao_api::Issue;
use ao_api::client::{ApiReply, Client, ItemName};

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_of_issue;
use crate::error::CommandError;
use crate::{show as look, ui};

subcommands! {
    /// Create, read, change and import issues
    ///
    /// Issues live in the project's tracker; without one, ao keeps them itself. Name an issue by its number (42 or #42),
    /// or with its project (my-app#42).
    #[command(after_help = "Examples:
  ao issue add \"Login forgets the user\" --label bug --priority 2
  ao issue list
  ao issue show 42
  ao issue comment 42 \"Seen again today\"
  ao issue close 42
  ao issue reopen 42")]
    pub(crate) struct Args;

    Add(add::Args) => add::run,
    #[command(alias = "ls")]
    List(list::Args) => list::run,
    Show(show::Args) => show::run,
    Edit(edit::Args) => edit::run,
    Comment(comment::Args) => comment::run,
    Label(label::Args) => label::run,
    Close(state::IssueCloseArgs) => state::close,
    Reopen(state::IssueReopenArgs) => state::reopen,
    Import(import::Args) => import::run,
}

/// An issue named on the command line.
#[derive(Debug, Clone, clap::Args)]
struct IssueArg {
    /// The issue: 42, #42 or my-app#42
    #[arg(add = completers::issues())]
    issue: String,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

impl IssueArg {
    /// Returns its name, with the project to look in unless the name includes it.
    async fn named(&self, client: &Client) -> Result<ItemName, CommandError> {
        let project = project_of_issue(client, &self.issue, self.project.as_deref()).await?;
        Ok(ItemName { name: self.issue.clone(), project })
    }
}

/// Prints an issue after a change.
fn print_issue(issue: &ApiReply<Issue>, done: &str, cx: &Context) -> Result<(), CommandError> {
    cx.print_reply(issue, || {
        let (title, id) = (ui::TITLE, look::plain(&issue.value.id));
        ui::line(format_args!("{title}{id}{title:#} {done}: {}", look::plain(&issue.value.title)))
    })
}
