//! `ao issue comment`.

use ao_api::NewIssueComment;

use super::Which;
use crate::calls::forge;
use crate::context::Context;
use crate::error::CommandError;
use crate::repeat::{self, Tries};
use crate::{typed, ui};

/// Say something on an issue
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue comment 42 \"Seen again today\"
  ao issue comment 42 - <notes.md")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// What to say; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let comment = NewIssueComment { body: typed::something(&args.text)?, key: Some(repeat::key()) };
    let client = cx.client()?;
    let answer = cx.wait_for(async {
        let project = args.which.project(&client).await?;
        let named = args.which.named(project.as_deref());
        let say = async || forge::comment_on_issue(&client, named, &comment).await;
        Ok(Tries::default().call(say).await?)
    })?;
    match cx.json() {
        true => Ok(ui::raw(answer.raw())?),
        false => Ok(ui::line(format_args!("said on issue {}", args.which.issue))?),
    }
}
