//! `ao pr show`.

use super::PullArg;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show;
use crate::show::{Canvas, PullParts, pager};

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
    let detail = cx.call(async |client| Ok(client.pull(&args.which.named(client).await?).reply().await?))?;
    cx.print_reply(&detail, || {
        let parts = PullParts { all: args.all, only_comments: args.comments };
        pager::show(&show::pull(&detail.value, parts, Canvas::here()), !args.no_pager)
    })
}
