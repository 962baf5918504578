//! `ao issue comment`.

use ao_api::NewIssueComment;

use super::IssueArg;
use crate::cli::context::Context;
use crate::cli::text_input;
use crate::client::retry::{self, CallRetry};
use crate::error::CommandError;
use crate::ui;

/// Comment on an issue
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue comment 42 \"Seen again today\"
  ao issue comment 42 - <notes.md")]
pub(crate) struct Args {
    #[command(flatten)]
    which: IssueArg,
    /// The comment; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let comment = NewIssueComment { body: text_input::require_text(&args.text)?, key: Some(retry::key()) };
    let answer = cx.call(async |client| {
        let named = args.which.named(client).await?;
        let say = async || client.comment_on_issue(&named, &comment).reply().await;
        Ok(CallRetry::default().call(say).await?)
    })?;
    cx.print_reply(&answer, || ui::line(format_args!("commented on issue {}", args.which.issue)))
}
