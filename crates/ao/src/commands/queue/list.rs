//! `ao queue list`: the entries of merge queues.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// List the merge queue in order, with the base that each entry is tested on and what it waits for
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao queue list
  ao queue list --project my-app
  ao queue list --json | jq -r '.queues[].entries[] | select(.state == \"held\") | .id'")]
pub(crate) struct ListArgs {
    /// Only the queue of this project [default: all]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(super) fn run(args: &ListArgs, cx: &Context) -> Result<(), CommandError> {
    let queues = cx.call(async |client| Ok(client.queues(args.project.as_deref()).reply().await?))?;
    let quiet = |queue: &ao_api::MergeQueue| queue.entries.is_empty() && queue.paused.is_none();
    cx.print_reply(&queues, || {
        if queues.value.queues.iter().all(quiet) {
            ui::note("nothing is queued; `ao queue add PR` queues a pull request that is approved and green");
            return Ok(());
        }
        ui::text(show::merge_queues(&queues.value, Canvas::here()))
    })
}
