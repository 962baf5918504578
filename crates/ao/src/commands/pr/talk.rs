//! `ao pr comment`, `ao pr reply` and `ao pr resolve`.

use ao_api::NewComment;

use super::Which;
use super::place::Place;
use crate::calls::forge::{self, Named};
use crate::context::Context;
use crate::error::CommandError;
use crate::{show, typed, ui};

/// Say something on a pull request: on the whole, on a file, or at a line
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr comment 7 \"Nice\"
  ao pr comment 7 \"Name it after what it does\" --at src/main.rs:12
  ao pr comment 7 \"Why is this gone?\" --at src/main.rs:3 --old
  ao pr comment 7 - <notes.md")]
pub(crate) struct CommentArgs {
    #[command(flatten)]
    which: Which,
    /// What to say; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Where: a path, with a line or without
    #[arg(long, value_name = "PATH[:LINE]")]
    at: Option<Place>,
    /// The line is meant as it was before the change
    #[arg(long, requires = "at")]
    old: bool,
}

/// Answer in a thread of a pull request
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr reply 7 t3 \"Done\"
  ao pr reply 7 t3 \"Done\" --resolve")]
pub(crate) struct ReplyArgs {
    #[command(flatten)]
    which: Which,
    /// The thread, as `ao pr show` names it
    thread: String,
    /// What to say; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// The thread is done with
    #[arg(long)]
    resolve: bool,
}

/// Say that threads of a pull request are done with
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr resolve 7 t3 t4
  ao pr resolve 7 t3 --undo")]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    which: Which,
    /// The threads, as `ao pr show` names them
    #[arg(required = true, value_name = "THREAD")]
    threads: Vec<String>,
    /// They are not done with after all
    #[arg(long)]
    undo: bool,
}

pub(crate) fn comment(args: &CommentArgs, cx: &Context) -> Result<(), CommandError> {
    let mut comment = NewComment { body: typed::something(&args.text)?, ..NewComment::default() };
    if let Some(place) = &args.at {
        let place = Place { old: place.old || args.old, ..place.clone() };
        comment.side = place.side();
        (comment.path, comment.line) = (Some(place.path), place.line);
    }
    let client = cx.client()?;
    let answer = cx.wait_for(async {
        let project = args.which.project(&client).await;
        Ok(forge::comment_on_pull(&client, args.which.named(project.as_deref()), &comment).await?)
    })?;
    if cx.json() {
        return Ok(ui::raw(answer.raw())?);
    }
    let (title, thread) = (ui::TITLE, show::plain(&answer.value.thread));
    Ok(ui::line(format_args!("said on {} as {title}{thread}{title:#}", args.which.name()))?)
}

pub(crate) fn reply(args: &ReplyArgs, cx: &Context) -> Result<(), CommandError> {
    let comment = NewComment {
        body: typed::something(&args.text)?,
        thread: Some(args.thread.clone()),
        ..NewComment::default()
    };
    let client = cx.client()?;
    let answer = cx.wait_for(async {
        let project = args.which.project(&client).await;
        let named = args.which.named(project.as_deref());
        let answer = forge::comment_on_pull(&client, named, &comment).await?;
        if args.resolve {
            forge::resolve(&client, named, &args.thread, true).await?;
        }
        Ok(answer)
    })?;
    if cx.json() {
        return Ok(ui::raw(answer.raw())?);
    }
    let done = if args.resolve { "answered and resolved" } else { "answered" };
    Ok(ui::line(format_args!("{done}: {} on {}", show::plain(&args.thread), args.which.name()))?)
}

pub(crate) fn resolve(args: &ResolveArgs, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        let project = args.which.project(&client).await;
        let named: Named<'_> = args.which.named(project.as_deref());
        for thread in &args.threads {
            let answer = forge::resolve(&client, named, thread, !args.undo).await?;
            let done = if args.undo { "open again" } else { "resolved" };
            match cx.json() {
                true => ui::raw(answer.raw())?,
                false => ui::line(format_args!("{}: {done}", show::plain(thread)))?,
            }
        }
        Ok(())
    })
}
