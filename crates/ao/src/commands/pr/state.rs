//! `ao pr ready`, `ao pr close`, `ao pr reopen` and `ao pr edit`.

use ao_api::client::{ApiReply, Client};
use ao_api::{NewComment, OpenState, PullDetail, PullEdit};

use super::PullArg;
use crate::cli::context::Context;
use crate::cli::text_input::{self, BodyArgs, TitledText};
use crate::error::CommandError;
use crate::{show, ui};

/// Mark a draft as ready to be merged
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr ready 7
  ao pr ready 7 --undo   makes it a draft again")]
pub(crate) struct ReadyArgs {
    #[command(flatten)]
    which: PullArg,
    /// Turn it back into a draft
    #[arg(long)]
    undo: bool,
}

/// Close a pull request without merging it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr close 7
  ao pr close 7 --comment \"Superseded by !9\"")]
pub(crate) struct PullCloseArgs {
    #[command(flatten)]
    which: PullArg,
    /// Add this comment first
    #[arg(long, short, allow_hyphen_values = true, value_name = "TEXT")]
    comment: Option<String>,
}

/// Reopen a closed pull request
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  ao pr reopen 7")]
pub(crate) struct PullReopenArgs {
    #[command(flatten)]
    which: PullArg,
}

/// Change the title, the text, the base or the labels of a pull request
///
/// Without options, opens your editor on its title and text: the title in the first line, then an empty line, then
/// the text, in Markdown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr edit 7
  ao pr edit 7 --title \"Remember the user\" --add-label bug
  ao pr edit 7 --base main")]
pub(crate) struct EditArgs {
    #[command(flatten)]
    which: PullArg,
    /// The new title
    #[arg(long, short)]
    title: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
    /// The new base branch
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Labels to add
    #[arg(long, value_delimiter = ',', value_name = "LABEL")]
    add_label: Vec<String>,
    /// Labels to remove
    #[arg(long, value_delimiter = ',', value_name = "LABEL")]
    remove_label: Vec<String>,
}

pub(crate) fn ready(args: &ReadyArgs, cx: &Context) -> Result<(), CommandError> {
    let edit = PullEdit { draft: Some(args.undo), ..PullEdit::default() };
    let done = if args.undo { "is a draft" } else { "is ready to be merged" };
    cx.call(async |client| print_pull(&changed(client, &args.which, &edit).await?, done, cx))
}

pub(crate) fn close(args: &PullCloseArgs, cx: &Context) -> Result<(), CommandError> {
    let comment = args.comment.as_deref().map(text_input::require_text).transpose()?;
    cx.call(async |client| {
        if let Some(body) = comment {
            let comment = NewComment { body, ..NewComment::default() };
            client.comment_on_pull(&args.which.named(client).await?, &comment).await?;
        }
        let edit = PullEdit { state: Some(OpenState::Closed), ..PullEdit::default() };
        print_pull(&changed(client, &args.which, &edit).await?, "is closed", cx)
    })
}

pub(crate) fn reopen(args: &PullReopenArgs, cx: &Context) -> Result<(), CommandError> {
    let edit = PullEdit { state: Some(OpenState::Open), ..PullEdit::default() };
    cx.call(async |client| print_pull(&changed(client, &args.which, &edit).await?, "is open", cx))
}

pub(crate) fn edit(args: &EditArgs, cx: &Context) -> Result<(), CommandError> {
    if args.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(CommandError::user("a pull request needs a title, so nothing was changed"));
    }
    let mut edit = PullEdit {
        title: args.title.clone(),
        body: args.body.read()?,
        base: args.base.clone(),
        add_labels: args.add_label.clone(),
        remove_labels: args.remove_label.clone(),
        ..PullEdit::default()
    };
    let by_hand = edit == PullEdit::default();
    if by_hand && !text_input::is_interactive() {
        return Err(CommandError::user("nothing to change was given")
            .hint("pass an option such as `--title` or `--base`; on a terminal, an editor is opened"));
    }
    cx.call(async |client| {
        if by_hand {
            let detail = client.pull(&args.which.named(client).await?).await?;
            let form = TitledText { title: detail.pull.title.clone(), body: detail.body.clone() };
            let Some(form) = form.edited()? else {
                ui::note("nothing was changed");
                return Ok(());
            };
            edit.title = (form.title != detail.pull.title).then_some(form.title);
            edit.body = (form.body != detail.body.trim_end()).then_some(form.body);
        }
        print_pull(&changed(client, &args.which, &edit).await?, "is changed", cx)
    })
}

async fn changed(
    client: &Client,
    which: &PullArg,
    edit: &PullEdit,
) -> Result<ApiReply<PullDetail>, CommandError> {
    Ok(client.edit_pull(&which.named(client).await?, edit).reply().await?)
}

/// Prints a pull request after a change.
fn print_pull(pull: &ApiReply<PullDetail>, done: &str, cx: &Context) -> Result<(), CommandError> {
    cx.print_reply(pull, || {
        let (title, id) = (ui::TITLE, show::plain(&pull.value.pull.id));
        ui::line(format_args!("{title}{id}{title:#} {done}: {}", show::plain(&pull.value.pull.title)))
    })
}
