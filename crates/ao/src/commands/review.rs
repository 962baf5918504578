//! `ao review`: starts an agent that reviews a pull request.

use ao_api::NewReviewer;

use super::pr::PullArg;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::{show, ui};

/// Start an agent that reviews a pull request
///
/// It works in a read-only checkout, and its findings become review threads of the pull request.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao review 7
  ao review 7 --agent codex
  ao review 7 --prompt \"Look at the error handling first\"")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// The agent [default: from the configuration]
    #[arg(long, short)]
    agent: Option<String>,
    /// Additional instructions for the reviewer
    #[arg(long)]
    prompt: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let request = NewReviewer { agent: args.agent.clone(), prompt: args.prompt.clone() };
    let answer = cx.call(async |client| {
        Ok(client.start_reviewer(&args.which.named(client).await?, &request).reply().await?)
    })?;
    cx.print_reply(&answer, || {
        let (title, name) = (ui::TITLE, show::plain(&answer.value.session.name));
        let does = if answer.value.created { "reviews" } else { "reviews already" };
        ui::line(format_args!("{title}{name}{title:#} {does} {}", args.which.name()))?;
        ui::note(format_args!("`ao attach {name}` shows its terminal; its findings become review threads"));
        Ok(())
    })
}
