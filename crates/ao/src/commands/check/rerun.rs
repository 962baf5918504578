//! `ao check rerun`: runs a check again.

use ao_api::NewCheckRun;

use super::RunArg;
use super::run::followed;
use crate::cli::context::Context;
use crate::error::CommandError;

/// Run a check again, even if it has a result
///
/// Runs it on the same subject: the pull request as it is today, or the commit. Exits like `ao check run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check rerun run_4f2
  ao check rerun test --pull 7
  ao check rerun test --no-follow")]
pub(crate) struct Args {
    #[command(flatten)]
    which: RunArg,
    /// Start it and do not wait
    #[arg(long)]
    no_follow: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let before = args.which.find(client).await?;
        let request = NewCheckRun {
            project_id: Some(before.project_id.clone()),
            revision: before.pull.is_none().then(|| before.head.clone()),
            pull: before.pull,
            checks: vec![before.check],
            again: true,
        };
        followed(client, &request, args.no_follow, cx).await
    })
}
