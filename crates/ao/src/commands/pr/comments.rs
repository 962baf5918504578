//! `ao pr comment`, `ao pr reply` and `ao pr resolve`.

use ao_api::NewComment;

use super::PullArg;
use super::location::FileLocation;
use crate::cli::context::Context;
use crate::cli::text_input;
use crate::client::retry::{self, CallRetry};
use crate::error::CommandError;
use crate::{show, ui};

/// Comment on a pull request, a file or a line
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr comment 7 \"Nice\"
  ao pr comment 7 \"Name it after what it does\" --at src/main.rs:12
  ao pr comment 7 \"Why is this gone?\" --at src/main.rs:3 --old
  ao pr comment 7 - <notes.md
  ao pr comment 7 --edit c3 \"Name it after what it is for\"")]
pub(crate) struct CommentArgs {
    #[command(flatten)]
    which: PullArg,
    /// The comment; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// The file to comment on, optionally with a line
    #[arg(long, value_name = "PATH[:LINE]")]
    at: Option<FileLocation>,
    /// The line is one of the file before the change
    #[arg(long, requires = "at")]
    old: bool,
    /// Replace the text of this comment or review, by its id in `ao pr show`: c3, r1
    #[arg(long, value_name = "COMMENT", conflicts_with_all = ["at", "old"])]
    edit: Option<String>,
}

/// Reply to a review thread
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr reply 7 t3 \"Done\"
  ao pr reply 7 c5 \"Done\"              in the thread of that comment
  ao pr reply 7 t3 \"Done\" --resolve")]
pub(crate) struct ReplyArgs {
    #[command(flatten)]
    which: PullArg,
    /// The thread, or a comment in it, by its id in `ao pr show` or in a message: t3, c5
    thread: String,
    /// The reply; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Resolve the thread as well
    #[arg(long)]
    resolve: bool,
}

/// Resolve review threads
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr resolve 7 t3 t4
  ao pr resolve 7 t3 --undo")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    which: PullArg,
    /// The threads, or comments in them, by their ids in `ao pr show` or in a message: t3, c5
    #[arg(required = true, value_name = "THREAD")]
    threads: Vec<String>,
    /// Reopen the threads
    #[arg(long)]
    undo: bool,
}

pub(crate) fn comment(args: &CommentArgs, cx: &Context) -> Result<(), CommandError> {
    let body = text_input::require_text(&args.text)?;
    if let Some(said) = &args.edit {
        return edit(&args.which, said, body, cx);
    }
    let mut comment = NewComment { body, key: Some(retry::key()), ..NewComment::default() };
    if let Some(place) = &args.at {
        let place = FileLocation { old: place.old || args.old, ..place.clone() };
        comment.side = place.side();
        (comment.path, comment.line) = (Some(place.path), place.line);
    }
    let answer = cx.call(async |client| {
        let named = args.which.named(client).await?;
        let say = async || client.comment_on_pull(&named, &comment).reply().await;
        Ok(CallRetry::default().call(say).await?)
    })?;
    cx.print_reply(&answer, || {
        let (title, thread) = (ui::TITLE, show::plain(&answer.value.thread));
        ui::line(format_args!("commented on {} as {title}{thread}{title:#}", args.which.name()))
    })
}

fn edit(which: &PullArg, said: &str, body: String, cx: &Context) -> Result<(), CommandError> {
    let answer = cx.call(async |client| {
        let named = which.named(client).await?;
        let reword = async || client.edit_comment(&named, said, &body).reply().await;
        Ok(CallRetry::default().call(reword).await?)
    })?;
    cx.print_reply(&answer, || {
        ui::line(format_args!("{} on {} was changed", show::plain(said), which.name()))
    })
}

pub(crate) fn reply(args: &ReplyArgs, cx: &Context) -> Result<(), CommandError> {
    let comment = NewComment {
        body: text_input::require_text(&args.text)?,
        thread: Some(args.thread.clone()),
        key: Some(retry::key()),
        ..NewComment::default()
    };
    let answer = cx.call(async |client| {
        let named = args.which.named(client).await?;
        let mut tries = CallRetry::default();
        let answer = tries.call(async || client.comment_on_pull(&named, &comment).reply().await).await?;
        if args.resolve {
            tries.call(async || client.resolve_thread(&named, &args.thread, true).reply().await).await?;
        }
        Ok(answer)
    })?;
    cx.print_reply(&answer, || {
        let done = if args.resolve { "answered and resolved" } else { "answered" };
        ui::line(format_args!("{done}: {} on {}", show::plain(&answer.value.thread), args.which.name()))
    })
}

pub(crate) fn resolve(args: &ResolveArgs, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let named = args.which.named(client).await?;
        for thread in &args.threads {
            let answer = client.resolve_thread(&named, thread, !args.undo).reply().await?;
            let done = if args.undo { "open again" } else { "resolved" };
            cx.print_reply(&answer, || ui::line(format_args!("{}: {done}", show::plain(thread))))?;
        }
        Ok(())
    })
}
