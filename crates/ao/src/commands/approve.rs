//! `ao approve`: approves a pull request and merges it. Short for `ao pr approve` and `ao pr merge` of the same head.

use std::time::Duration;

use ao_api::client::{Client, ClientError, ItemName};
use ao_api::{NewMerge, NewReview, Pull, PullChecks, PullStatus, ReviewChoice};
use tokio::time::sleep;

use super::pr::{PullArg, pinned, refused};
use crate::cli::context::Context;
use crate::client::retry::{self, CallRetry};
use crate::error::CommandError;
use crate::{show, ui};

/// Interval of looks at its checks.
const LOOK: Duration = Duration::from_millis(500);

/// Approve a pull request and merge it
///
/// Approves the named head, or the current one, and merges only that. Waits for pending checks, and tests the result
/// before it lands. Exits with 20 if something else prevents the merge; the approval stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao approve 7
  ao approve 7 --head 4f1c2d3
  ao pr approve 7   only the approval")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// The commit that was read [default: the current head]
    #[arg(long, value_name = "SHA")]
    head: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let pull = client.pull(&args.which.named(client).await?).await?.pull;
        let head = pinned(args.head.as_deref(), &pull.head);
        let (key, head_read) = (Some(retry::key()), Some(head.clone()));
        let review = NewReview { head: head_read, key, ..NewReview::new(ReviewChoice::Approve) };
        let named = ItemName::from(pull.id.as_str());
        CallRetry::default().call(async || client.review_pull(&named, &review).await).await?;
        let landed = landed(client, &pull, head).await?;
        cx.print(&landed, || {
            let (title, id, base) = (ui::TITLE, show::plain(&pull.id), show::plain(&pull.base_branch));
            ui::line(format_args!(
                "{title}{id}{title:#} is approved and merged into {base}: {}",
                show::plain(&pull.title)
            ))
        })
    })
}

/// Merges it once its checks have ended, also if the base has just moved. Where approved changes are merged
/// automatically, that may happen first.
async fn landed(client: &Client, pull: &Pull, head: String) -> Result<Pull, CommandError> {
    let named = ItemName::from(pull.id.as_str());
    let request = NewMerge { head: Some(head), ..NewMerge::default() };
    let mut told = false;
    loop {
        let err = match client.merge_pull(&named, &request).reply().await {
            Ok(done) => return Ok(done.value.pull.pull),
            Err(err @ ClientError::Refused(_)) => err,
            Err(err) => return Err(err.into()),
        };
        let now = client.pull(&named).await?.pull;
        match (now.state, now.checks) {
            (PullStatus::Merged, _) => return Ok(now),
            (PullStatus::Open, PullChecks::Pending) => {}
            _ => return Err(refused(err, &pull.id)),
        }
        if !told {
            told = true;
            let id = show::plain(&pull.id);
            ui::note(format_args!(
                "{id} is approved, and its checks are running; Ctrl-C stops waiting, and the approval stays"
            ));
        }
        sleep(LOOK).await;
    }
}
