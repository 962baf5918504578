//! `ao pr show`.

use super::PullArg;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::{Canvas, PullParts, pager};
use crate::{show, ui};

/// Show a pull request: its state, commits, checks, reviews and threads
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr show 7
  ao pr show 7 --comments --all
  ao pr show 7 --json | jq -r '.blockers[]'")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// Only show reviews and threads
    #[arg(long)]
    comments: bool,
    /// Show resolved threads and the text of stale reviews too
    #[arg(long)]
    all: bool,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let detail = cx.wait_for(async {
        let project = args.which.project(&client).await?;
        Ok(client.pull(args.which.named(project.as_deref())).reply().await?)
    })?;
    if cx.json() {
        return Ok(ui::raw(detail.json())?);
    }
    let parts = PullParts { all: args.all, only_comments: args.comments };
    Ok(pager::show(&show::pull(&detail.value, parts, Canvas::here()), !args.no_pager)?)
}
