//! `ao issue show`.

use super::IssueArg;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::{Canvas, pager};
use crate::{show, ui};

/// Show an issue with its comments
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue show 42
  ao issue show my-app#42 --json | jq -r .body")]
pub(crate) struct Args {
    #[command(flatten)]
    which: IssueArg,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let issue = cx.wait_for(async {
        let project = args.which.project(&client).await?;
        Ok(client.issue(args.which.named(project.as_deref())).reply().await?)
    })?;
    if cx.json() {
        return Ok(ui::raw(issue.json())?);
    }
    Ok(pager::show(&show::issue(&issue.value, Canvas::here()), !args.no_pager)?)
}
