//! Changes to a merge queue.

use ao_api::client::{ApiReply, Client, ItemName};
use ao_api::{MergeQueue, NewQueueEntry, QueuePause};

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_id;
use crate::commands::pr::PullArg;
use crate::error::{CommandError, FailureKind};
use crate::{show, ui};

/// Add a pull request to the queue
///
/// The policy must allow it, and is checked again before it lands. Exits with 20 if it may not be merged.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    which: PullArg,
    /// Higher goes first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
}

/// Remove a pull request from the queue
///
/// Entries that were tested with it or on top of it are tested again.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    which: PullArg,
}

/// Set the priority of a pull request
///
/// Entries that are being tested are not overtaken.
#[derive(Debug, clap::Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    which: PullArg,
    /// Higher goes first
    #[arg(value_name = "N", allow_negative_numbers = true)]
    priority: i32,
}

/// Pause a queue
///
/// Running tests finish, and nothing lands until `ao queue resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct PauseArgs {
    /// The reason, shown to others
    why: Option<String>,
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

/// Resume a queue
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(super) fn add(args: &AddArgs, cx: &Context) -> Result<(), CommandError> {
    let queue = cx.call(async |client| {
        let ItemName { name: pull, project } = args.which.named(client).await?;
        enqueue(client, &NewQueueEntry { pull, project, head: None, priority: args.priority }).await
    })?;
    print_queue(&queue, cx, || {
        let place = queue.value.entries.len();
        format!("{} is queued; {place} in the queue of {}", args.which.name(), queue.value.project_id)
    })
}

/// Adds a pull request to its queue. A refusal has an exit code of its own.
pub(crate) async fn enqueue(
    client: &Client,
    request: &NewQueueEntry,
) -> Result<ApiReply<MergeQueue>, CommandError> {
    client.enqueue(request).reply().await.map_err(|err| {
        let stands = matches!(&err, ao_api::client::ClientError::Refused(problem) if problem.status == 409);
        let error = CommandError::from(err);
        if stands { error.of_kind(FailureKind::NotMerged) } else { error }
    })
}

pub(super) fn remove(args: &RemoveArgs, cx: &Context) -> Result<(), CommandError> {
    let queue =
        cx.call(async |client| Ok(client.dequeue(&args.which.named(client).await?).reply().await?))?;
    print_queue(&queue, cx, || format!("{} is no longer in the queue", args.which.name()))
}

pub(super) fn priority(args: &PriorityArgs, cx: &Context) -> Result<(), CommandError> {
    let queue = cx.call(async |client| {
        Ok(client.prioritize(&args.which.named(client).await?, args.priority).reply().await?)
    })?;
    print_queue(&queue, cx, || format!("{} has the priority {} now", args.which.name(), args.priority))
}

pub(super) fn pause(args: &PauseArgs, cx: &Context) -> Result<(), CommandError> {
    let queue = cx.call(async |client| {
        let project = project_id(client, args.project.as_deref()).await?;
        Ok(client.pause_queue(&QueuePause { project, why: args.why.clone() }).reply().await?)
    })?;
    print_queue(&queue, cx, || {
        format!("the queue of {} is paused until `ao queue resume`", queue.value.project_id)
    })
}

pub(super) fn resume(args: &ResumeArgs, cx: &Context) -> Result<(), CommandError> {
    let queue = cx.call(async |client| {
        let project = project_id(client, args.project.as_deref()).await?;
        Ok(client.resume_queue(&QueuePause { project, why: None }).reply().await?)
    })?;
    print_queue(&queue, cx, || format!("the queue of {} is resumed", queue.value.project_id))
}

fn print_queue(
    queue: &ApiReply<MergeQueue>,
    cx: &Context,
    words: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    cx.print_reply(queue, || ui::line(show::plain(&words())))
}
