//! `ao issue edit`.

use ao_api::IssueEdit;

use super::{IssueArg, print_issue};
use crate::cli::context::Context;
use crate::cli::text_input::{BodyArgs, TitledText};
use crate::cli::{completers, text_input};
use crate::error::CommandError;
use crate::ui;

/// Change an issue
///
/// Without options, opens your editor on its title and text: the title in the first line, then an empty line, then
/// the text, in Markdown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue edit 42
  ao issue edit 42 --title \"Login forgets the user\" --priority 3
  ao issue edit 42 --blocked-by 9 --not-blocked-by 12
  ao issue edit 42 --assignee ''   removes the assignee")]
pub(crate) struct Args {
    #[command(flatten)]
    which: IssueArg,
    /// The new title
    #[arg(long, short)]
    title: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
    /// Higher goes first
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Issues that must be closed first
    #[arg(long, value_delimiter = ',', value_name = "ISSUE", add = completers::issues())]
    blocked_by: Vec<String>,
    /// Issues that no longer block it
    #[arg(long, value_delimiter = ',', value_name = "ISSUE", add = completers::issues())]
    not_blocked_by: Vec<String>,
    /// The assignee
    #[arg(long)]
    assignee: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if args.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(CommandError::user("an issue needs a title, so nothing was changed"));
    }
    let mut edit = IssueEdit {
        title: args.title.clone(),
        body: args.body.read()?,
        priority: args.priority,
        add_blocked_by: args.blocked_by.clone(),
        remove_blocked_by: args.not_blocked_by.clone(),
        assignee: args.assignee.clone(),
        ..IssueEdit::default()
    };
    let by_hand = edit == IssueEdit::default();
    if by_hand && !text_input::is_interactive() {
        return Err(CommandError::user("nothing to change was given")
            .hint("pass an option such as `--title` or `--priority`; on a terminal, an editor is opened"));
    }
    cx.call(async |client| {
        let named = args.which.named(client).await?;
        if by_hand {
            let issue = client.issue(&named).await?;
            let Some(form) =
                (TitledText { title: issue.title.clone(), body: issue.body.clone() }).edited()?
            else {
                ui::note("nothing was changed");
                return Ok(());
            };
            edit.title = (form.title != issue.title).then_some(form.title);
            edit.body = (form.body != issue.body.trim_end()).then_some(form.body);
        }
        print_issue(&client.edit_issue(&named, &edit).reply().await?, "is changed", cx)
    })
}
