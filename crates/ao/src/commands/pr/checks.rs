//! `ao pr checks`: the checks of a pull request.

use std::time::Duration;

use ao_api::client::{Client, ItemName};
use ao_api::{CheckRuns, PullChecks, PullDetail};
use tokio::time::sleep;

use super::PullArg;
use crate::cli::context::Context;
use crate::client::event_watch::{self, EventWatch};
use crate::commands::check::{RunWatch, verdict};
use crate::error::{CommandError, FailureKind};
use crate::show::Canvas;
use crate::show::check::{is_bad, is_pending, newest};
use crate::{show, ui};

/// Interval of looks, in case an event was missed.
const LOOK: Duration = Duration::from_secs(2);

/// Show the checks of a pull request
///
/// Shows the newest run of each check; `ao check list --pull` shows all of them. Exits with 0 if all have passed, with 18
/// if one has failed, and with 19 if some are still pending.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr checks 7
  ao pr checks 7 --watch && ao pr merge 7")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// Wait until they have ended
    #[arg(long, short)]
    watch: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let detail = cx.call(async |client| {
        let detail = client.pull(&args.which.named(client).await?).await?;
        match args.watch {
            true => watched(client, detail).await,
            false => Ok(detail),
        }
    })?;
    let runs = newest(&detail.check_runs);
    if cx.json() {
        ui::json(&CheckRuns { runs: runs.clone() })?;
    } else {
        let canvas = Canvas::here();
        ui::text(show::runs(&runs, canvas))?;
        for run in runs.iter().filter(|run| is_bad(run.state)) {
            let failure = show::failure(run, canvas);
            if !failure.is_empty() {
                ui::text(format_args!("\n{failure}"))?;
            }
        }
    }
    verdict(&runs)?;
    if is_over(&detail) {
        if runs.is_empty() {
            ui::note("there are no checks; `ao check list` proposes some");
        }
        return Ok(());
    }
    if is_blocked(&detail) {
        let what = format!("the checks cannot run: it conflicts with `{}`", detail.pull.base_branch);
        let way = format!("resolve the conflict first; `ao pr show {}` names the files", detail.pull.number);
        return Err(CommandError::new(FailureKind::ChecksPending, what).hint(way));
    }
    Err(CommandError::new(FailureKind::ChecksPending, "the checks have not started yet")
        .hint("`--watch` waits for them"))
}

/// Waits until all runs have ended, and prints each change to stderr.
async fn watched(client: &Client, first: PullDetail) -> Result<PullDetail, CommandError> {
    let id = first.pull.id.clone();
    let mut watch = RunWatch::default();
    let mut news = EventWatch::open(client, None).await?;
    let mut detail = first;
    loop {
        watch.print_changes(&detail.check_runs);
        if is_over(&detail) || is_blocked(&detail) {
            return Ok(detail);
        }
        tokio::select! {
            news = news.next(client, None) => news?,
            () = sleep(LOOK) => {}
        }
        match client.pull(&ItemName::from(id.as_str())).reply().await {
            Ok(found) => detail = found.value,
            // The feed of events decides whether the daemon comes back.
            Err(err) if event_watch::is_away(&err) => news.reopen(client, None, err).await?,
            Err(err) => return Err(err.into()),
        }
    }
}

/// Returns true if the checks wait for a conflict to be resolved, which could take for ever.
fn is_blocked(detail: &PullDetail) -> bool {
    detail.pull.checks == PullChecks::Blocked && !detail.check_runs.iter().any(|run| is_pending(run.state))
}

fn is_over(detail: &PullDetail) -> bool {
    let runs = &detail.check_runs;
    let has_begun =
        !runs.is_empty() || !matches!(detail.pull.checks, PullChecks::Pending | PullChecks::Blocked);
    has_begun && !runs.iter().any(|run| is_pending(run.state))
}
