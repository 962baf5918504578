//! `ao pr claim` and `ao pr release`: set the session that owns a pull request.

use ao_api::client::{Client, ItemName};

use super::PullArg;
use crate::cli::completers;
use crate::cli::context::{Context, own_session};
use crate::error::CommandError;
use crate::{show, ui};

/// Make a session the owner of a pull request
///
/// From then on it receives failed checks and reviews, and does not end before the merge.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr claim 7 my-app-3
  ao session claim-pr my-app-3 7   the same")]
pub(crate) struct ClaimArgs {
    #[command(flatten)]
    which: PullArg,
    /// The session [default: yours, if you are an agent]
    #[arg(add = completers::sessions())]
    session: Option<String>,
}

/// Release a pull request from its session
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  ao pr release 7")]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    which: PullArg,
}

pub(crate) fn claim(args: &ClaimArgs, cx: &Context) -> Result<(), CommandError> {
    let Some(session) = args.session.clone().or_else(own_session) else {
        return Err(CommandError::user("no session was named")
            .hint("`ao pr claim PR SESSION`; `ao list` shows all sessions"));
    };
    cx.call(async |client| set_owner(client, &args.which.named(client).await?, Some(&session), cx).await)
}

pub(crate) fn release(args: &ReleaseArgs, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| set_owner(client, &args.which.named(client).await?, None, cx).await)
}

/// Sets the owner of a pull request and prints the outcome.
pub(crate) async fn set_owner(
    client: &Client,
    pull: &ItemName,
    session: Option<&str>,
    cx: &Context,
) -> Result<(), CommandError> {
    let answer = client.claim_pull(pull, session).reply().await?;
    cx.print_reply(&answer, || {
        let (title, id) = (ui::TITLE, show::plain(&answer.value.pull.id));
        // The daemon's name for it, which may be longer than what was typed.
        ui::line(match (&answer.value.pull.session, session) {
            (Some(session), Some(_)) => format!("{} owns {title}{id}{title:#} now", show::plain(session)),
            (None, Some(typed)) => format!("{} owns {title}{id}{title:#} now", show::plain(typed)),
            (_, None) => format!("no session owns {title}{id}{title:#} now"),
        })
    })
}
