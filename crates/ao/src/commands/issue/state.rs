//! `ao issue close` and `ao issue reopen`.

use ao_api::{IssueEdit, NewIssueComment, OpenState};

use super::{IssueArg, print_issue};
use crate::cli::context::Context;
use crate::cli::text_input;
use crate::error::CommandError;

/// Close an issue
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue close 42
  ao issue close 42 --comment \"Done in !7\"")]
pub(crate) struct IssueCloseArgs {
    #[command(flatten)]
    which: IssueArg,
    /// Add this comment first
    #[arg(long, short, allow_hyphen_values = true, value_name = "TEXT")]
    comment: Option<String>,
}

/// Reopen a closed issue
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue reopen 42
  ao issue reopen 42 --comment \"It came back\"")]
pub(crate) struct IssueReopenArgs {
    #[command(flatten)]
    which: IssueArg,
    /// Add this comment first
    #[arg(long, short, allow_hyphen_values = true, value_name = "TEXT")]
    comment: Option<String>,
}

pub(crate) fn close(args: &IssueCloseArgs, cx: &Context) -> Result<(), CommandError> {
    set(&args.which, args.comment.as_deref(), OpenState::Closed, cx)
}

pub(crate) fn reopen(args: &IssueReopenArgs, cx: &Context) -> Result<(), CommandError> {
    set(&args.which, args.comment.as_deref(), OpenState::Open, cx)
}

fn set(which: &IssueArg, comment: Option<&str>, state: OpenState, cx: &Context) -> Result<(), CommandError> {
    let comment = comment.map(text_input::require_text).transpose()?;
    cx.call(async |client| {
        let named = which.named(client).await?;
        if let Some(body) = comment {
            client.comment_on_issue(&named, &NewIssueComment { body, key: None }).await?;
        }
        let edit = IssueEdit { state: Some(state), ..IssueEdit::default() };
        print_issue(&client.edit_issue(&named, &edit).reply().await?, &format!("is {state}"), cx)
    })
}
