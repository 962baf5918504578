//! `ao pr merge`: merges a pull request into its base.

use std::time::Duration;

use ao_api::client::{Client, ClientError, ItemName};
use ao_api::{MergeMethod, NewMerge, NewQueueEntry};
use tokio::time::sleep;

use super::PullArg;
use super::review::pinned;
use crate::cli::context::Context;
use crate::commands::check::RunWatch;
use crate::commands::queue::enqueue;
use crate::error::{CommandError, FailureKind};
use crate::{show, ui};

/// Interval of looks at the progress of its checks.
const LOOK: Duration = Duration::from_secs(2);

/// Merge a pull request
///
/// The result is tested before it lands, which can take as long as its checks do. Only the named head is merged, or
/// the current one: commits that are pushed meanwhile are not merged unseen. Exits with 20 if the pull request may
/// not be merged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr merge 7
  ao pr merge 7 --squash --delete-branch
  ao pr merge 7 --head 4f1c2d3 --rebase
  ao pr merge 7 --queue    when its turn comes
  ao pr merge 7 --anyway   regardless of checks, reviews and policy")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// Squash it into one commit
    #[arg(long, group = "strategy")]
    squash: bool,
    /// Create a merge commit
    #[arg(long, group = "strategy")]
    merge: bool,
    /// Rebase its commits onto the base
    #[arg(long, group = "strategy")]
    rebase: bool,
    /// Merge only if this is its head [default: the current head]
    #[arg(long, value_name = "SHA")]
    head: Option<String>,
    /// Delete its branch afterwards
    #[arg(long, short)]
    delete_branch: bool,
    /// Keep its branch, even if the configuration deletes merged branches. The branch of a session is deleted with its
    /// workspace
    #[arg(long, conflicts_with = "delete_branch")]
    keep_branch: bool,
    /// Merge regardless of checks, reviews and policy
    #[arg(long)]
    anyway: bool,
    /// Add it to the merge queue: it lands when its turn comes, it is green and policy allows it [default if
    /// `mergeQueue` is configured]
    #[arg(long, conflicts_with_all = ["strategy", "delete_branch", "keep_branch", "anyway"])]
    queue: bool,
    /// Merge it at once, ahead of the merge queue
    #[arg(long, conflicts_with = "queue")]
    now: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let pull = client.pull(&args.which.named(client).await?).await?.pull;
        if args.queue || (!args.is_at_once() && has_queue(client, &pull.project_id).await) {
            let head = Some(pinned(args.head.as_deref(), &pull.head));
            let request = NewQueueEntry { pull: pull.id.clone(), head, ..NewQueueEntry::default() };
            let queue = enqueue(client, &request).await?;
            let id = show::plain(&pull.id);
            return cx.print_reply(&queue, || {
                ui::line(format_args!(
                    "{id} is queued; `ao queue` shows its place, `ao pr merge {id} --now` does not wait"
                ))
            });
        }
        let named = ItemName::from(pull.id.as_str());
        let request = NewMerge {
            strategy: args.strategy(),
            head: Some(pinned(args.head.as_deref(), &pull.head)),
            delete_branch: args.delete_branch.then_some(true).or(args.keep_branch.then_some(false)),
            anyway: args.anyway,
        };
        let answer = tokio::select! {
            done = client.merge_pull(&named, &request).reply() => done.map_err(|err| refused(err, &pull.id))?,
            never = print_progress(client, &named) => match never {},
        };
        if cx.json() {
            return Ok(ui::raw(answer.json())?);
        }
        let done = &answer.value;
        let (title, id, base) = (ui::TITLE, show::plain(&pull.id), show::plain(&pull.base_branch));
        let commit = done.commit.get(..12).unwrap_or(&done.commit);
        ui::line(format_args!(
            "{title}{id}{title:#} is merged: {base} is at {} now, {}",
            show::plain(commit),
            show::plain(&pull.title)
        ))?;
        if let (Some(_), Some(session)) = (&done.branch_left, &pull.session) {
            let (branch, session) = (show::plain(&pull.head_branch), show::plain(session));
            ui::note(format_args!("its branch {branch} is deleted with the workspace of {session}"));
        } else if let Some(why) = &done.branch_left {
            ui::note(format_args!(
                "its branch {} is left: {}",
                show::plain(&pull.head_branch),
                show::plain(why)
            ));
        } else if done.branch_deleted {
            ui::note(format_args!("its branch {} is deleted", show::plain(&pull.head_branch)));
        }
        Ok(())
    })
}

/// Returns true if the project configures its merge queue.
async fn has_queue(client: &Client, project: &str) -> bool {
    let queues = client.queues(Some(project)).await;
    queues.is_ok_and(|queues| queues.queues.iter().any(|queue| queue.configured))
}

impl Args {
    /// Returns true if an option was given that the queue would decide by itself.
    fn is_at_once(&self) -> bool {
        self.now || self.anyway || self.strategy().is_some() || self.delete_branch || self.keep_branch
    }

    fn strategy(&self) -> Option<MergeMethod> {
        match (self.squash, self.merge, self.rebase) {
            (true, ..) => Some(MergeMethod::Squash),
            (_, true, _) => Some(MergeMethod::Merge),
            (.., true) => Some(MergeMethod::Rebase),
            _ => None,
        }
    }
}

/// Prints the progress of the checks to stderr, as long as the merge takes.
async fn print_progress(client: &Client, pull: &ItemName) -> std::convert::Infallible {
    let mut watch = RunWatch::default();
    // A merge that is done at once has no progress.
    sleep(LOOK).await;
    ui::note(format_args!("the result is being tested; Ctrl-C stops waiting, and the daemon continues"));
    loop {
        // The merge itself reports problems with the pull request.
        if let Ok(detail) = client.pull(pull).await {
            watch.print_changes(&detail.check_runs);
        }
        sleep(LOOK).await;
    }
}

/// Converts a refusal, with an exit code of its own, so that scripts can distinguish it from a mistake.
pub(in crate::commands) fn refused(err: ClientError, id: &str) -> CommandError {
    let in_the_way =
        matches!(&err, ClientError::Refused(problem) if matches!(problem.status, 409 | 412 | 422 | 423));
    let error = CommandError::from(err);
    match in_the_way {
        true if error.hints().is_empty() => {
            error.of_kind(FailureKind::NotMerged).hint(format!("`ao pr show {id}` shows what prevents it"))
        }
        true => error.of_kind(FailureKind::NotMerged),
        false => error,
    }
}
