//! `ao check run`: runs checks and follows their output.

use ao_api::{CheckRuns, NewCheckRun};

use super::{follow, project_of};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Run checks and follow their output
///
/// For a pull request, tests what would land: its head merged onto its base. With `--revision`, tests a branch or
/// commit as it is. Exits with 0 if all have passed, and with 18 if one has failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check run 7
  ao check run 7 --only test,lint
  ao check run --revision my-branch
  ao check run 7 --again        although the same tree has a result already
  ao check run 7 --no-follow    only starts them")]
pub(crate) struct Args {
    /// The pull request: 7, !7 or my-app!7
    #[arg(value_name = "PR", required_unless_present = "revision", add = completers::pulls())]
    pull: Option<String>,
    /// A branch or commit to test as it is
    #[arg(long, value_name = "REV", conflicts_with = "pull")]
    revision: Option<String>,
    /// Only these checks
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    only: Vec<String>,
    /// Also run checks that have a result
    #[arg(long)]
    again: bool,
    /// Start them and do not wait
    #[arg(long)]
    no_follow: bool,
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let request = NewCheckRun {
            project_id: project_of(client, args.pull.as_deref(), args.project.as_deref()).await?,
            pull: args.pull.clone(),
            revision: args.revision.clone(),
            checks: args.only.clone(),
            again: args.again,
        };
        followed(client, &request, args.no_follow, cx).await
    })
}

/// Starts runs and prints their results.
pub(super) async fn followed(
    client: &ao_api::client::Client,
    request: &NewCheckRun,
    no_follow: bool,
    cx: &Context,
) -> Result<(), CommandError> {
    let begun = client.run_checks(request).reply().await?;
    if begun.value.runs.is_empty() {
        if cx.json() {
            ui::raw(begun.json())?;
        }
        return Err(CommandError::user("there is nothing to run: the project has no such checks")
            .hint("`ao check list` lists configured and proposed checks"));
    }
    if no_follow {
        return cx.print_reply(&begun, || ui::text(show::runs(&begun.value.runs, Canvas::here())));
    }
    let runs = follow::to_the_end(client, begun.value.runs, !cx.json()).await?;
    let ended = CheckRuns { runs };
    cx.print(&ended, || ui::text(format_args!("\n{}", show::runs(&ended.runs, Canvas::here()))))?;
    follow::verdict(&ended.runs)
}
