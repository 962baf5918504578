//! `ao answer`: the dialog that a session has open.

use super::told_state;
use crate::context::Context;
use crate::error::CommandError;
use crate::{calls, complete};

/// Answer the question that an agent has open
///
/// What can be answered depends on the dialog: `ao status SESSION` shows it. Texts for an agent that does not ask go by
/// `ao send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao status my-app-3     shows what it asks
  ao answer my-app-3 yes
  ao answer my-app-3 2   the second choice")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = complete::sessions())]
    session: String,
    /// `yes`, `no`, the number of a choice, or a text, as the dialog takes it
    #[arg(allow_hyphen_values = true)]
    answer: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async { told_state(&calls::answer(&client, &args.session, &args.answer).await?, cx) })
}
