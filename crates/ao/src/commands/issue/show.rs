//! `ao issue show`.

use super::IssueArg;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show;
use crate::show::{Canvas, pager};

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
    let issue = cx.call(async |client| Ok(client.issue(&args.which.named(client).await?).reply().await?))?;
    cx.print_reply(&issue, || pager::show(&show::issue(&issue.value, Canvas::here()), !args.no_pager))
}
