//! `ao retry`: what failed is tried again.

use super::told_state;
use crate::context::Context;
use crate::error::CommandError;
use crate::{calls, complete};

/// Try again what failed: the set-up of a session, or the start of its agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao logs my-app-3 --setup   what went wrong
  ao retry my-app-3")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = complete::sessions())]
    session: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async { told_state(&calls::retry(&client, &args.session).await?, cx) })
}
