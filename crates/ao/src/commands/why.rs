//! `ao why`: the state of a session and its reason, in one line.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Explain in one line why a session is in its state
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao why my-app-3
  ao explain my-app-3   the whole of it, with each signal and each rule")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let session = cx.call(async |client| Ok(find_session(client, &args.session).await?))?;
    cx.print(&session.status, || ui::line(show::why(&session.name, &session.status, Canvas::here())))
}
