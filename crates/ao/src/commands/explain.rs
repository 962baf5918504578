//! `ao explain`: the evidence for and against the state of a session.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Explain the state of a session: the signals, the rule that won, and what to do
///
/// Shows each signal with its source and age, and the rules in the order in which they are tried. `▶` marks what
/// decided.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao explain my-app-3
  ao explain my-app-3 --json | jq '.rules[] | select(.won)'")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let explanation = cx.call(async |client| Ok(client.explain(&args.session).await?))?;
    cx.print(&explanation, || ui::text(show::explanation(&explanation, Canvas::here())))
}
